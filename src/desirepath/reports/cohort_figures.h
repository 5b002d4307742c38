// The paper's figure 1 from a cohort: enrollments per school per year, courses per student with the fitted Gaussian.
#pragma once

#include <cstdint>

#include "desirepath/reports/figure.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::inline reports {

/// Stacked areas. Throws OptionError for a min_cell under 5, as does the next.
Figure enrollment_areas(const CohortSummary& summary, std::int64_t min_cell);
/// Histogram with the Gaussian of the same mean and standard deviation.
Figure course_histogram(const CohortSummary& summary, std::int64_t min_cell);

}  // namespace desirepath::inline reports
