// Who and what is in a cohort: the paper's data figure in numbers (section 3.1, figure 1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

/// Enrollments and the students behind them.
struct CellCount {
  std::int64_t enrollments = 0;
  std::int64_t students = 0;  // distinct
};

struct CohortSummary {
  std::int64_t students = 0;
  std::int64_t enrollments = 0;
  struct Period {
    std::string label;
    StatusCounts students;
    double mean_courses = 0;  // over enrolled students
  };
  std::vector<Period> periods;

  /// What courses are grouped by: "school", else "subject", else "subject code" (MATH of MATH 101), else "course".
  std::string grouping;
  std::vector<std::string> groups;  // sorted by enrollments, largest first
  std::vector<Id> group_of;         // of each course
  std::string time;                 // "year" (academic) or "period"
  std::vector<std::string> times;
  std::vector<std::vector<CellCount>> by_group;  // groups by times

  /// Students by the number of courses they took in all periods: counts[c] students took c.
  std::vector<std::int64_t> course_counts;
  double mean_courses = 0;  // per student
  double sd_courses = 0;

  struct CourseCount {
    Id course = 0;
    std::int64_t students = 0, enrollments = 0;
  };
  std::vector<CourseCount> popular;  // every course, most takers first
};

CohortSummary summarise(const Cohort& cohort);

}  // namespace desirepath::inline transcripts
