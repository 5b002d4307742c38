// Expectation propagation for a thresholded Gaussian with a full covariance: a Gaussian approximation of xbar given all
// its signs, and the log-probability of these. Costs a few multiples of courses^3.
#pragma once

#include "desirepath/core/types.h"
#include "desirepath/probability/orthant.h"

namespace desirepath::inline probability {

struct GaussianEp {
  double log_probability = 0;
  /// What to add to it: the third and fourth cumulants of the sites (Opper, Paquet and Winther, 2013). Leaves a tenth
  /// of the error.
  double correction = 0;
  Vector mean;        // of xbar - mu given the signs
  Matrix covariance;  // of xbar given the signs
  // The sites exp(nu f - tau f^2/2), f = xbar - mu, that stand for the signs.
  Vector site_precision;
  Vector site_shift;
  int sweeps = 0;
  bool converged = false;
};

/// Throws InputError if the covariance is not positive definite.
GaussianEp gaussian_ep(const OrthantProblem& problem);

}  // namespace desirepath::inline probability
