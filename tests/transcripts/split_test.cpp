#include "desirepath/transcripts/split.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::split_test {
namespace {

/// Ten students, two of each of five years.
Cohort cohort_of_years() {
  return test::changed(test::random_cohort({.students = 10}, RandomStream(1)), [](CohortParts& parts) {
    parts.attributes = {{"year", {"2001", "2002", "2003", "2004", "2005"}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4}}};
  });
}

TEST(Split, ByShareOrByTheLastValuesOfAnAttribute) {
  const Cohort cohort = cohort_of_years();
  SplitOptions options;
  options.shares = {0.2, 0.3};
  EXPECT_EQ(split_students(cohort, options, RandomStream(1)).hold_out.size(), 3U);
  options.shares = {0.16, 0.28};  // to the nearest whole student
  EXPECT_EQ(split_students(cohort, options, RandomStream(1)).validation.size(), 2U);
  EXPECT_EQ(split_students(cohort, options, RandomStream(1)).hold_out.size(), 3U);
  EXPECT_EQ(split_students(cohort, options, RandomStream(1)).training.size(), 5U);
  options.by = "year";  // shares under one: one value each
  const Split one = split_students(cohort, options, RandomStream(1));
  EXPECT_EQ(one.hold_out, (std::vector<std::int64_t>{8, 9}));
  EXPECT_EQ(one.validation, (std::vector<std::int64_t>{6, 7}));
  options.shares = {1, 2};
  EXPECT_EQ(split_students(cohort, options, RandomStream(1)).hold_out, (std::vector<std::int64_t>{6, 7, 8, 9}));
  options.shares = {1.5, 2};
  EXPECT_TRUE(test::says(test::message_of<OptionError>([&] { split_students(cohort, options, RandomStream(1)); }),
                         {"--by", "--validation", "--hold-out"}));
}

TEST(Split, IsWrittenAsThreeFilesAndToldOf) {
  const test::TemporaryFolder folder;
  const Cohort cohort = cohort_of_years();
  const Split split = split_students(cohort, {}, RandomStream(1));
  const Answer written = write_split(cohort, split, folder / "parts", Overwrite::refuse);
  EXPECT_EQ(Cohort::load(folder / "parts/hold-out.cohort").student_count(), std::ssize(split.hold_out));
  EXPECT_EQ(written.to_json()["hold_out"]["students"], split.hold_out.size());
  EXPECT_EQ(written.to_json().size(), 3U);
  EXPECT_THROW(check_split_targets(folder / "parts", Overwrite::refuse), FileError);
  EXPECT_NO_THROW(check_split_targets(folder / "parts", Overwrite::allow));
  EXPECT_NO_THROW(check_split_targets(folder / "elsewhere", Overwrite::refuse));
}

}  // namespace
}  // namespace desirepath::split_test
