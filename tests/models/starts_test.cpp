// Where climbs begin, and what comes of it.
#include <algorithm>
#include <cmath>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::starts_test {
namespace {

/// One programme a period out of many, of unequal popularity, mostly kept; later periods go missing. Rows are so bare
/// that k-means of a period finds nothing but single programmes and a large rest.
Cohort programmes(std::int64_t students, Id courses, Id periods, std::uint64_t seed) {
  test::CohortMaker made(courses, periods);
  std::vector<double> popularity;
  for (Id c = 0; c < courses; ++c)
    popularity.push_back(1.0 / (1 + c));
  for (std::int64_t s = 0; s < students; ++s) {
    RandomStream draw = RandomStream(seed).child(static_cast<std::uint64_t>(s));
    made.add_student();
    auto programme = static_cast<Id>(draw.categorical(popularity));
    bool present = true;
    for (Id t = 0; t < periods; ++t) {
      // Within a faculty of four programmes, as a rule.
      if (draw.bernoulli(0.25)) programme = programme / 4 * 4 + static_cast<Id>(draw.below(4));
      if (draw.bernoulli(0.05)) programme = static_cast<Id>(draw.categorical(popularity));
      programme = std::min(programme, courses - 1);
      present = present && (t == 0 || !draw.bernoulli(0.15));
      if (!present) made.set(t, Presence::unknown);
      made.take(t, programme);
    }
  }
  return made.build();
}

FitOptions with(const char* choice, Id states) {
  FitOptions options(choice);
  return options.set("states", states);
}

TEST(Starts, NoChainComesOutBelowTheMixtureNestedInIt) {
  const Cohort cohort = programmes(1500, 40, 4, 3);
  bool kmeans_alone_fell_below = false;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    FitOptions mixture = with("nb", 8), chain = with("cmm+bernoulli", 8);
    mixture.seed = chain.seed = seed;
    const double nested = test::fit(cohort, mixture).log_likelihood;
    const FitResult found = test::fit(cohort, chain);
    EXPECT_GE(found.log_likelihood, nested) << "seed " << seed;
    EXPECT_EQ(found.restarts.size(), 3U);
    ASSERT_TRUE(found.kept_log_likelihood);
    // One EM step more than the mixture's own, and the same model.
    EXPECT_NEAR(*found.kept_log_likelihood, nested, 1e-4 * std::abs(nested));
    chain.set("start", "kmeans");
    kmeans_alone_fell_below = kmeans_alone_fell_below || test::fit(cohort, chain).log_likelihood < nested;
  }
  EXPECT_TRUE(kmeans_alone_fell_below);  // else this shows nothing
}

TEST(Starts, NoChainOfAnyFamilyComesOutBelowTheOneWithKeptStates) {
  const Cohort cohort = programmes(300, 12, 3, 4);
  for (const char* choice : {"cmm", "cmm+tree", "cmm+probit"}) {
    FitOptions options = with(choice, 3);
    options.set("iterations", 60);
    const FitResult found = test::fit(cohort, options);
    ASSERT_TRUE(found.kept_log_likelihood) << choice;
    const auto best = std::ranges::max_element(found.restarts, {}, &RestartResult::log_likelihood);
    EXPECT_GE(best->log_likelihood, *found.kept_log_likelihood) << choice;
  }
}

TEST(Starts, WhereNothingIsGainedByMovingTheKeptStatesAreReturned) {
  // Nobody ever changes, and a heavy prior on transitions costs more than they can bring.
  const Cohort cohort =
      test::random_cohort({.students = 60, .courses = 4, .periods = 2, .unknown = 0}, RandomStream(9));
  FitOptions options = with("cmm+bernoulli", 3);
  options.set("state-pseudocount", 200.0);
  const FitResult found = test::fit(cohort, options);
  EXPECT_EQ(found.log_likelihood, *found.kept_log_likelihood);
  EXPECT_TRUE(test::chain_of(found).transition(0).isApprox(Matrix::Identity(3, 3)));
}

TEST(Starts, EqualStatesAreDrawnApart) {
  const Cohort cohort = programmes(400, 12, 3, 5);
  const Executor executor(2);
  for (const char* choice : {"nb", "cmm+bernoulli", "hmm"}) {
    const double one_state = test::fit(cohort, with(choice, 1)).log_likelihood;
    TrainingContext context{executor};
    context.labels_file = "labels.csv";
    for (const std::string& student : cohort.students()) {
      for (const char* period : {"1", "2", "3"}) {
        for (Id k = 0; k < 3; ++k)
          context.labels.push_back({student, period, k, 1.0 / 3, 1});
      }
    }
    const FitOptions options = with(choice, 3);
    const FitResult found = fit_model(cohort, options, context);
    EXPECT_GT(found.log_likelihood, one_state + 50) << choice;
    EXPECT_TRUE(test::any_says(found.warnings, {"seed"})) << choice;
  }
}

TEST(Starts, AreCountedAndALonelyBestIsWarnedOf) {
  const Cohort cohort = programmes(600, 24, 3, 6);
  FitOptions options = with("nb", 8);
  bool lonely = false, met = false;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    options.seed = seed;
    const FitResult found = test::fit(cohort, options);
    EXPECT_EQ(found.starts_at_best, found.count_at_best());
    const bool warned = test::any_says(found.warnings, {"3", "restarts"});
    EXPECT_EQ(warned, found.starts_at_best == 1);
    lonely = lonely || warned;
  }
  // Two kinds of students that no start can miss.
  const FitResult plain = test::fit(programmes(600, 2, 3, 6), with("nb", 2));
  met = plain.starts_at_best > 1;
  EXPECT_TRUE(lonely);
  EXPECT_TRUE(met);
}

TEST(Starts, OfAMixtureStandForEveryPeriodOfAChain) {
  const Cohort cohort = programmes(200, 8, 3, 7);
  const Executor executor(1);
  const auto fit_from = [&](const std::vector<std::string>& periods) {
    TrainingContext context{executor};
    context.labels_file = "labels.csv";
    for (std::size_t s = 0; s < cohort.students().size(); ++s) {
      for (const std::string& period : periods) {
        context.labels.push_back({cohort.students()[s], period, 0, 0.25 + 0.5 * static_cast<double>(s % 2), 1});
        context.labels.push_back({cohort.students()[s], period, 1, 0.75 - 0.5 * static_cast<double>(s % 2), 1});
      }
    }
    const FitOptions options = with("cmm+bernoulli", 2);
    return fit_model(cohort, options, context).trace;
  };
  EXPECT_EQ(fit_from({"all"}), fit_from({"1", "2", "3"}));
}

}  // namespace
}  // namespace desirepath::starts_test
