// How states are weighed in answers.
#pragma once

#include "desirepath/emissions/emission.h"

namespace desirepath::inline models {

/// Whole covariances are scored as they are as long as that suits a question: with more bits in a step the solution of
/// nobody's row alone takes seconds a state, and what fits the states weighs them as well (docs/models/gaussian.md). By
/// the model alone, so that an answer does not depend on its company.
inline Precision weighing_precision(const Emission& emission) {
  constexpr Id most_whole_bits = 500;
  return emission.bit_count() > most_whole_bits ? Precision::fitted : Precision::quick;
}

}  // namespace desirepath::inline models
