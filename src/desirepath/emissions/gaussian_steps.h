// M steps of Gaussian emissions, by the shape of the covariance.
#pragma once

#include "desirepath/emissions/gaussian.h"

namespace desirepath::inline emissions {

/// What both shapes need to know. Moments are kept of b and turned into those of x = 2b - 1 at the end: S = 4 cov(b).
struct GaussianStepTask {
  const RowSurvey& survey;
  bool tied = false;
  double prior = 0;  // students of the pooled variance
  double ridge = 0;
};

/// Whole covariances. previous: null at the start, where what rows leave unknown is taken to be independent.
std::unique_ptr<EmissionStep> dense_gaussian_step(const GaussianStepTask& task, const GaussianEmission* previous);

/// Few factors, from these loadings and variances; without means it is the first one and takes several rounds.
std::unique_ptr<EmissionStep> factor_gaussian_step(const GaussianStepTask& task, GaussianParameters parameters);

/// Students' worth that count for nothing.
inline constexpr double no_gaussian_weight = 1e-12;

/// With the mean that the density itself has.
std::unique_ptr<Emission> uncalibrated_gaussian(GaussianParameters parameters);

}  // namespace desirepath::inline emissions
