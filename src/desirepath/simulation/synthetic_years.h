// The years of a student by the calendar (edition 3): what may follow each, and what the file has of the unfinished
// one.
#pragma once

#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/simulation/synthetic_students.h"

namespace desirepath::inline simulation {

/// Enrollments of a period.
int courses_in(const SyntheticStudent& student, int period);

/// Sets the chances of a year whose autumn is among the enrollments; `studied` years lie behind the student, this one
/// included.
void set_chances(SyntheticYear& year, const SyntheticOptions& options, const SyntheticCalendar& calendar,
                 const SyntheticStudent& student, int studied);

/// By the chances of the year.
YearEnd draw_end(const SyntheticYear& year, RandomStream& stream);

/// Chance that the year, whose end is known, has no spring term for the student.
double chance_of_no_spring(const SyntheticYear& year, const SyntheticOptions& options, int studied);

/// The student's enrollments when the unfinished year is the given period: some students are registered, with some of
/// their courses, and nobody has a grade. A student who enters has one row at least.
std::vector<SyntheticEnrollment> recorded_in_part(const CalendarRates& rates, const SyntheticStudent& student,
                                                  int period, RandomStream& stream);

}  // namespace desirepath::inline simulation
