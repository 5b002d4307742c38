// Typical students beside untypical ones: what they take, and how typical all are.
#pragma once

#include "desirepath/queries/typical_groups.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

/// The paper's pies: average coursework by subject of the most and the least typical students, and the same as bars.
Figure coursework_pies(const GroupPortrait& typical, const GroupPortrait& untypical);

/// Students whose log-probability lies in [from, to).
struct TypicalityBin {
  double from = 0, to = 0;
  std::int64_t students = 0;
};
/// Bins as they may be told, side by side and without gaps; wide ones are drawn at their mean height. `merged`: whether
/// some were made wider than the others for being small.
Figure typicality_histogram(const std::vector<TypicalityBin>& bins, bool merged = false);

}  // namespace desirepath::inline reports
