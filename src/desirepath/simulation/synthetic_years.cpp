#include "desirepath/simulation/synthetic_years.h"

#include <algorithm>

namespace desirepath::inline simulation {

namespace {

double chance_to_leave(const SyntheticYear& year, const SyntheticOptions& options, const SyntheticCalendar& calendar,
                       const SyntheticStudent& student) {
  const CalendarRates& rates = options.calendar;
  const StudentKind kind{student.commuter, student.first_generation, student.part_time};
  const int academic_year = student.cohort - options.first_year + year.period - 1;
  double rate = leaving_rate(rates, calendar, kind, year.period, academic_year);
  if (student.ambition > options.rates.ambitious) rate *= rates.leaving_ambitious;
  if (student.ambition < -options.rates.ambitious) rate *= rates.leaving_low_ambition;
  if (year.disengaged) rate *= rates.leaving_disengaged;
  const auto failed = std::ranges::count_if(student.enrollments, [&](const SyntheticEnrollment& row) {
    return row.period == year.period && !is_pass(row.grade);
  });
  if (failed >= 2) rate *= rates.leaving_failed;
  return std::min(rate, rates.most_leaving);
}

/// Of those who do not leave.
double chance_to_finish(int period, const SyntheticOptions& options, const SyntheticStudent& student, int studied) {
  const CalendarRates& rates = options.calendar;
  if (period == options.last_period()) return rates.finishing_last;
  if (studied >= options.periods) return student.part_time ? rates.finishing_part_time : rates.finishing;
  if (studied < options.periods - 1 || options.periods < 3 || student.part_time) return 0;
  const bool is_able = student.ambition > options.rates.ambitious || student.pace < 0;
  return is_able ? rates.finishing_early_able : rates.finishing_early;
}

/// Of those who neither leave nor finish: once, and with a period left to come back in.
double chance_to_pause(int period, const SyntheticOptions& options, const SyntheticStudent& student) {
  const CalendarRates& rates = options.calendar;
  if (student.leave_period > 0 || period + 2 > options.last_period()) return 0;
  double rate = rates.pausing;
  if (student.commuter) rate *= rates.pausing_commuter;
  if (student.part_time) rate *= rates.pausing_part_time;
  return std::min(rate, 1.0);
}

}  // namespace

int courses_in(const SyntheticStudent& student, int period) {
  return static_cast<int>(std::ranges::count(student.enrollments, period, &SyntheticEnrollment::period));
}

void set_chances(SyntheticYear& year, const SyntheticOptions& options, const SyntheticCalendar& calendar,
                 const SyntheticStudent& student, int studied) {
  const double leaving = chance_to_leave(year, options, calendar, student);
  const double finishing = chance_to_finish(year.period, options, student, studied);
  year.finishing = (1 - leaving) * finishing;
  if (year.period == options.last_period()) {
    year.leaving = 1 - year.finishing;
    return;
  }
  const double pausing = chance_to_pause(year.period, options, student);
  year.leaving = leaving;
  year.pausing = (1 - leaving) * (1 - finishing) * pausing;
  year.returning = (1 - leaving) * (1 - finishing) * (1 - pausing);
}

YearEnd draw_end(const SyntheticYear& year, RandomStream& stream) {
  double left = stream.uniform();
  if ((left -= year.returning) < 0) return YearEnd::returns;
  if ((left -= year.pausing) < 0) return YearEnd::pauses;
  if (left - year.finishing < 0) return YearEnd::finishes;
  return YearEnd::leaves;
}

double chance_of_no_spring(const SyntheticYear& year, const SyntheticOptions& options, int studied) {
  if (year.end == YearEnd::leaves) return options.rates.drop_out_midyear;
  if (year.end != YearEnd::finishes) return options.calendar.spring_away;
  return studied > options.periods ? options.calendar.finishing_midyear : 0;
}

std::vector<SyntheticEnrollment> recorded_in_part(const CalendarRates& rates, const SyntheticStudent& student,
                                                  int period, RandomStream& stream) {
  const bool enters = period == student.entry_period;
  const bool is_registered = enters || stream.bernoulli(rates.registered);
  std::vector<SyntheticEnrollment> recorded;
  for (SyntheticEnrollment row : student.enrollments) {
    if (row.period == period) {
      row.grade = SyntheticGrade::none_yet;
      if (!is_registered || !stream.bernoulli(rates.recorded_rows)) continue;
    }
    recorded.push_back(row);
  }
  if (enters && recorded.empty() && !student.enrollments.empty()) {
    recorded.push_back(student.enrollments.front());
    recorded.back().grade = SyntheticGrade::none_yet;
  }
  return recorded;
}

}  // namespace desirepath::inline simulation
