// Who was enrolled when (edition 3): what the rows and the calendar say of each student and period, beside what
// happened.
#pragma once

#include <vector>

#include "desirepath/simulation/synthetic_students.h"
#include "desirepath/transcripts/enrollment_status.h"

namespace desirepath::inline simulation {

struct StudentPeriod {
  int period = 1;
  int year = 0;              // academic year, 2001
  bool is_complete = false;  // the year ended within the data
  int rows = 0;              // in enrollments.csv
  /// By the rows, the degree and the term in which the data end, as a reader of the file can tell.
  EnrollmentStatus status = EnrollmentStatus::not_yet;
  /// What happened: enrolled though nothing is recorded, away and back after the data end.
  EnrollmentStatus fate = EnrollmentStatus::not_yet;
};

/// Every period up to the last there is.
std::vector<StudentPeriod> enrollment_history(const SyntheticOptions& options, const SyntheticStudent& student);

}  // namespace desirepath::inline simulation
