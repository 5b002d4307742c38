// Models to hand out.
#include "desirepath/models/publication.h"

#include <algorithm>
#include <cmath>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/queries/shown_states.h"

namespace desirepath::publication_test {
namespace {

TEST(Publication, ProbabilitiesAreRoundedToWhatTheirStandardErrorBears) {
  EXPECT_DOUBLE_EQ(rounded_probability(0.123456, 100), 0.12);    // standard error 0.033
  EXPECT_DOUBLE_EQ(rounded_probability(0.123456, 1e6), 0.1235);  // 0.00033
  EXPECT_DOUBLE_EQ(rounded_probability(0.987654, 100), 0.99);    // 0.011
  EXPECT_DOUBLE_EQ(rounded_probability(0.000321, 100), 0.0003);  // never 0: rare is not impossible
  EXPECT_EQ(rounded_probability(0, 100), 0);
  EXPECT_EQ(rounded_probability(1, 100), 1);
}

TEST(Publication, SmallStatesAreMergedAndTheCostIsTold) {
  const Cohort cohort =
      test::random_cohort({.students = 60, .courses = 6, .periods = 2, .taken = 0.3, .unknown = 0}, RandomStream(5));
  const Compute compute(2);
  const TrainingContext context{compute};
  for (const char* choice : {"nb", "cmm+bernoulli", "hmm", "tan"}) {
    FitOptions options(choice);
    options.set("states", 12);
    const TrainingTask task{cohort, options, context};
    FitResult fit = test::fit(cohort, options);
    const Publication report = publish(fit, task);
    EXPECT_LT(report.states, 12) << choice;
    EXPECT_GE(report.states, 1) << choice;
    ASSERT_EQ(std::ssize(fit.state_students), test::chain_of(fit).step_count()) << choice;
    EXPECT_LT(report.log_likelihood, report.log_likelihood_before) << choice;
    for (const auto& students : fit.state_students) {
      for (const double count : students)
        EXPECT_GE(count, 10) << choice;
    }
    // The standard error of a share of 60 students or fewer is a hundredth at least: no digit is finer.
    if (std::string(choice) != "tan") {
      int checked = 0;
      for (const auto& emission : test::chain_of(fit).parameters().emissions) {
        const RowMatrix& shares = dynamic_cast<const BernoulliEmission&>(*emission).probability();
        for (Index i = 0; i < shares.size(); ++i) {
          const double hundredths = 100 * shares.data()[i];
          if (hundredths < 5 || hundredths > 95) continue;
          EXPECT_NEAR(hundredths, std::round(hundredths), 1e-9) << choice;
          ++checked;
        }
      }
      EXPECT_GE(checked, 6) << choice;
    }
    const Vector scores =
        fit.model->log_likelihood(EvidenceBatch::of(cohort), LikelihoodKind::mass, compute).value.col(0);
    EXPECT_NEAR(scores.sum(), report.log_likelihood, 1e-9 * std::abs(report.log_likelihood)) << choice;
  }
}

TEST(Publication, HiddenValuesOfFewStudentsHaveTheCoursesOwnShares) {
  const Cohort cohort =
      test::random_cohort({.students = 60, .courses = 6, .periods = 2, .taken = 0.3, .unknown = 0}, RandomStream(5));
  // How many took a course first in period 1, in period 2, never: nothing is unknown, so these are the expected counts.
  RowMatrix shares = RowMatrix::Zero(6, 3);
  for (std::int64_t s = 0; s < 60; ++s) {
    for (Id c = 0; c < 6; ++c) {
      const auto has = [&](Id t) {
        const auto row = cohort.enrollments().row(s * 2 + t);
        return std::ranges::find(row, cohort.schema().bit(t, c)) != row.end();
      };
      shares(c, has(0) ? 1 : has(1) ? 2 : 0) += 1.0 / 60;
    }
  }
  const Compute compute(2);
  const TrainingContext context{compute};
  FitOptions options("hct");
  options.set("trees", 2).set("tree-states", 8).set("iterations", 10).set("tolerance", 0.0);
  const TrainingTask task{cohort, options, context};
  FitResult fit = test::fit(cohort, options);
  const Publication report = publish(fit, task);
  EXPECT_EQ(report.values, 2 * 6 * 8);
  EXPECT_GT(report.values_pooled, 20);  // 60 students among 8 values
  EXPECT_LT(report.values_pooled, report.values);
  EXPECT_LT(report.log_likelihood, report.log_likelihood_before);
  const auto& chain = dynamic_cast<const HiddenChain&>(*fit.model);
  const auto& trees = dynamic_cast<const HiddenTreeEmission&>(*chain.parameters().emissions.front()).trees();
  std::int64_t as_the_course = 0;
  for (const auto& tree : trees) {
    EXPECT_EQ(tree->parameters().fault(), "");
    for (Index row = 0; row < tree->parameters().timing.rows(); ++row) {
      Vector share = shares.row(row / 8).transpose();
      for (double& p : share)
        p = rounded_probability(p, 60);
      share /= share.sum();
      as_the_course += (tree->parameters().timing.row(row).transpose() - share).cwiseAbs().maxCoeff() < 1e-9 ? 1 : 0;
    }
  }
  EXPECT_EQ(as_the_course, report.values_pooled);
}

TEST(Publication, RareCoursesAreDropped) {
  const Cohort cohort =
      test::random_cohort({.students = 40, .courses = 12, .periods = 2, .taken = 0.12, .unknown = 0}, RandomStream(6));
  const Cohort kept = without_rare_courses(cohort, 10);
  std::vector<std::string> common, found;
  for (Id c = 0; c < 12; ++c) {
    int takers = 0;
    for (std::int64_t s = 0; s < cohort.student_count(); ++s)
      takers +=
          std::ranges::any_of(cohort.bits(s), [&](Id bit) { return cohort.schema().course_of(bit) == c; }) ? 1 : 0;
    if (takers >= 10) common.push_back(cohort.schema().course(c).name);
  }
  for (const Course& course : kept.schema().courses())
    found.push_back(course.name);
  EXPECT_EQ(found, common);
  EXPECT_LT(kept.schema().course_count(), 12);
  EXPECT_GT(kept.schema().course_count(), 0);
  EXPECT_THROW(without_rare_courses(cohort, 41), PrivacyError);
}

}  // namespace
}  // namespace desirepath::publication_test
