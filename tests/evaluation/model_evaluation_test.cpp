// What `evaluate` measures, against counts by hand; fits taken up from their files.
#include "desirepath/evaluation/model_evaluation.h"

#include <filesystem>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/evaluation/sample_statistics.h"
#include "desirepath/queries/sample_error.h"

namespace desirepath::model_evaluation_test {
namespace {

/// Four students of three courses and two periods; the third misses the second.
Cohort four_students() {
  return test::cohort_of(test::small_schema(3, 2), {{"110", "100"}, {"100", "001"}, {"001", "-"}, {"110", "011"}});
}

TEST(SampleStatistics, AreCountedByHand) {
  const Cohort cohort = four_students();
  const std::vector<Id> paired = {0, 1};
  const SampleStatistics found = statistics_of(cohort, paired);
  EXPECT_EQ(found.shares.course, (Vector(3) << 0.75, 0.5, 0.75).finished());
  const EnrollmentShares other = enrollment_shares(cohort);
  EXPECT_EQ(found.shares.course, other.course);
  EXPECT_TRUE(found.shares.bit.isApprox(other.bit));
  EXPECT_EQ(found.pairs, (Matrix(2, 2) << 0.75, 0.5, 0.5, 0.5).finished());
  EXPECT_EQ(found.mean_courses, 10.0 / 4);
  EXPECT_EQ(found.repeats, 2.0 / 10);  // course 0 of the first student, course 1 of the fourth
  EXPECT_EQ(found.courses[1], 0.25);
  EXPECT_EQ(found.courses[2], 0.25);
  EXPECT_EQ(found.courses[3], 0.25);
  EXPECT_EQ(found.courses[4], 0.25);
  const SampleDistance none = distance(found, found);
  EXPECT_EQ(none.error.by_course + none.error.by_bit + none.pairs + none.courses, 0);
  SampleStatistics moved = found;
  moved.pairs(0, 1) = moved.pairs(1, 0) = 0.25;
  moved.courses[4] = 0;
  moved.courses[9] = 0.25;
  EXPECT_EQ(distance(moved, found).pairs, 0.0625);
  EXPECT_EQ(distance(moved, found).courses, 0.25);
  EXPECT_EQ(common_courses(cohort, 2), (std::vector<Id>{0, 2}));
}

EvaluationTask small_task(const std::string& models) {
  EvaluationTask task = evaluation_task(models, {1, 2},
                                        {{"restarts", std::int64_t{1}},
                                         {"iterations", std::int64_t{10}},
                                         {"epochs", std::int64_t{3}},
                                         {"hidden", std::int64_t{4}}},
                                        5, 2);
  task.draws = 200;
  return task;
}

TEST(Evaluation, EveryModelSizeAndSplit) {
  const Cohort cohort = test::random_cohort({.students = 150, .courses = 5, .periods = 3}, RandomStream(1));
  const EvaluationTask task = small_task("nb,gmm,vae");
  const Executor executor(2);
  const Evaluation found = evaluate_models(cohort, task, {executor});
  ASSERT_EQ(found.rows.size(), 3U * 2 * 2);
  ASSERT_EQ(found.summaries.size(), 3U * 2);
  EXPECT_EQ(found.rows[2].model, "nb");
  EXPECT_EQ(found.rows[2].size, 2);
  EXPECT_EQ(found.rows[3].seed, 6U);
  EXPECT_EQ(found.summaries[4].kind, "lower_bound");
  const auto value = [](const EvaluationRow& row, const char* name) { return row.found.at(name); };
  // Means and spreads of the two splits, and floors that no model changes.
  const double a = value(found.rows[0], "error_by_course"), b = value(found.rows[1], "error_by_course");
  EXPECT_DOUBLE_EQ(found.summaries[0].found.at("error_by_course").mean, (a + b) / 2);
  EXPECT_NEAR(found.summaries[0].found.at("error_by_course").spread, std::abs(a - b) / std::sqrt(2), 1e-12);
  EXPECT_EQ(value(found.rows[0], "floor_by_course"), value(found.rows[8], "floor_by_course"));
  // Courses are independent here: one state samples about as well as the training students do, and answers like shares.
  EXPECT_LT(value(found.rows[0], "error_by_period_and_course"), 3 * value(found.rows[0], "floor_by_period_and_course"));
  EXPECT_NEAR(value(found.rows[0], "cross_entropy"), value(found.rows[0], "marginal_entropy"), 0.05);
  EXPECT_NEAR(value(found.rows[0], "repeats"), value(found.rows[0], "repeats_held_out"), 0.15);
  // The same for any number of threads, but for the seconds.
  const Evaluation again = evaluate_models(cohort, task, {Executor(1)});
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    for (const auto& [name, number] : found.rows[i].found) {
      if (name.ends_with("seconds") || name == "memory_bytes") continue;
      EXPECT_EQ(again.rows[i].found.at(name), number) << name;
    }
  }
}

TEST(Evaluation, StoppedItLosesNoFinishedFit) {
  const test::TemporaryFolder folder;
  const Cohort cohort = test::random_cohort({.students = 120, .courses = 4, .periods = 3}, RandomStream(2));
  EvaluationTask task = small_task("nb");
  task.folder = folder.path();
  std::atomic<bool> interrupt = false;
  const Executor executor(1, &interrupt);
  TrainingContext context{executor};
  context.progress = [&](const ProgressEvent&) { interrupt = true; };
  EXPECT_THROW(evaluate_models(cohort, task, context), Interrupted);
  interrupt = false;
  context.progress = {};
  EXPECT_THROW(evaluate_models(cohort, task, context), FileError);
  const auto first = folder / "fit-nb-1-5.json";
  const auto written = std::filesystem::last_write_time(first);
  task.earlier = EarlierFits::take_up;
  const Evaluation whole = evaluate_models(cohort, task, context);
  EXPECT_EQ(std::filesystem::last_write_time(first), written);
  EXPECT_EQ(whole.taken_up, "1 of 4 fits were there already");
  EXPECT_EQ(evaluate_models(cohort, task, context).taken_up, "4 of 4 fits were there already");
  EXPECT_EQ(evaluate_models(cohort, task, context).fits_table().rows(), whole.fits_table().rows());
  // Another question of the same models is another fit.
  task.draws = 300;
  EXPECT_TRUE(evaluate_models(cohort, task, context).taken_up.empty());
}

TEST(Evaluation, TooFewStudentsAreRefused) {
  const Cohort cohort = test::random_cohort({.students = 30, .courses = 4, .periods = 3}, RandomStream(3));
  EXPECT_THROW(evaluate_models(cohort, small_task("nb"), {Executor(1)}), PrivacyError);
  EXPECT_THROW(small_task("nbb"), OptionError);
}

}  // namespace
}  // namespace desirepath::model_evaluation_test
