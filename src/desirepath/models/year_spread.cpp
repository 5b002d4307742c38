#include "desirepath/models/year_spread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline models {

namespace {

constexpr double least_expected = 10, covered = 0.95, deviations = 1.96;
constexpr std::size_t least_forecasts = 20, least_of_year = 10;

/// Of one period in one year, course by course.
struct YearTakers {
  explicit YearTakers(Index courses) : taken(Vector::Zero(courses)) {}

  Vector taken;
  double students = 0;
};

/// For each forecast of enough takers, the least share that would have covered it.
using NeededByYear = std::map<std::int32_t, std::vector<double>>;

/// The first academic year that is not over when the data end.
std::int32_t first_open_year(const Cohort& cohort) {
  std::int32_t first = std::numeric_limits<std::int32_t>::max();
  if (cohort.calendar().step != PeriodStep::year) return first;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const std::int32_t entry = cohort.entry_year(s);
    for (Id t = 0; entry >= 0 && t < cohort.schema().period_count(); ++t) {
      if (cohort.status(s, t) == EnrollmentStatus::not_yet) first = std::min(first, entry + t);
    }
  }
  return first;
}

std::map<std::int32_t, YearTakers> count_years(const Cohort& cohort, Id period, std::int32_t open_year) {
  const Schema& schema = cohort.schema();
  std::map<std::int32_t, YearTakers> years;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    if (!cohort.enrolled(s, period)) continue;
    const std::int32_t year = cohort.academic_year(s, period);
    if (year < 0 || year >= open_year) continue;
    YearTakers& takers = years.try_emplace(year, schema.course_count()).first->second;
    for (const Id bit : cohort.bits(s, period))
      takers.taken[schema.course_of(bit)] += 1;
    ++takers.students;
  }
  return years;
}

void add_needed(const std::map<std::int32_t, YearTakers>& years, NeededByYear& needed) {
  if (years.empty()) return;
  YearTakers before(years.begin()->second.taken.size());
  for (const auto& [year, now] : years) {
    for (Index c = 0; before.students > 0 && c < now.taken.size(); ++c) {
      const double share = before.taken[c] / before.students, expected = share * now.students;
      if (expected < least_expected) continue;
      const double variance = variance_with_training(expected * (1 - share), now.students, before.students);
      const double miss = (now.taken[c] - expected) / deviations;
      needed[year].push_back(std::sqrt(std::max(0.0, miss * miss - variance)) / expected);
    }
    before.taken += now.taken;
    before.students += now.students;
  }
}

/// The smallest value that at least `covered` of all do not exceed.
double covering(std::vector<double> values) {
  const auto at = static_cast<std::ptrdiff_t>(std::ceil(covered * static_cast<double>(values.size()))) - 1;
  std::ranges::nth_element(values, values.begin() + at);
  return values[static_cast<std::size_t>(at)];
}

/// A few students may be seen late, after the last whole year of entrants.
std::int32_t last_year_of_entrants(const Cohort& cohort) {
  constexpr double whole_year = 1.0 / 3;
  std::map<std::int32_t, double> entrants;
  double most = 0;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    most = std::max(most, ++entrants[cohort.entry_year(s)]);
  std::int32_t last = -1;
  for (const auto& [year, count] : entrants) {
    if (count >= whole_year * most) last = year;
  }
  return last;
}

}  // namespace

std::optional<YearSpread> spread_between_years(const Cohort& cohort) {
  if (!cohort.has_calendar()) return std::nullopt;
  const std::int32_t open_year = first_open_year(cohort);
  NeededByYear needed;
  for (Id t = 1; t < cohort.schema().period_count(); ++t)
    add_needed(count_years(cohort, t, open_year), needed);
  std::vector<double> all;
  for (const auto& [year, shares] : needed)
    all.insert(all.end(), shares.begin(), shares.end());
  if (all.size() < least_forecasts) return std::nullopt;
  YearSpread spread{covering(all), std::ssize(all), last_year_of_entrants(cohort)};
  // Courses of one year are off together, so a year counts as one: a coming one may be like the worst so far.
  for (const auto& [year, shares] : needed) {
    if (shares.size() >= least_of_year) spread.share = std::max(spread.share, covering(shares));
  }
  return spread;
}

double variance_with_training(double variance, double asked, double trained) {
  return trained > 0 ? variance * (1 + asked / trained) : variance;
}

}  // namespace desirepath::inline models
