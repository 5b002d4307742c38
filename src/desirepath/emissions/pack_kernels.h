// Rows of beliefs and their logarithms, in whole packs of the machine.
#pragma once

#include <algorithm>

#include "desirepath/core/types.h"
#include "desirepath/probability/normal_kernels.h"

namespace desirepath::inline emissions {

/// In the padding of logs: never the largest, and finite.
constexpr double nowhere = -1e300;
/// exp() of less than this is 0.
constexpr double vanishing = -700;
/// A product whose largest entry is below this may have lost others that matter.
constexpr double smallest_peak = 1e-200;

/// Halves at a time: comparisons do not wait for each other.
template <std::ptrdiff_t first = 0, std::ptrdiff_t count = pack_width>
double largest_lane(const Pack& pack) {
  if constexpr (count == 1) {
    return pack[first];
  } else {
    return std::max(largest_lane<first, count / 2>(pack), largest_lane<first + count / 2, count / 2>(pack));
  }
}

inline double largest_of(const double* values, Index stride) {
  Pack largest = load(values);
  for (Index z = pack_width; z < stride; z += pack_width)
    largest = larger(largest, load(values + z));
  return largest_lane(largest);
}

/// Shifts logs by their largest and exponentiates them; the padding becomes 0. Returns the shift.
inline double exponentiate(double* logs, Index states, Index stride) {
  const double shift = largest_of(logs, stride);
  for (Index z = 0; z < stride; z += pack_width) {
    const Pack x = load(logs + z) - shift;
    const Pack exponents = exponential(larger(x, broadcast(vanishing)), broadcast(0));
    store(logs + z, x > vanishing ? exponents : broadcast(0));
  }
  for (Index z = states; z < stride; ++z)
    logs[z] = 0;
  return shift;
}

}  // namespace desirepath::inline emissions
