// Models to hand out.
#include "desirepath/models/publication.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/published_numbers.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/queries/disclosed_states.h"

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
  const Executor executor(2);
  const TrainingContext context{executor};
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
        fit.model->log_likelihood(EvidenceBatch::of(cohort), LikelihoodKind::mass, executor).value.col(0);
    EXPECT_NEAR(scores.sum(), report.log_likelihood, 1e-9 * std::abs(report.log_likelihood)) << choice;
  }
}

TEST(Publication, HiddenValuesOfFewStudentsHaveTheCoursesOwnShares) {
  const Cohort cohort =
      test::random_cohort({.students = 230, .courses = 6, .periods = 2, .taken = 0.3, .unknown = 0}, RandomStream(5));
  // How many took a course first in period 1, in period 2, never: nothing is unknown, so these are the expected counts.
  RowMatrix shares = RowMatrix::Zero(6, 3);
  for (std::int64_t s = 0; s < 230; ++s) {
    for (Id c = 0; c < 6; ++c) {
      const auto has = [&](Id t) {
        const auto row = cohort.enrollments().row(s * 2 + t);
        return std::ranges::find(row, cohort.schema().bit(t, c)) != row.end();
      };
      shares(c, has(0) ? 1 : has(1) ? 2 : 0) += 1.0 / 230;
    }
  }
  const Executor executor(2);
  const TrainingContext context{executor};
  FitOptions options("hct");
  options.set("trees", 2).set("tree-states", 8).set("iterations", 10).set("tolerance", 0.0);
  const TrainingTask task{cohort, options, context};
  FitResult fit = test::fit(cohort, options);
  const Publication report = publish(fit, task);
  EXPECT_EQ(report.values, 2 * 6 * 8);
  EXPECT_GT(report.values_pooled, 20);  // 230 students among 8 values
  EXPECT_LT(report.values_pooled, report.values);
  EXPECT_LT(report.log_likelihood, report.log_likelihood_before);
  const HiddenChain& chain = offered<HasChain>(*fit.model)->chain();
  const auto& trees = dynamic_cast<const HiddenTreeEmission&>(*chain.parameters().emissions.front()).trees();
  std::int64_t as_the_course = 0;
  for (const auto& tree : trees) {
    EXPECT_EQ(tree->parameters().fault(), std::nullopt);
    for (Index row = 0; row < tree->parameters().timing.rows(); ++row) {
      Vector share = shares.row(row / 8).transpose();
      for (double& p : share)
        p = rounded_probability(p, 230);
      share /= share.sum();
      as_the_course += (tree->parameters().timing.row(row).transpose() - share).cwiseAbs().maxCoeff() < 1e-9 ? 1 : 0;
    }
  }
  EXPECT_EQ(as_the_course, report.values_pooled);
}

/// Two kinds of students, courses of their own; in the kind of 100, `odd` students took a course of the other kind.
Cohort two_kinds(int odd, Id periods) {
  test::CohortMaker made(8, periods);
  RandomStream stream(11);
  for (int s = 0; s < 200; ++s) {
    made.add_student();
    for (Id t = 0; t < periods; ++t) {
      for (Id c = 0; c < 8; ++c) {
        const bool own = (c < 4) == (s % 2 == 0);
        const double p = stream.uniform();
        const bool is_odd = !own && c == 7 && t == 0 && s % 2 == 0 && s < 2 * odd;
        if (is_odd || (own && p < 0.6)) made.take(t, c);
      }
    }
  }
  return std::move(made).build();
}

/// Of the first period's bits: the probability in the state of the first four courses.
double published_share(const char* choice, int odd, Id course, nlohmann::json& record) {
  const Cohort cohort = two_kinds(odd, 2);
  const Executor executor(2);
  const TrainingContext context{executor};
  FitOptions options(choice);
  if (std::string(choice) == "hct")
    options.set("trees", 1).set("tree-states", 2);
  else
    options.set("states", 2);
  const TrainingTask task{cohort, options, context};
  FitResult fit = test::fit(cohort, options);
  const Publication report = publish(fit, task);
  record = nlohmann::json::parse(published_record(task, fit, report).text);
  if (std::string(choice) == "hct") {
    const auto bits = fit.model->marginals(EvidenceBatch::of(cohort).slice(60, 61).without_periods(std::vector<Id>{0}),
                                           std::vector<Id>{course}, executor);
    return bits.value(0, 0);
  }
  const RowMatrix shares = test::chain_of(fit).course_probabilities(0);
  return shares(course, shares(0, 0) > shares(0, 1) ? 0 : 1);
}

