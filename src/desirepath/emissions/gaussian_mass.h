// Gaussian states read as the paper means them, thresholded at zero: the probability of a binary row is a Gaussian
// orthant probability (the paper's 2.1.2), and evidence conditions by truncation instead of linearly.
//
// A covariance with few factors is used as it is; of a whole one each state's correlations are fitted by few factors
// plus a diagonal, for a true orthant of every student and state would take weeks. check_mass() says what that costs.
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
ThresholdedStates thresholded_states(const GaussianParameters& parameters, const Compute& compute, Index factors = 8);

/// log P of the known bits in every state: expectation propagation for all, importance sampling (with its standard
/// error) for the states near the row's best.
RowScores mass_scores(const ThresholdedStates& thresholded, const StepRows& rows, const Compute& compute,
                      Precision precision);

/// p(bit | known bits) by truncation, sampled, with standard errors.
std::unique_ptr<GivenPattern> thresholded_given(const ThresholdedStates& thresholded, const UnknownBits& unknown);

/// The fit against the covariance itself, on up to `count` rows in their best states, by tilted sampling.
struct MassCheck {
  std::int64_t rows = 0;
  double mean_difference = 0;  // log P by the fit less that by the covariance
  double largest = 0;          // absolute
  double standard_error = 0;   // of one tilted value, the largest
};
MassCheck check_mass(const GaussianEmission& emission, const StepRows& rows, std::int64_t count,
                     const Compute& compute);

}  // namespace desirepath::inline emissions
