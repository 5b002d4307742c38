// Orthant probabilities known by other means than the estimators under test: quadrature over one or two factors and
// closed forms; and random problems to ask them of.
#pragma once

#include <cmath>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/orthant.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::test {

/// log prod_j Phi(s_j (a_j + b_j . z)), by the C library's erfc; unknown courses left out.
inline double log_likelihood_given(const ThresholdedFactors& factors, const KnownSigns& signs, const Vector& z) {
  Vector sign = Vector::Constant(factors.course_count(), -1);
  for (const Id course : signs.taken)
    sign[course] = 1;
  for (const Id course : signs.unknown)
    sign[course] = 0;
  double total = 0;
  for (Index j = 0; j < factors.course_count(); ++j) {
    if (sign[j] == 0) continue;
    const double eta = sign[j] * (factors.thresholds()[j] + factors.slopes().row(j).dot(z));
    total += std::log(0.5 * std::erfc(-eta / std::sqrt(2.0)));
  }
  return total;
}

/// log P by the trapezoidal rule over none, one or two factors, which converges faster than any power of the step.
inline double quadrature_log_probability(const ThresholdedFactors& factors, const KnownSigns& signs,
                                         double step = 0.05) {
  const Index count = factors.factor_count();
  const double log_cell = std::log(step) - 0.5 * std::log(2 * 3.14159265358979323846);
  LogWeightSum sum;
  const int half = static_cast<int>(9 / step);
  Vector z = Vector::Zero(count);
  for (int i = count > 0 ? -half : 0; i <= (count > 0 ? half : 0); ++i) {
    for (int k = count > 1 ? -half : 0; k <= (count > 1 ? half : 0); ++k) {
      if (count > 0) z[0] = i * step;
      if (count > 1) z[1] = k * step;
      sum.add(log_likelihood_given(factors, signs, z) - 0.5 * z.squaredNorm() + static_cast<double>(count) * log_cell);
    }
  }
  return sum.log_sum();
}

/// Courses with random popularity and loadings, and a student drawn from them.
struct RandomFactorProblem {
  RandomFactorProblem(Index courses, Index factor_count, double loading, std::uint64_t seed)
      : mean(courses), loadings(courses, factor_count), noise(courses) {
    RandomStream stream(seed);
    Vector z(factor_count);
    for (Index k = 0; k < factor_count; ++k)
      z[k] = stream.normal();
    for (Id j = 0; j < courses; ++j) {
      noise[j] = 0.5 + stream.uniform();
      mean[j] = -1 + 1.2 * stream.normal();
      for (Index k = 0; k < factor_count; ++k)
        loadings(j, k) = loading * stream.normal();
      const double latent = mean[j] + loadings.row(j).dot(z) + std::sqrt(noise[j]) * stream.normal();
      if (latent > 0) taken.push_back(j);
    }
  }

  ThresholdedFactors factors() const { return ThresholdedFactors::from_loadings(mean, loadings, noise); }

  OrthantProblem problem() const {
    OrthantProblem problem{mean, FactorCovariance{loadings, noise},
                           std::vector<std::uint8_t>(static_cast<std::size_t>(mean.size()), 0)};
    for (const Id course : taken)
      problem.taken[static_cast<std::size_t>(course)] = 1;
    return problem;
  }

  Vector mean;
  RowMatrix loadings;
  Vector noise;
  std::vector<Id> taken;
};

/// The courses taken in world number `world` of the 2^courses.
inline std::vector<Id> taken_in_world(std::uint64_t world, Index courses) {
  std::vector<Id> taken;
  for (Id j = 0; j < courses; ++j) {
    if ((world >> j) & 1) taken.push_back(j);
  }
  return taken;
}

inline OrthantProblem all_taken(Index courses, OrthantCovariance covariance) {
  return {Vector::Zero(courses), std::move(covariance),
          std::vector<std::uint8_t>(static_cast<std::size_t>(courses), 1)};
}

/// Gradients by central differences of a function of a vector.
template <class Function>
Vector finite_differences(Function function, Vector at, double step = 1e-4) {
  Vector gradient(at.size());
  for (Index i = 0; i < at.size(); ++i) {
    const double centre = at[i];
    at[i] = centre + step;
    const double above = function(at);
    at[i] = centre - step;
    const double below = function(at);
    at[i] = centre;
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

}  // namespace desirepath::test
