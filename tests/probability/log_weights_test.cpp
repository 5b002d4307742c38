#include "desirepath/probability/log_weights.h"

#include <cmath>

#include "support/support.h"

#include "desirepath/core/random_stream.h"

namespace desirepath::log_weights_test {
namespace {

TEST(LogWeights, SumsWhatWouldOverflow) {
  LogWeightSum sum;
  EXPECT_EQ(sum.log_sum(), -infinity);
  EXPECT_EQ(sum.effective_count(), 0);
  sum.add(-infinity);
  EXPECT_EQ(sum.log_sum(), -infinity);
  sum.add(-1000);
  sum.add(2000);
  sum.add(2000);
  EXPECT_NEAR(sum.log_sum(), 2000 + std::log(2.0), 1e-12);
  EXPECT_NEAR(sum.log_mean(), 2000 + std::log(0.5), 1e-12);
  EXPECT_EQ(sum.count(), 4);
  EXPECT_NEAR(sum.effective_count(), 2, 1e-12);
}

TEST(LogWeights, PartsSumToTheWhole) {
  RandomStream stream(3);
  LogWeightSum whole, first, second;
  for (int i = 0; i < 100; ++i) {
    const double log_weight = 50 * stream.normal();
    whole.add(log_weight);
    (i % 3 == 0 ? first : second).add(log_weight);
  }
  first.add(second);
  first.add(LogWeightSum());
  EXPECT_NEAR(first.log_sum(), whole.log_sum(), 1e-12);
  EXPECT_NEAR(first.effective_count(), whole.effective_count(), 1e-9);
  EXPECT_EQ(first.count(), 100);
}

TEST(LogWeights, ScramblesGiveAMeanAndItsRelativeError) {
  const std::vector<double> log_means = {std::log(1.0) - 700, std::log(2.0) - 700, std::log(3.0) - 700};
  const ScrambleMean mean = mean_of_scrambles(log_means);
  EXPECT_NEAR(mean.log_mean, std::log(2.0) - 700, 1e-12);
  EXPECT_NEAR(mean.standard_error, 1 / std::sqrt(3.0) / 2, 1e-12);
  const std::vector<double> nothing = {-infinity, -infinity};
  EXPECT_EQ(mean_of_scrambles(nothing).log_mean, -infinity);
  EXPECT_EQ(mean_of_scrambles(nothing).standard_error, infinity);
  const std::vector<double> partly = {-infinity, 0.0};
  EXPECT_NEAR(mean_of_scrambles(partly).standard_error, 1, 1e-12);
}

}  // namespace
}  // namespace desirepath::log_weights_test
