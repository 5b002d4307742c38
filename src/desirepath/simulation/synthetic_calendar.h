// The calendar of edition 3 of the synthetic university: how one academic year differs from another.
//
// Years count from 0, the first in the file. A year outside the file is like the nearest one in it.
#pragma once

#include <algorithm>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"
#include "desirepath/simulation/synthetic_options.h"

namespace desirepath::inline simulation {

struct SyntheticCatalog;

/// When a course is offered, and how popular it then is.
struct CourseCalendar {
  int first_year = 0;  // 0: older than the file
  int last_year = -1;  // -1: still offered when the file ends
  bool every_second_year = false;
  std::vector<double> popularity;  // by year: factor on its weight among electives; 0: not offered
};

/// Students who return at the same rates, all else equal.
struct StudentKind {
  bool commuter = false;
  bool first_generation = false;
  bool part_time = false;
};

struct SyntheticCalendar {
  int years = 0;                             // the last is unfinished
  std::vector<double> entrants;              // by year: their number as a multiple of the first year's
  std::vector<double> leaving;               // by year: factor on the chance to leave
  std::vector<double> leaving_of_commuters;  // by year: a further factor
  std::vector<std::vector<double>> appeal;   // by subject and year: factor on its appeal
  std::vector<CourseCalendar> courses;       // by course

  int in_file(int year) const { return std::clamp(year, 0, years - 1); }
  double popularity(Id course, int year) const {
    return courses[static_cast<std::size_t>(course)].popularity[static_cast<std::size_t>(in_file(year))];
  }
  bool is_offered(Id course, int year) const { return popularity(course, year) > 0; }
  bool is_unfinished(int year) const { return year == years - 1; }
};

/// Chance that an engaged student of middling ambition leaves after a period that was spent in the year.
double leaving_rate(const CalendarRates& rates, const SyntheticCalendar& calendar, const StudentKind& kind, int period,
                    int year);

/// For a catalog that has everything else: courses that are core, special or part of a planted pair, and those that
/// others build on, are offered in every year.
SyntheticCalendar make_synthetic_calendar(const SyntheticOptions& options, const SyntheticCatalog& catalog,
                                          const RandomStream& stream);

}  // namespace desirepath::inline simulation
