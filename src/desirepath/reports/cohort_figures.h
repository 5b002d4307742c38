// The paper's figure 1 from a cohort: enrollments per school per year, courses per student with the fitted Gaussian.
#pragma once

#include "desirepath/queries/disclosed_cohort.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

/// Stacked areas.
Figure enrollment_areas(const DisclosedCohort& disclosed);
/// Histogram with the Gaussian of the same mean and standard deviation.
Figure course_histogram(const DisclosedCohort& disclosed);

}  // namespace desirepath::inline reports
