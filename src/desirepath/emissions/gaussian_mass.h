// Gaussian states with few factors read as the paper means them, thresholded at zero (2.1.2): the probability of a
// binary row is the mass of an orthant, and evidence conditions by truncation instead of linearly. Whole covariances:
// gaussian_whole.h; here each state's correlations may be fitted by few factors plus a diagonal, which drops much of
// the dependence of pairs.
#pragma once

#include "desirepath/emissions/gaussian.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline emissions {

struct ThresholdedStates {
  std::vector<ThresholdedFactors> states;
  /// Root mean square of the correlations the fit leaves out, the largest of the states; 0 where nothing is fitted.
  double residual = 0;
};
/// factors: of the fit to a whole covariance.
ThresholdedStates thresholded_states(const GaussianParameters& parameters, const Executor& executor, Index factors = 8);

/// log P of the known bits in every state: by expectation propagation, or importance sampling for the states near the
/// row's best.
RowScores factor_mass_scores(const ThresholdedStates& thresholded, const StepRows& rows, Precision precision,
                             const Executor& executor);

/// p(bit | known bits) by truncation, sampled, with standard errors.
std::unique_ptr<GivenPattern> thresholded_given(const ThresholdedStates& thresholded, const UnknownBits& unknown);

}  // namespace desirepath::inline emissions
