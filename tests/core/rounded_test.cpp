#include "desirepath/core/rounded.h"

#include <limits>

#include <gtest/gtest.h>

namespace desirepath {
namespace {

TEST(Rounded, KeepsTwoDigitsOfTheError) {
  EXPECT_EQ(rounded_to_error(0.73194, 0.0213), 0.732);
  EXPECT_EQ(rounded_to_error(-12.3456, 0.31), -12.35);
  EXPECT_EQ(rounded_to_error(1234.5, 87.0), 1235.0);
  EXPECT_EQ(rounded_to_error(123456.0, 8700.0), 123500.0);
  EXPECT_EQ(rounded_to_error(0.004, 3.0), 0.0);
}

TEST(Rounded, WithoutAnErrorSixDigitsRemain) {
  EXPECT_EQ(rounded_to_error(0.123456789, 0.0), 0.123457);
  EXPECT_EQ(rounded_to_error(0.123456789, std::numeric_limits<double>::quiet_NaN()), 0.123457);
  EXPECT_EQ(rounded_to_error(0.0, 0.0), 0.0);
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rounded_to_error(-infinite, 1.0), -infinite);
}

TEST(Rounded, TheSmallestErrorsChangeNothing) {
  EXPECT_EQ(rounded_to_error(0.1, std::numeric_limits<double>::denorm_min()), 0.1);
}

}  // namespace
}  // namespace desirepath
