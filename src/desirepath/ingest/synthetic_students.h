// The students of the synthetic university: who they are, what they want, and the enrollments that come of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/types.h"
#include "desirepath/ingest/synthetic_catalog.h"
#include "desirepath/ingest/weight_table.h"

namespace desirepath::inline ingest {

enum class SyntheticTerm { autumn = 1, spring = 2, summer = 3 };
enum class SyntheticGrade : std::uint8_t { a, a_minus, b_plus, b, b_minus, c_plus, c, d, f, w };
std::string_view to_string(SyntheticGrade grade);
inline bool is_pass(SyntheticGrade grade) {
  return grade < SyntheticGrade::f;
}

/// In the academic year cohort + period - 1 of its student.
struct SyntheticEnrollment {
  Id course = 0;
  int period = 1;
  SyntheticTerm term = SyntheticTerm::autumn;
  SyntheticGrade grade = SyntheticGrade::a;
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
  int leave_period = 0;                          // period spent away; 0: none
  std::vector<int> reduced_periods;              // years with half the load
  std::vector<Id> transferred;                   // passed elsewhere before a late entry; in no table
  std::vector<SyntheticEnrollment> enrollments;  // by period and term
};

/// What all students' choices are drawn from.
struct ChoiceTables {
  WeightTable intake;                               // of entry cohorts
  std::vector<std::vector<WeightTable>> majors;     // cohort by background (commuter + 2 x first generation)
  WeightTable sequences;                            // of subjects
  std::vector<WeightTable> related;                 // by subject: other subjects its students turn to
  std::vector<std::vector<WeightTable>> electives;  // academic year by period: courses
  std::vector<Id> school_end;                       // by school: one past its last course
};
ChoiceTables make_choice_tables(const SyntheticOptions& options, const SyntheticCatalog& catalog);

/// The number and the seed decide the student, never the number of students.
SyntheticStudent make_synthetic_student(const SyntheticOptions& options, const SyntheticCatalog& catalog,
                                        const ChoiceTables& tables, std::int64_t number);

}  // namespace desirepath::inline ingest
