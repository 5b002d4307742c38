// Drawing by weight for the synthetic university, the same on every machine: additions, one product, comparisons.
//
// Sources that use it are compiled without fused multiply-add (CMakeLists.txt), which would round that product
// otherwise.
#pragma once

#include <algorithm>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"

namespace desirepath::inline simulation {

class WeightTable {
 public:
  /// Weights are not negative and not all zero; they belong to the numbers 0, 1, 2, ... in the order they are added.
  void add(double weight) { sums_.push_back(weight + (sums_.empty() ? 0 : sums_.back())); }
  Id size() const { return static_cast<Id>(sums_.size()); }
  Id draw(RandomStream& stream) const { return draw(stream, 0, size()); }
  /// Among first .. end-1 alone.
  Id draw(RandomStream& stream, Id first, Id end) const {
    const double low = first == 0 ? 0 : sums_[static_cast<std::size_t>(first) - 1];
    const double high = sums_[static_cast<std::size_t>(end) - 1];
    const double at = low + stream.uniform() * (high - low);
    auto found = std::upper_bound(sums_.begin() + first, sums_.begin() + end, at);
    // Rounding may leave a crumb beyond the last number that has a weight.
    if (found == sums_.begin() + end) found = std::lower_bound(sums_.begin() + first, sums_.begin() + end, high);
    return static_cast<Id>(found - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

/// Bell-shaped with mean 0 and variance 1: the sum of four 16-bit numbers, no logarithm or sine of a math library.
inline double bell(RandomStream& stream) {
  const std::uint64_t bits = stream.bits();
  const std::uint64_t sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  constexpr double mean = 4 * 65535 / 2.0;
  constexpr double deviation = 37837.2;  // sqrt(4 (65536^2 - 1) / 12)
  return (static_cast<double>(sum) - mean) / deviation;
}

}  // namespace desirepath::inline simulation
