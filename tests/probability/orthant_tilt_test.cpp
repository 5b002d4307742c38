#include "desirepath/probability/orthant_tilt.h"

#include <cmath>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/probability/normal.h"

namespace desirepath::orthant_tilt_test {
namespace {

/// psi(x, mu) as in the header, term by term.
double psi(const OrderedRegion& region, const Vector& x, const Vector& shift) {
  const Vector means = region.conditional_means(x);
  double total = 0;
  for (Index k = 0; k < region.size(); ++k) {
    total += shift[k] * shift[k] / 2 - x[k] * shift[k] + log_normal_cdf(shift[k] + means[k] - region.lower()[k]);
  }
  return total;
}

TEST(OrthantTilt, IsASaddlePoint) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const test::RandomFactorProblem random(12, 2, 1, seed);
    OrthantProblem problem = random.problem();
    if (seed % 2 == 0) problem.covariance = FullCovariance{dense_covariance(problem)};
    const OrderedRegion region = OrderedRegion::least_probable_first(problem);
    const OrthantTilt tilt = solve_tilt(region);
    EXPECT_LT(tilt.residual, 1e-9) << seed;
    EXPECT_LE(tilt.steps, 20) << seed;
    EXPECT_EQ(tilt.shift[11], 0);
    EXPECT_EQ(tilt.centre[11], 0);
    // The gradients by differences, not by the solver's own formula; the last place is pinned.
    const Vector in_x =
        test::finite_differences([&](const Vector& x) { return psi(region, x, tilt.shift); }, tilt.centre);
    const Vector in_shift =
        test::finite_differences([&](const Vector& shift) { return psi(region, tilt.centre, shift); }, tilt.shift);
    EXPECT_LT(in_x.head(11).cwiseAbs().maxCoeff(), 1e-6) << seed;
    EXPECT_LT(in_shift.head(11).cwiseAbs().maxCoeff(), 1e-6) << seed;
    // Highest in x, lowest in mu.
    const double value = psi(region, tilt.centre, tilt.shift);
    EXPECT_NEAR(value, tilt.log_upper_bound, 1e-9);
    RandomStream stream(seed);
    for (int i = 0; i < 20; ++i) {
      Vector away(12);
      for (Index k = 0; k < 12; ++k)
        away[k] = k < 11 ? 0.3 * stream.normal() : 0;
      EXPECT_LE(psi(region, tilt.centre + away, tilt.shift), value + 1e-12);
      EXPECT_GE(psi(region, tilt.centre, tilt.shift + away), value - 1e-12);
    }
  }
}

TEST(OrthantTilt, BoundsTheProbabilityFromAbove) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const test::RandomFactorProblem random(3 + 4 * static_cast<Index>(seed), 1, 1.2, seed);
    const OrderedRegion region = OrderedRegion::least_probable_first(random.problem());
    const double truth = test::quadrature_log_probability(random.factors(), {random.taken});
    const double bound = solve_tilt(region).log_upper_bound;
    EXPECT_GT(bound, truth) << seed;
    EXPECT_LT(bound, truth + 3) << seed;
  }
  // Chains of strong negative correlation: the orthant of probability 1/(d + 1)!.
  const OrthantProblem chain = test::all_taken(100, NeighbourCorrelation{-0.5});
  const OrthantTilt tilt = solve_tilt(OrderedRegion::least_probable_first(chain));
  EXPECT_GT(tilt.log_upper_bound, -std::lgamma(102.0));
  EXPECT_LT(tilt.log_upper_bound, -std::lgamma(102.0) + 2);
  EXPECT_LT(tilt.residual, 1e-8);
}

TEST(OrthantTilt, OneCourseNeedsNone) {
  const OrthantProblem problem{Vector{{-1.5}}, FullCovariance{Matrix{{4.0}}}, {1}};
  const OrthantTilt tilt = solve_tilt(OrderedRegion::least_probable_first(problem));
  EXPECT_NEAR(tilt.log_upper_bound, log_normal_cdf(-0.75), 1e-12);
  EXPECT_EQ(tilt.shift[0], 0);
}

TEST(OrthantTilt, SurvivesRareEvents) {
  for (const double level : {-5.0, -40.0, -300.0}) {
    OrthantProblem problem = test::RandomFactorProblem(30, 2, 0.8, 4).problem();
    problem.mean.setConstant(level);
    problem.taken.assign(30, 0);
    problem.taken[3] = problem.taken[17] = problem.taken[20] = 1;
    const OrthantTilt tilt = solve_tilt(OrderedRegion::least_probable_first(problem));
    OrthantOptions options;
    options.estimator = OrthantEstimator::factor;
    options.samples = 1024;
    const double truth = estimate_orthant(problem, options, RandomStream(1)).log_probability;
    EXPECT_GT(tilt.log_upper_bound, truth - 1e-3 * std::abs(truth)) << level;
    EXPECT_LT(tilt.log_upper_bound, truth + 3 + 1e-3 * std::abs(truth)) << level;
    EXPECT_LT(tilt.residual, 1e-6 * std::abs(level)) << level;
  }
}

}  // namespace
}  // namespace desirepath::orthant_tilt_test
