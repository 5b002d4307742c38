// Probabilities as logarithms: shift, then exponentiate, and nowhere but here.
//
// -inf is the log of zero and legal; NaN never is.
#pragma once

#include <cmath>
#include <span>

#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// log of the sum of exponentials; -inf for an empty span or nothing but -inf.
double log_sum_exp(std::span<const double> logs);

/// Turns logs into probabilities that sum to one and returns the log of their sum before; leaves zeros and returns -inf
/// where all are -inf.
double normalise_logs(std::span<double> logs);

/// x log x, 0 at 0.
inline double x_log_x(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

}  // namespace desirepath::inline probability
