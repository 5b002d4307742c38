#include "desirepath/probability/probit_regression.h"

#include <cmath>

#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/probability/factor_nodes.h"
#include "desirepath/probability/normal.h"

namespace desirepath::probit_regression_test {
namespace {

struct Problem {
  NodeSet nodes = prior_nodes(3, 64, RandomStream(1));
  ProbitRegression regression{nodes.points};
  Vector taken = Vector(64), not_taken = Vector(64);
  SlopePrior prior{Vector(3), 0.7};

  explicit Problem(std::uint64_t seed, double scale = 1) {
    RandomStream stream(seed);
    for (Index s = 0; s < 64; ++s) {
      taken[s] = scale * stream.uniform();
      not_taken[s] = scale * 5 * stream.uniform();
    }
    prior.mean << 0.3, -0.2, 0.1;
  }
  NodeTally tally() const { return {{taken.data(), 64}, {not_taken.data(), 64}}; }
  /// Straight from the definition.
  double objective(const Vector& c) const {
    double sum = -0.5 * prior.precision * (c.tail(3) - prior.mean).squaredNorm();
    for (Index s = 0; s < 64; ++s) {
      const double eta = c[0] + nodes.points.row(s).dot(c.tail(3));
      sum += taken[s] * log_normal_cdf(eta) + not_taken[s] * log_normal_cdf(-eta);
    }
    return sum;
  }
};

TEST(ProbitRegression, DerivativesAreThoseOfFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Problem problem(seed);
    RandomStream stream(seed + 100);
    Vector c(4);
    for (Index i = 0; i < 4; ++i)
      c[i] = stream.normal();
    const auto found = problem.regression.at(c, problem.tally(), problem.prior);
    EXPECT_NEAR(found.value, problem.objective(c), 1e-11 * std::abs(found.value));
    constexpr double h = 1e-5;
    for (Index i = 0; i < 4; ++i) {
      Vector up = c, down = c;
      up[i] += h;
      down[i] -= h;
      EXPECT_NEAR(found.gradient[i], (problem.objective(up) - problem.objective(down)) / (2 * h),
                  1e-6 * (1 + std::abs(found.gradient[i])));
      const Vector change = (problem.regression.at(up, problem.tally(), problem.prior).gradient -
                             problem.regression.at(down, problem.tally(), problem.prior).gradient) /
                            (2 * h);
      for (Index k = 0; k < 4; ++k)
        EXPECT_NEAR(found.curvature(i, k), -change[k], 1e-5 * (1 + std::abs(change[k])));
    }
  }
}

TEST(ProbitRegression, EveryStepClimbsToTheTop) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem problem(seed, seed % 2 == 0 ? 1 : 1000);
    Vector c = Vector::Constant(4, seed % 3 == 0 ? 20 : -4);  // far out: full Newton steps overshoot
    double before = problem.objective(c);
    for (int step = 0; step < 60; ++step) {
      const double reached = problem.regression.climb(problem.tally(), problem.prior, c, 1, 0);
      EXPECT_GE(reached, before - 1e-12 * std::abs(before));
      before = reached;
    }
    const auto top = problem.regression.at(c, problem.tally(), problem.prior);
    EXPECT_LT(top.gradient.norm(), 1e-6 * (1 + problem.taken.sum())) << seed;
  }
}

TEST(ProbitRegression, ACourseNobodyTakesStaysFiniteUnderPseudocounts) {
  Problem problem(3, 1000);
  problem.taken.setConstant(1e-3);
  Vector c = Vector::Zero(4);
  problem.regression.climb(problem.tally(), problem.prior, c, 50, 0);
  EXPECT_TRUE(c.allFinite());
  EXPECT_LT(c[0], -3);
  EXPECT_GT(c[0], -10);
}

TEST(ProbitRegression, InterceptsMakeTheShares) {
  const NodeSet nodes = prior_nodes(3, 64, RandomStream(1));
  const Vector weights = nodes.log_weights.array().exp();
  RandomStream stream(4);
  for (const double share : {1e-9, 1e-4, 0.03, 0.5, 0.500001, 0.9, 1 - 1e-6}) {
    for (const double size : {0.0, 0.5, 3.0}) {
      Vector offsets = size * nodes.points * Vector::Constant(3, stream.normal());
      const double a = intercept_of_share({offsets.data(), 64}, {weights.data(), 64}, share);
      double taken = 0, not_taken = 0;
      for (Index s = 0; s < 64; ++s) {
        taken += weights[s] * normal_cdf(a + offsets[s]);
        not_taken += weights[s] * normal_cdf(-a - offsets[s]);
      }
      EXPECT_NEAR(taken / share, 1, 1e-9);
      EXPECT_NEAR(not_taken / (1 - share), 1, 1e-9);
    }
  }
  const Vector offsets = Vector::Zero(64);
  EXPECT_THROW(intercept_of_share({offsets.data(), 64}, {weights.data(), 64}, 0), InputError);
}

}  // namespace
}  // namespace desirepath::probit_regression_test
