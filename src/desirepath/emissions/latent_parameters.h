// The thresholded Gaussians of states that share a covariance, as one vector of free numbers.
//
// Only h = mu / sigma and the correlations decide which courses exceed zero. The numbers are h of every state and the
// lower triangle of a factor L, column by column, the logarithms of its diagonal in place of it; mu = h sigma, with the
// variances sigma^2 of LL', so that scaling a row of L changes nothing.
#pragma once

#include <vector>

#include "desirepath/emissions/latent_reward.h"

namespace desirepath::inline emissions {

class LatentParameters {
 public:
  /// standard_mean: bits by states; lower: a factor of the covariance, of which the correlations count.
  LatentParameters(const Matrix& standard_mean, const Matrix& lower);

  Vector& values() { return values_; }
  const Vector& values() const { return values_; }
  Matrix standard_mean() const;
  /// Of the correlations: rows of unit length.
  Matrix correlation_factor() const;
  std::vector<LatentGaussian> latent() const;
  /// d/dvalues() from the gradients with respect to each state's mean and covariance.
  Vector gradient(const std::vector<LatentGradient>& by_state) const;

 private:
  void pack(const Matrix& matrix, const Vector& diagonal, Vector& target) const;
  Matrix lower() const;

  Index bits_, states_;
  Vector values_;
};

}  // namespace desirepath::inline emissions
