// Students of a prepared cohort by an SQL condition on what is known of each: `where` on a cohort file.
#pragma once

#include <string>
#include <vector>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline ingest {

/// The students for whom the condition is true; courses and periods stay as they are. Its columns are the student
/// attributes and, where no attribute has the name: student, entry (academic year of the first period known), periods
/// (how many the student is present in), first_period, last_period, enrollments.
/// Throws OptionError for a condition that cannot be computed, InputError when it is true for nobody.
Cohort select_students(const Cohort& cohort, const std::string& condition);

}  // namespace desirepath::inline ingest
