// What states stand for, who is in them, and whether they are found again.
#include "desirepath/queries/states.h"

#include <algorithm>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/queries/state_grid.h"
#include "desirepath/queries/state_groups.h"

namespace desirepath::states_test {
namespace {

FitResult small_chain(const Cohort& cohort, const char* choice, Id states) {
  FitOptions options(choice);
  options.set("states", std::int64_t{states}).set("iterations", 20);
  return test::fit(cohort, options);
}

TEST(StateGrid, IsTheChainsOwnArithmetic) {
  const Cohort cohort =
      test::random_cohort({.students = 80, .courses = 4, .periods = 2, .unknown = 0}, RandomStream(3));
  const FitResult fit = small_chain(cohort, "cmm+bernoulli", 3);
  const Executor executor(2);
  const HiddenStates& states = *fit.model->hidden_states();
  const Vector first = states.share(0), second = states.share(1);
  const Matrix& transition = states.transition(0);
  const RowMatrix early = states.course_probabilities(0), late = states.course_probabilities(1);
  const auto grid = state_grid(*fit.model, 1, {1, 1, 1}, executor);
  ASSERT_EQ(grid.size(), 4U);
  for (const GridCourse& entry : grid) {
    // P(z2 = k and an enrollment in the course), in period 1 and in period 2.
    Vector joint = Vector::Zero(3);
    for (Index k = 0; k < 3; ++k) {
      for (Index from = 0; from < 3; ++from)
        joint[k] += first[from] * early(entry.course, from) * transition(from, k);
      joint[k] += second[k] * late(entry.course, k);
    }
    EXPECT_NEAR(entry.takings, joint.sum(), 1e-9);
    const Vector each = joint.cwiseQuotient(second);  // sizes of states do not count
    EXPECT_TRUE(entry.probability.isApprox(each / each.sum(), 1e-9));
    EXPECT_EQ(entry.confidence, entry.probability[entry.state]);
    EXPECT_EQ(entry.confidence, entry.probability.maxCoeff());
  }
  const auto of_two = state_grid(*fit.model, 1, {1, 0, 1}, executor);
  ASSERT_EQ(of_two.size(), 4U);
  for (const GridCourse& entry : of_two) {
    EXPECT_EQ(entry.probability[1], 0);
    EXPECT_NEAR(entry.probability.sum(), 1, 1e-12);
  }
}

TEST(StateGroups, IntervalsAreWilsons) {
  EXPECT_NEAR(ShareOf(10, 100).low, 0.055229, 1e-6);
  EXPECT_NEAR(ShareOf(10, 100).high, 0.174366, 1e-6);
  EXPECT_EQ(ShareOf(0, 20).low, 0);
  EXPECT_NEAR(ShareOf(0, 20).high, 0.161125, 1e-6);
}

TEST(StateStability, OverlapsAreJaccardIndices) {
  const Cohort cohort =
      test::random_cohort({.students = 200, .courses = 6, .periods = 2, .unknown = 0}, RandomStream(4));
  const Executor executor(2);
  const FitResult fit = small_chain(cohort, "nb", 3);
  const HiddenStates& states = *fit.model->hidden_states();
  // Itself: found for certain, whatever the states are called.
  std::vector<std::unique_ptr<Model>> same;
  same.push_back(small_chain(cohort, "nb", 3).model);
  const auto of_itself = state_stability(states, same, cohort, executor);
  ASSERT_EQ(of_itself.size(), 3U);
  for (const StateStability& entry : of_itself) {
    EXPECT_EQ(entry.overlap, 1);
    EXPECT_EQ(entry.found, 1);
  }
  // Another model: by hand.
  std::vector<std::unique_ptr<Model>> other;
  FitOptions options("nb");
  options.set("states", 3).set("iterations", 1).set("start", "random").set("restarts", 1);
  options.seed = 77;
  other.push_back(test::fit(cohort, options).model);
  const auto likely = [&](const Model& model) {
    const RowMatrix posterior = model.hidden_states()->posterior(EvidenceBatch::of(cohort), executor);
    std::vector<Index> state(200);
    for (Index s = 0; s < 200; ++s)
      posterior.row(s).maxCoeff(&state[static_cast<std::size_t>(s)]);
    return state;
  };
  const auto ours = likely(*fit.model), theirs = likely(*other.front());
  const auto found = state_stability(states, other, cohort, executor);
  ASSERT_EQ(found.size(), 3U);
  bool differs = false;
  for (const StateStability& entry : found) {
    double best = 0;
    for (Index k = 0; k < 3; ++k) {
      double both = 0, either = 0;
      for (std::size_t s = 0; s < 200; ++s) {
        both += ours[s] == entry.state && theirs[s] == k ? 1 : 0;
        either += ours[s] == entry.state || theirs[s] == k ? 1 : 0;
      }
      if (either > 0) best = std::max(best, both / either);
    }
    EXPECT_NEAR(entry.overlap, best, 1e-12);
    EXPECT_EQ(entry.found, best > 0.5 ? 1 : 0);
    differs = differs || best < 1;
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace desirepath::states_test
