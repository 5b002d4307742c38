// Minimax exponential tilting (Botev): the shifts of the proposal in separation of variables that make the largest
// possible weight smallest. That weight bounds the probability from above.
#pragma once

#include "desirepath/probability/ordered_region.h"

namespace desirepath::inline probability {

/// The saddle point of psi(x, mu) = sum_k mu_k^2/2 - x_k mu_k + log Phi(mu_k + A_k x - c_k): highest in x, lowest in
/// mu, both 0 in the last place.
struct OrthantTilt {
  Vector shift;   // mu
  Vector centre;  // x
  /// psi there and what may be missing to its highest value: no log-probability is above it.
  double log_upper_bound = 0;
  /// Euclidean norm of the gradient of psi in x and mu.
  double residual = 0;
  int steps = 0;
};

/// Throws NumericalError if the saddle point is not found.
OrthantTilt solve_tilt(const OrderedRegion& region);

}  // namespace desirepath::inline probability
