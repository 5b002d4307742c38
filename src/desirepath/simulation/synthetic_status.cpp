#include "desirepath/simulation/synthetic_status.h"

#include <algorithm>

#include "desirepath/simulation/synthetic_years.h"

namespace desirepath::inline simulation {

namespace {

/// A period without rows.
EnrollmentStatus status_without_rows(const StudentPeriod& at, const SyntheticStudent& student) {
  const int first = student.enrollments.empty() ? 0 : student.enrollments.front().period;
  const int last = student.enrollments.empty() ? 0 : student.enrollments.back().period;
  if (at.period < first) return EnrollmentStatus::before_entry;
  if (at.period < last) return EnrollmentStatus::away;
  if (!at.is_complete) return EnrollmentStatus::not_yet;
  return student.finished_after > 0 ? EnrollmentStatus::finished : EnrollmentStatus::left;
}

EnrollmentStatus fate_in(const StudentPeriod& at, const SyntheticStudent& student, int last_year) {
  const auto year = std::ranges::find(student.years, at.period, &SyntheticYear::period);
  if (year != student.years.end() && year->courses > 0) return EnrollmentStatus::enrolled;
  if (at.period < student.entry_period) return EnrollmentStatus::before_entry;
  if (student.finished_after > 0 && at.period > student.finished_after) return EnrollmentStatus::finished;
  if (student.left_after > 0 && at.period > student.left_after) return EnrollmentStatus::left;
  return at.year > last_year ? EnrollmentStatus::not_yet : EnrollmentStatus::away;
}

}  // namespace

std::vector<StudentPeriod> enrollment_history(const SyntheticOptions& options, const SyntheticStudent& student) {
  const int last_year = options.first_year + options.calendar_years() - 1;  // unfinished
  std::vector<StudentPeriod> history;
  for (int period = 1; period <= options.last_period(); ++period) {
    StudentPeriod at;
    at.period = period;
    at.year = student.cohort + period - 1;
    at.is_complete = at.year < last_year;
    at.rows = courses_in(student, period);
    at.status = at.rows > 0 ? EnrollmentStatus::enrolled : status_without_rows(at, student);
    at.fate = fate_in(at, student, last_year);
    history.push_back(at);
  }
  return history;
}

}  // namespace desirepath::inline simulation
