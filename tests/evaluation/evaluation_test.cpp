#include <cmath>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/evaluation/model_selection.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/queries/sample_error.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::evaluation_test {
namespace {

/// Three periods of two courses.
Cohort three_periods_of(const std::vector<std::vector<std::string>>& students) {
  return test::cohort_of(test::small_schema(2, 3), students);
}

/// Two kinds of students who take everything with a probability of their own in each period.
HiddenChain two_kinds_model() {
  ChainParameters parameters;
  parameters.prior.initial = Vector::Constant(2, 0.5);
  RowMatrix p(6, 2);
  p << 0.9, 0.2, 0.9, 0.2, 0.8, 0.1, 0.6, 0.3, 0.7, 0.4, 0.5, 0.5;
  parameters.emissions.push_back(std::make_unique<BernoulliEmission>(p));
  return {{"nb", "bernoulli", true, TimeStructure::one_step, test::small_schema(2, 3)}, std::move(parameters)};
}

TEST(SampleError, SharesCountWhoIsThere) {
  const EnrollmentShares shares = enrollment_shares(three_periods_of({{"10", "-", "01"}, {"11", "10", "00"}}));
  EXPECT_EQ(shares.course, (Vector(2) << 1, 1).finished());
  EXPECT_EQ(shares.bit, (Vector(6) << 1, 0.5, 1, 0, 0, 0.5).finished());
  const EnrollmentShares other = enrollment_shares(three_periods_of({{"00", "01", "01"}}));
  const SampleError error = squared_distance(shares, other);
  EXPECT_DOUBLE_EQ(error.by_course, 1);  // (1 - 0)^2 + (1 - 1)^2
  EXPECT_DOUBLE_EQ(error.by_bit, 1 + 0.25 + 1 + 1 + 0.25);
}

TEST(SampleError, SamplesHaveTheModelsShares) {
  const HiddenChain model = two_kinds_model();
  const Cohort like = three_periods_of({{"00", "00", "00"}, {"00", "-", "00"}});
  const EnrollmentShares shares = model_shares(model, like, 20000, RandomStream(3), Executor(2));
  const double expected[] = {0.55, 0.55, 0.45, 0.45, 0.55, 0.5};
  for (Index bit = 0; bit < 6; ++bit)
    EXPECT_NEAR(shares.bit[bit], expected[bit], 5 * 0.5 / std::sqrt(20000)) << bit;
}

TEST(SampleError, LeaversAreDrawnGoneWhenTheyAreGone) {
  // The first kind leaves early, the second stays.
  ChainParameters parameters = two_kinds_model().parameters();
  parameters.departures.resize(2, 3);
  parameters.departures << 0.6, 0.3, 0.1, 0.1, 0.1, 0.8;
  const HiddenChain model(two_kinds_model().identity(), std::move(parameters));
  const Cohort like = three_periods_of({{"00", "00", "00"}, {"00", "left", "left"}});
  constexpr int draws = 20000;
  const EnrollmentShares shares = model_shares(model, like, draws, RandomStream(3), Executor(2));
  // Who stayed is of the first kind with 0.1 / 0.9, who left after the first period with 0.6 / 0.7.
  const double stayed = 0.1 / 0.9, left = 0.6 / 0.7, first[] = {0.9, 0.9, 0.8, 0.6, 0.7, 0.5},
               second[] = {0.2, 0.2, 0.1, 0.3, 0.4, 0.5};
  for (int bit = 0; bit < 6; ++bit) {
    const double p = stayed * first[bit] + (1 - stayed) * second[bit];
    const double q = left * first[bit] + (1 - left) * second[bit];
    EXPECT_NEAR(shares.bit[bit], bit < 2 ? (p + q) / 2 : p, 5 * 0.5 / std::sqrt(draws)) << bit;
  }
}

TEST(InferenceAccuracy, CountsAnswersAndNats) {
  const HiddenChain model = two_kinds_model();
  const Cohort training = three_periods_of({{"11", "11", "11"}, {"11", "10", "00"}, {"00", "00", "00"}});
  const Cohort asked = three_periods_of({{"11", "10", "11"}, {"00", "01", "00"}, {"11", "-", "11"}});
  const InferenceScore score = infer_period(model, training, asked, {}, Executor(1));
  EXPECT_EQ(score.students, 2);  // the third was not there
  // Posterior of the first kind given periods 1 and 3, then the shares of period 2.
  double loss = 0;
  int right = 0;
  const struct {
    double first, second;  // likelihoods of the known bits
    bool taken[2];
  } students[] = {{0.9 * 0.9 * 0.7 * 0.5, 0.2 * 0.2 * 0.4 * 0.5, {true, false}},
                  {0.1 * 0.1 * 0.3 * 0.5, 0.8 * 0.8 * 0.6 * 0.5, {false, true}}};
  for (const auto& student : students) {
    const double kind = student.first / (student.first + student.second);
    const double p[2] = {kind * 0.8 + (1 - kind) * 0.1, kind * 0.6 + (1 - kind) * 0.3};
    for (int c = 0; c < 2; ++c) {
      loss -= std::log(student.taken[c] ? p[c] : 1 - p[c]);
      right += (p[c] > 0.5) == student.taken[c] ? 1 : 0;
    }
  }
  EXPECT_NEAR(score.cross_entropy, loss / 2, 1e-12);
  EXPECT_DOUBLE_EQ(score.accuracy, right / 4.0);
  // Training shares of period 2: 2/3 and 1/3, so the frequent answers are yes and no.
  EXPECT_DOUBLE_EQ(score.most_frequent, 2 / 4.0);
  EXPECT_NEAR(score.marginal_entropy, -(2 * std::log(2.0 / 3) + 2 * std::log(1.0 / 3)) / 2, 1e-12);
  EXPECT_THROW(infer_period(model, training, asked, {.period = 2}, Executor(1)), OptionError);
}

TEST(HeldOut, MeanAndItsError) {
  const HiddenChain model = two_kinds_model();
  const EvidenceBatch evidence = EvidenceBatch::of(three_periods_of({{"11", "11", "11"}, {"00", "-", "00"}}));
  const StudentScores score = score_students(model, evidence, LikelihoodKind::mass, Executor(1));
  const double a = std::log(0.5 * 0.9 * 0.9 * 0.8 * 0.6 * 0.7 * 0.5 + 0.5 * 0.2 * 0.2 * 0.1 * 0.3 * 0.4 * 0.5);
  const double b = std::log(0.5 * 0.1 * 0.1 * 0.3 * 0.5 + 0.5 * 0.8 * 0.8 * 0.6 * 0.5);
  EXPECT_NEAR(score.mean(), (a + b) / 2, 1e-12);
  EXPECT_NEAR(score.standard_error_of_mean, std::abs(a - b) / 2, 1e-12);  // two students: |a-b|/sqrt(2)/sqrt(2)
}

// Students are independent; what their estimates are off by, a common bias or common draws, is not.
TEST(HeldOut, ErrorsOfEstimatesDoNotAverageOut) {
  Estimates estimates;
  estimates.value = (RowMatrix(2, 1) << -1, -3).finished();
  estimates.standard_error = (RowMatrix(2, 1) << 0.3, 0.1).finished();
  EXPECT_NEAR(summarise_scores(estimates, LikelihoodKind::mass).standard_error_of_mean, std::hypot(1, 0.2), 1e-12);
  // A weight of two moves the mean to -5/3, but does not make two students three.
  EXPECT_NEAR(summarise_scores(estimates, LikelihoodKind::mass, {2, 1}).standard_error_of_mean,
              std::hypot(8.0 / 9, 0.7 / 3), 1e-12);
  // A thousand like them are no better known.
  Estimates many{RowMatrix::Constant(1000, 1, -2), RowMatrix::Constant(1000, 1, 0.05)};
  EXPECT_NEAR(summarise_scores(many, LikelihoodKind::mass).standard_error_of_mean, 0.05, 1e-12);
}

TEST(InferenceAccuracy, SaysTheLeastProbabilityItCounts) {
  const HiddenChain model = two_kinds_model();
  const Cohort training = three_periods_of({{"11", "11", "11"}, {"11", "11", "00"}, {"00", "11", "00"}});
  const Cohort asked = three_periods_of({{"11", "00", "11"}});
  const InferenceScore score = infer_period(model, training, asked, {}, Executor(1));
  EXPECT_DOUBLE_EQ(score.least_probability, 0.125);  // half a student of four
  EXPECT_NEAR(score.marginal_entropy, -2 * std::log(0.125), 1e-12);
  ASSERT_EQ(score.student_entropy.size(), 1U);
  EXPECT_DOUBLE_EQ(score.student_entropy[0], score.cross_entropy);
}

TEST(Selection, GaussiansAreChosenByMass) {
  // Courses of hardly any takers: densities of -1/+1 grow without end as states are added, the mass does not.
  const Cohort cohort =
      test::random_cohort({.students = 300, .courses = 6, .periods = 2, .taken = 0.15, .unknown = 0}, RandomStream(9));
  FitOptions options("gmm");
  options.set("restarts", 1).set("iterations", 40);
  const Executor executor(2);
  const Selection selection = select_states(cohort, options, {1, 6}, 0.25, {executor});
  EXPECT_EQ(selection.kind, LikelihoodKind::mass);
  EXPECT_EQ(selection.criteria_kind, LikelihoodKind::density);
  const Split split = split_by_share(cohort, {0.25, 0}, RandomStream(options.seed).child("validation"));
  const EvidenceBatch held_out = EvidenceBatch::of(cohort.select(split.validation));
  double best[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const FitResult fit = fit_model(cohort.select(split.training), options.set("states", i == 0 ? 1 : 6), {executor});
    EXPECT_NEAR(selection.rows[i].held_out,
                fit.model->log_likelihood(held_out, LikelihoodKind::mass, executor).value.mean(), 1e-9);
    best[i] = fit.model->log_likelihood(held_out, LikelihoodKind::density, executor).value.mean();
  }
  EXPECT_LT(best[0], best[1]);  // by density the other number would have won
  EXPECT_EQ(selection.best_held_out, 1);
  EXPECT_TRUE(test::says(selection.finding(), {"density", "mass"}));
}

}  // namespace
}  // namespace desirepath::evaluation_test
