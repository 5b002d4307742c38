// A cohort seen through another schema: a model's, by the names of courses and periods.
#pragma once

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

/// Refused, they are counted; their names stand in a message only where that is asked for.
enum class UnseenCourses { refuse, refuse_by_name, ignore };

struct Aligned {
  Cohort cohort;
  std::int64_t ignored_enrollments = 0;
  std::int64_t ignored_courses = 0;
};

/// Courses of the schema that the cohort lacks are not taken; periods it lacks are unknown. Courses the schema lacks
/// are an InputError or ignored, and counted; periods it lacks are an error. Prerequisites
/// that the cohort's course list declares stay.
Aligned align_to(const Cohort& cohort, const Schema& schema, UnseenCourses unseen);

}  // namespace desirepath::inline transcripts
