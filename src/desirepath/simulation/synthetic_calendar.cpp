#include "desirepath/simulation/synthetic_calendar.h"

#include <cmath>
#include <string>

#include "desirepath/simulation/synthetic_catalog.h"
#include "desirepath/simulation/weight_table.h"

namespace desirepath::inline simulation {

namespace {

/// At most this share of the courses that may begin or end do so while the file lasts.
constexpr double most_changing = 2.0 / 3;
/// Years in which a subject's appeal reaches what its growth says: as between the 18 cohorts of edition 1.
constexpr double growth_years = 17;
constexpr double least_popularity = 0.25, most_popularity = 4;

/// Four decimals, so that truth.json holds the very number.
double rounded(double factor) {
  return std::floor(10000 * factor + 0.5) / 10000;
}

/// 1 + a deviation of which a part is left in the next year.
std::vector<double> yearly_factors(int years, double spread, double memory, RandomStream stream) {
  std::vector<double> factors;
  double deviation = 0;
  for (int year = 0; year < years; ++year) {
    const double news = spread * bell(stream);
    deviation = year == 0 ? news : memory * deviation + std::sqrt(1 - memory * memory) * news;
    factors.push_back(rounded(std::max(0.4, 1 + deviation)));
  }
  return factors;
}

/// A walk with a trend, times what holds for one year alone.
std::vector<double> walking_factors(int years, double trend, double step, double passing, RandomStream stream) {
  std::vector<double> factors;
  double level = 1;
  for (int year = 0; year < years; ++year) {
    const double change = step * bell(stream);
    if (year > 0) level = std::clamp(level * (1 + trend + change), least_popularity, most_popularity);
    factors.push_back(level * (1 + passing * bell(stream)));
  }
  return factors;
}

/// Courses that may come and go: nothing is built on them, no planted fact rests on them, no major requires them.
std::vector<Id> courses_that_may_change(const SyntheticCatalog& catalog) {
  std::vector<bool> may(catalog.courses.size(), true);
  const auto keep = [&](Id course) {
    if (course >= 0) may[static_cast<std::size_t>(course)] = false;
  };
  for (std::size_t id = 0; id < catalog.courses.size(); ++id) {
    const SyntheticCourse& course = catalog.courses[id];
    if (course.core || course.tacit_prerequisite >= 0) may[id] = false;
    keep(course.tacit_prerequisite);
    for (const Id prerequisite : course.prerequisites)
      keep(prerequisite);
  }
  keep(catalog.writing_course);
  if (catalog.renamed) keep(catalog.renamed->course);
  std::vector<Id> courses;
  for (std::size_t id = 0; id < may.size(); ++id) {
    if (may[id]) courses.push_back(static_cast<Id>(id));
  }
  return courses;
}

/// Some courses are offered every second year; of the others as many begin in each year as end before it.
void plant_turnover(SyntheticCalendar& calendar, const SyntheticOptions& options, const SyntheticCatalog& catalog,
                    RandomStream stream) {
  const CalendarRates& rates = options.calendar;
  std::vector<Id> courses;
  for (const Id course : courses_that_may_change(catalog)) {
    const bool skips_years = catalog.course(course).level >= 3 && stream.bernoulli(rates.every_second_year);
    calendar.courses[static_cast<std::size_t>(course)].every_second_year = skips_years;
    if (!skips_years) courses.push_back(course);
  }
  shuffle(courses, stream);
  const int last = calendar.years - 1;
  const double a_year =
      std::min(rates.turnover * options.courses, most_changing * static_cast<double>(courses.size()) / (2 * last));
  std::size_t next = 0;
  double begun = 0, ended = 0;
  for (int year = 1; year <= last; ++year) {
    for (; begun + 1 <= a_year * year && next < courses.size(); ++begun) {
      CourseCalendar& course = calendar.courses[static_cast<std::size_t>(courses[next++])];
      course.first_year = year;
      const bool is_short_lived = stream.bernoulli(rates.short_lived);
      const int end = year + 1 + static_cast<int>(stream.below(3));
      if (is_short_lived && end < last) course.last_year = end;
    }
    for (; ended + 1 <= a_year * year && next < courses.size(); ++ended)
      calendar.courses[static_cast<std::size_t>(courses[next++])].last_year = year - 1;
  }
}

void plant_popularity(CourseCalendar& course, const CalendarRates& rates, int years, const RandomStream& stream) {
  RandomStream own = stream.child("trend");
  const double trend = rates.popularity_trend * bell(own);
  const auto skipped = static_cast<int>(own.below(2));  // the years it skips, where it does
  course.popularity =
      walking_factors(years, trend, rates.popularity_walk, rates.popularity_passing, stream.child("walk"));
  for (int year = 0; year < years; ++year) {
    double& factor = course.popularity[static_cast<std::size_t>(year)];
    if (year > 0 && year == course.first_year) factor *= rates.first_offering;
    if (year == course.last_year) factor *= rates.last_offering;
    const bool is_over = course.last_year >= 0 && year > course.last_year;
    const bool is_skipped = course.every_second_year && year % 2 == skipped;
    factor = year < course.first_year || is_over || is_skipped ? 0 : rounded(factor);
  }
}

}  // namespace

double leaving_rate(const CalendarRates& rates, const SyntheticCalendar& calendar, const StudentKind& kind, int period,
                    int year) {
  const auto at = static_cast<std::size_t>(calendar.in_file(year));
  double rate = rates.leaving.at(std::min(static_cast<std::size_t>(period) - 1, rates.leaving.size() - 1));
  rate *= calendar.leaving[at];
  if (kind.commuter) rate *= rates.leaving_commuter * calendar.leaving_of_commuters[at];
  if (kind.first_generation) rate *= rates.leaving_first_generation;
  if (kind.part_time) rate *= rates.leaving_part_time;
  return std::min(rate, rates.most_leaving);
}

SyntheticCalendar make_synthetic_calendar(const SyntheticOptions& options, const SyntheticCatalog& catalog,
                                          const RandomStream& stream) {
  const CalendarRates& rates = options.calendar;
  SyntheticCalendar calendar;
  const int years = calendar.years = options.calendar_years();
  calendar.entrants = yearly_factors(years, rates.entrants_spread, rates.entrants_memory, stream.child("entrants"));
  double growth = 1;
  for (double& entrants : calendar.entrants) {
    entrants = rounded(entrants * growth);
    growth *= 1 + options.rates.intake_growth;
  }
  calendar.leaving = yearly_factors(years, rates.leaving_spread, rates.leaving_memory, stream.child("leaving"));
  calendar.leaving_of_commuters =
      yearly_factors(years, rates.leaving_spread_commuter, rates.leaving_memory, stream.child("commuters"));
  for (std::size_t subject = 0; subject < catalog.subjects.size(); ++subject) {
    std::vector<double> appeal =
        walking_factors(years, 0, rates.appeal_walk, rates.appeal_passing, stream.child("appeal").child(subject));
    const double growth_a_year = (catalog.subjects[subject].growth - 1) / growth_years;
    for (std::size_t year = 0; year < appeal.size(); ++year) {
      const double drift = std::max(0.1, 1 + growth_a_year * static_cast<double>(year));
      appeal[year] = rounded(appeal[year] * drift);
    }
    calendar.appeal.push_back(std::move(appeal));
  }
  calendar.courses.resize(catalog.courses.size());
  plant_turnover(calendar, options, catalog, stream.child("turnover"));
  for (std::size_t course = 0; course < calendar.courses.size(); ++course)
    plant_popularity(calendar.courses[course], rates, years, stream.child("popularity").child(course));
  return calendar;
}

}  // namespace desirepath::inline simulation
