// Nothing that is published may rest on 1 .. min_cell-1 students: small things are merged, so that totals stay true and
// no hidden count can be recovered by subtraction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::inline reports {

inline constexpr std::int64_t default_min_cell = 10;
/// Throws OptionError under 5.
void check_min_cell(std::int64_t min_cell);

/// Groups by times with every cell empty or resting on enough students.
struct SafeSeries {
  std::vector<std::string> groups;
  std::vector<std::string> times;
  std::vector<std::vector<std::int64_t>> enrollments;  // groups by times
  std::string note;                                    // what was merged, or empty
};
/// Small groups go into "other"; times that stay small go to their neighbours. At most `most_groups` are named.
SafeSeries merge_small_series(const CohortSummary& summary, std::int64_t min_cell, std::size_t most_groups);

/// Neighbouring values pooled.
struct SafeBin {
  std::int64_t first = 0, last = 0;  // values in the bin, both included
  std::int64_t students = 0;
};
/// Bins of at most `width` values, wider where fewer than min_cell students (but some) would stand in one.
std::vector<SafeBin> merge_small_bins(const std::vector<std::int64_t>& counts, std::int64_t min_cell,
                                      std::int64_t width);

}  // namespace desirepath::inline reports
