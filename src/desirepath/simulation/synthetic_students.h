// The students of the synthetic university: who they are, what they want, and the enrollments that come of it.
#pragma once

#include <cstdint>
#include <vector>

#include "desirepath/core/types.h"
#include "desirepath/simulation/synthetic_catalog.h"
#include "desirepath/simulation/synthetic_choices.h"
#include "desirepath/simulation/synthetic_grades.h"

namespace desirepath::inline simulation {

enum class SyntheticTerm { autumn = 1, spring = 2, summer = 3 };

/// In the academic year cohort + period - 1 of its student.
struct SyntheticEnrollment {
  Id course = 0;
  int period = 1;
  SyntheticTerm term = SyntheticTerm::autumn;
  SyntheticGrade grade = SyntheticGrade::a;
  Id major = 0;  // the student's, in that term
};

/// What follows a year of study.
enum class YearEnd { returns, pauses, finishes, leaves, after_the_file };

/// Edition 3: an academic year in which a student was enrolled, with the chances of what followed it.
struct SyntheticYear {
  int period = 1;
  bool disengaged = false;
  int courses = 0;  // enrollments, recorded or not
  YearEnd end = YearEnd::after_the_file;
  // Of all four, which sum to 1; none in the unfinished year.
  double leaving = 0, finishing = 0, pausing = 0, returning = 0;
};

struct SyntheticStudent {
  std::int64_t number = 0;  // from 1
  int cohort = 0;           // academic year of period 1 of the class the student belongs to
  bool commuter = false;
  bool first_generation = false;
  bool part_time = false;
  int entry_period = 1;  // 2 or 3: a late entrant
  double ambition = 0;   // mean about 0, standard deviation 1
  int pace = 0;          // -1 early, 0, +1 late
  bool enthusiast = false;
  bool meets_conflict = false;  // the planted scheduling conflict concerns this student
  Id entry_major = 0;           // a major is a subject
  Id major = 0;                 // the last held
  Id second_major = -1;         // -1: none
  Id concentration = 0;         // of the last major
  Id interest = -1;             // subject of lasting interest; -1: none
  Id company = -1;              // of catalog.companies; -1: none
  Id detour = -1;               // of catalog.detours; -1: none
  bool detour_given_up = false;
  int switched_after = 0;                        // period after which the major changed; 0: never
  int left_after = 0;                            // last period of a drop-out; 0: stayed to the end
  int leave_period = 0;                          // period spent away, the first of two; 0: none
  int finished_after = 0;                        // edition 3: last period of a student with a degree; 0: none
  bool finished_in_autumn = false;               // of that period
  std::vector<SyntheticYear> years;              // edition 3
  std::vector<int> reduced_periods;              // years with half the load
  std::vector<Id> transferred;                   // passed elsewhere before a late entry; in no table
  std::vector<SyntheticEnrollment> enrollments;  // by period and term
};

/// The number and the seed decide the student, never the number of students.
SyntheticStudent make_synthetic_student(const SyntheticOptions& options, const SyntheticCatalog& catalog,
                                        const ChoiceTables& tables, std::int64_t number);

}  // namespace desirepath::inline simulation
