// Ordered values, neighbours pooled where few students stand.
#pragma once

#include <optional>

#include "desirepath/disclosure/disclosure.h"

namespace desirepath::inline disclosure {

struct DisclosedBin {
  std::int64_t first = 0, last = 0;  // values in the bin, both included
  std::int64_t students = 0;
  bool open = false;  // and above: how far is not told
};

/// Bins of `width` values, wider where few students (but some) would stand in one. counts: students of each value from
/// 0. Where the highest values are pooled the last bin is open, for else its end is one student's value.
std::vector<DisclosedBin> merge_small_bins(const std::vector<std::int64_t>& counts, std::int64_t width,
                                           const Disclosure& disclosure);

/// The same where the sum of all students' values is told too, and their standard deviation.
struct DisclosedHistogram {
  std::vector<DisclosedBin> bins;   // none: no choice of them may be told
  std::optional<double> deviation;  // rounded
};
/// As fine bins and as many digits as keep, for every value of few students, both nobody and enough possible.
DisclosedHistogram histogram_beside_sum(const std::vector<std::int64_t>& counts, std::int64_t width,
                                        const Disclosure& disclosure);

}  // namespace desirepath::inline disclosure