// One student who did what others of the kind did not is nowhere in the model; ten are.
TEST(Publication, AFewStudentsOfAStateAreNotInIt) {
  for (const char* choice : {"nb", "hmm", "cmm+bernoulli", "tan", "cmm+tree", "hct", "nb+hidden-tree"}) {
    nlohmann::json record;
    const double none = published_share(choice, 0, 7, record);
    for (const int few : {1, 3}) {
      const double share = published_share(choice, few, 7, record);
      // As much as no data say: half of ten at most, and never nothing.
      EXPECT_GT(share, 0) << choice << few;
      EXPECT_LT(share, 0.11) << choice << few;
      if (std::string(choice) == "nb") {
        EXPECT_NEAR(share, none, 0.002) << choice;
      }
    }
    const double many = published_share(choice, 40, 7, record);
    if (std::string(choice) != "hct") {
      EXPECT_GT(many, 0.15) << choice;
    }
    EXPECT_GT(published_share(choice, 1, 0, record), 0.4) << choice;
  }
}

TEST(Publication, TheRecordHasNoExactNumbers) {
  for (const char* choice : {"nb", "cmm+bernoulli", "hct"}) {
    nlohmann::json record;
    published_share(choice, 1, 7, record);
    EXPECT_TRUE(record["published"].get<bool>());
    EXPECT_FALSE(record.contains("data_fingerprint"));
    const nlohmann::json& result = record["result"];
    for (const char* field : {"trace", "objective_trace", "validation_trace", "state_entropy", "warnings"})
      EXPECT_FALSE(result.contains(field)) << field;
    // 200 students whose likelihoods spread by 2 nats or so: an error of 10 or more, to two digits.
    std::vector<double> totals = {result["log_likelihood"], result["objective"]};
    for (const auto& restart : result["restarts"])
      totals.push_back(restart["log_likelihood"]);
    for (const double total : totals)
      EXPECT_DOUBLE_EQ(10 * total, std::round(10 * total)) << choice;
    EXPECT_EQ(result["students"], 200);
    if (std::string(choice) == "hct") continue;
    for (const auto& step : result["state_students"]) {
      for (const double count : step) {
        EXPECT_DOUBLE_EQ(count, std::round(count));
        EXPECT_GE(count, 10);
      }
    }
  }
}

// What is told of distributions: large parts as they are, small ones together.
TEST(Publication, SmallPartsOfADistributionAreOne) {
  const Vector usual = (Vector(4) << 0.4, 0.3, 0.2, 0.1).finished();
  const RowMatrix law = (RowMatrix(1, 4) << 0.5, 0.47, 0.02, 0.01).finished();
  RowMatrix few = law;
  EXPECT_EQ(publish_distributions(few, 200 * law, usual, 10), 0);  // 4 and 2 students: six in all
  EXPECT_NEAR(few.sum(), 1, 1e-12);
  EXPECT_NEAR(few(0, 2) / few(0, 3), 2, 0.3);
  EXPECT_NEAR(few(0, 2) + few(0, 3), 0.025, 0.005);  // half of ten, whatever they are
  RowMatrix enough = law;
  publish_distributions(enough, 400 * law, usual, 10);  // 8 and 4
  EXPECT_NEAR(enough(0, 2) + enough(0, 3), 0.03, 0.005);
  RowMatrix nobody = law;
  EXPECT_EQ(publish_distributions(nobody, 10 * law, usual, 10), 1);
  EXPECT_NEAR((nobody.row(0).transpose() - usual).cwiseAbs().maxCoeff(), 0, 0.06);
  // Six of 200 and six of 100 have 4 % of both.
  RowMatrix two = law.replicate(2, 1), counts(2, 4);
  counts << 100, 94, 4, 2, 50, 44, 6, 0;
  publish_distributions(two, counts, usual, 10);
  for (const Index row : {0, 1})
    EXPECT_NEAR(two(row, 2) + two(row, 3), 0.04, 0.005);
  const Vector excluded = (Vector(3) << 0, 0.99, 0.01).finished();
  EXPECT_EQ(published_distribution(excluded, 100 * excluded, 10)[0], 0);
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
