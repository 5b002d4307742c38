#include <cmath>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/weighted_twice.h"

#include "desirepath/core/error.h"
#include "desirepath/models/model_file.h"

namespace desirepath::leave_one_out_test {
namespace {

FitOptions options_for(const std::string& choice) {
  FitOptions options(choice);
  return options.set("states", 3).set("restarts", 1).set("iterations", 15).set("tolerance", 0.0);
}

/// As the model's file would give it.
Vector left_out_of(FitResult& fit, const TrainingRecord& record, const Cohort& cohort) {
  const StoredModel stored{std::move(fit.model), record};
  return leave_one_out(stored, cohort, Executor(2));
}

/// log p of student s after one EM step from the model on the students in `others`.
double by_retraining(const Cohort& cohort, FitOptions options, TrainingContext context, std::int64_t s,
                     const std::vector<std::int64_t>& others) {
  const FitResult without = fit_model(cohort.select(others), options.set("iterations", 1), context);
  const std::vector<std::int64_t> alone = {s};
  return without.model->log_likelihood(EvidenceBatch::of(cohort.select(alone)), LikelihoodKind::mass, Executor(1))
      .value(0, 0);
}

std::vector<std::int64_t> all_but(std::int64_t s, std::int64_t count) {
  std::vector<std::int64_t> others;
  for (std::int64_t other = 0; other < count; ++other) {
    if (other != s) others.push_back(other);
  }
  return others;
}

struct LeftOutCase {
  std::string choice;
  double unknown, left;
};

class LeaveOneOut : public testing::TestWithParam<LeftOutCase> {};

TEST_P(LeaveOneOut, IsTheMStepWithoutTheStudent) {
  const LeftOutCase& param = GetParam();
  const Cohort cohort = test::random_cohort(
      {.students = 40, .courses = 5, .periods = 3, .taken = 0.3, .unknown = param.unknown, .left = param.left},
      RandomStream(71));
  for (const double pseudocount : {0.3, 0.01}) {
    FitOptions options = options_for(param.choice);
    options.set("pseudocount", pseudocount).set("state-pseudocount", 0.2);
    const Executor executor(2);
    TrainingContext context{executor};
    if (options.choice().model->name == "cmm") context.transitions = {{"1", 0, 2, 0, 1}, {"2", 1, 1, 0.3, 2}};
    FitResult fit = fit_model(cohort, options, context);
    const TrainingRecord record = training_record({cohort, options, context}, fit);
    const StoredModel stored{std::move(fit.model), record};
    const Vector scores = leave_one_out(stored, cohort, executor);
    context.warm = stored.model.get();
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      const double expected = by_retraining(cohort, options, context, s, all_but(s, cohort.student_count()));
      EXPECT_NEAR(scores[s], expected, 1e-10 * (1 + std::abs(expected))) << param.choice << ", student " << s;
    }
    EXPECT_LT(scores.sum(), fit.log_likelihood);  // a model that has not seen a student expects it less
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LeaveOneOut,
                         testing::Values(LeftOutCase{"nb", 0, 0}, LeftOutCase{"nb", 0.2, 0},
                                         LeftOutCase{"nb", 0.1, 0.2}, LeftOutCase{"hmm+bernoulli", 0.2, 0},
                                         LeftOutCase{"hmm+bernoulli", 0.1, 0.2}, LeftOutCase{"cmm+bernoulli", 0, 0},
                                         LeftOutCase{"cmm+bernoulli", 0.2, 0}, LeftOutCase{"cmm+bernoulli", 0.1, 0.2}));

TEST(LeaveOneOutWeights, AStudentOfWeightTwoLosesOne) {
  const Cohort once = test::random_cohort({.students = 30, .courses = 5, .periods = 2}, RandomStream(72));
  const auto [with_weights, with_copies, doubled] = test::weighted_twice(once, 4);
  for (const char* choice : {"nb", "cmm+bernoulli"}) {
    FitOptions options = options_for(choice), with = options;
    with.set("weights", "weight");
    FitResult a = test::fit(with_weights, with, 1), b = test::fit(with_copies, options, 1);
    const Vector one = left_out_of(a, test::record_of(with_weights, with, a), with_weights),
                 two = left_out_of(b, test::record_of(with_copies, options, b), with_copies);
    for (std::size_t i = 0; i < doubled.size(); ++i)
      EXPECT_NEAR(two[static_cast<Index>(i)], one[doubled[i]], 1e-7) << choice;
  }
}

TEST(LeaveOneOutRefusals, SayWhy) {
  const Cohort cohort = test::random_cohort({.students = 30}, RandomStream(73)),
               other = test::random_cohort({.students = 31}, RandomStream(73));
  const auto refusal = [&](const FitOptions& options, const Cohort& scored) {
    FitResult fit = test::fit(cohort, options, 1);
    const TrainingRecord record = test::record_of(cohort, options, fit);
    return test::message_of<OptionError>([&] { left_out_of(fit, record, scored); });
  };
  EXPECT_TRUE(test::says(refusal(options_for("tan"), cohort), {"leave-one-out", "'tree'"}));
  const std::string of_another_cohort = refusal(options_for("nb"), other);
  EXPECT_TRUE(test::says(of_another_cohort, {"leave-one-out"}));
  EXPECT_FALSE(test::says(of_another_cohort, {"--validation"}));
  FitOptions validated = options_for("nb");
  validated.set("validation", 0.3);
  EXPECT_TRUE(test::says(refusal(validated, cohort), {"leave-one-out", "--validation"}));
}

TEST(LeaveOneOutRecord, OfAnotherNumberOfStatesIsRefused) {
  const Cohort cohort =
      test::random_cohort({.students = 30, .courses = 4, .periods = 2, .taken = 0.3}, RandomStream(3));
  const FitOptions options = options_for("nb");
  const Executor executor(1);
  const TrainingContext context{executor};
  FitResult fit = fit_model(cohort, options, context);
  std::string record = training_record({cohort, options, context}, fit).text;
  const std::string own = "\"states\":3";
  ASSERT_NE(record.find(own), std::string::npos) << record;
  record.replace(record.find(own), own.size(), "\"states\":90000000");  // room for so many was taken before
  EXPECT_THROW(left_out_of(fit, TrainingRecord::read(record), cohort), ArchiveError);
}

}  // namespace
}  // namespace desirepath::leave_one_out_test
