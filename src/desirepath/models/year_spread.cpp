#include "desirepath/models/year_spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "desirepath/core/random_stream.h"
#include "desirepath/models/earlier_periods.h"

namespace desirepath::inline models {

namespace {

constexpr std::int64_t most_forecast_students = 4000, students_per_block = 2048;
constexpr double least_expected = 10, least_forecasts = 20, covered = 0.95, deviations = 1.96;

/// Of one year and period, course by course.
struct YearSums {
  explicit YearSums(Index courses) : taken(Vector::Zero(courses)), expected(taken), variance(taken) {}

  Vector taken, expected, variance;
  double students = 0;
};

std::vector<std::int64_t> some_of(const Cohort& cohort) {
  std::vector<std::int64_t> students(static_cast<std::size_t>(cohort.student_count()));
  std::iota(students.begin(), students.end(), 0);
  if (cohort.student_count() > most_forecast_students) {
    RandomStream stream(1);
    shuffle(students, stream);
    students.resize(static_cast<std::size_t>(most_forecast_students));
    std::ranges::sort(students);
  }
  return students;
}

/// False where the model's answers are sampled.
bool add_period(const Model& model, const Cohort& cohort, const EvidenceBatch& record,
                std::span<const std::int64_t> students, Id period, const Compute& compute,
                std::map<std::int32_t, YearSums>& years) {
  const Schema& schema = model.schema();
  std::vector<Id> asked;
  for (Id c = 0; c < schema.course_count(); ++c)
    asked.push_back(schema.bit(period, c));
  const Estimates found = model.marginals(known_before(model, record, students, period), asked, compute);
  if (!found.is_exact()) return false;
  for (std::size_t i = 0; i < students.size(); ++i) {
    YearSums& sums = years.try_emplace(cohort.academic_year(students[i], period), asked.size()).first->second;
    const auto share = found.value.row(static_cast<Index>(i)).transpose().array();
    sums.expected.array() += share;
    sums.variance.array() += share * (1 - share);
    for (const Id bit : cohort.bits(students[i], period))
      sums.taken[schema.course_of(bit)] += 1;
    ++sums.students;
  }
  return true;
}

/// For each forecast of enough takers, the least share that would have covered it.
void add_needed(const std::map<std::int32_t, YearSums>& years, std::vector<double>& needed) {
  if (years.empty()) return;
  constexpr double prior = 5;  // takers as expected, so that a course that nobody took before is not ruled out
  YearSums before(years.begin()->second.taken.size());
  for (const auto& [year, now] : years) {
    for (Index c = 0; before.students > 0 && c < now.taken.size(); ++c) {
      const double correction = (before.taken[c] + prior) / (before.expected[c] + prior);
      const double expected = correction * now.expected[c];
      if (expected < least_expected) continue;
      const double variance = variance_with_training(correction * now.variance[c], now.students, before.students);
      const double miss = (now.taken[c] - expected) / deviations;
      needed.push_back(std::sqrt(std::max(0.0, miss * miss - variance)) / expected);
    }
    before.taken += now.taken;
    before.expected += now.expected;
    before.students += now.students;
  }
}

}  // namespace

std::optional<YearSpread> spread_between_years(const Model& model, const Cohort& cohort, const Compute& compute) {
  if (!cohort.has_calendar()) return std::nullopt;
  const EvidenceBatch record = EvidenceBatch::of(cohort);
  const std::vector<std::int64_t> chosen = some_of(cohort);
  std::vector<double> needed;
  for (Id t = 1; t < model.schema().period_count(); ++t) {
    std::vector<std::int64_t> enrolled;
    std::ranges::copy_if(chosen, std::back_inserter(enrolled),
                         [&](std::int64_t s) { return cohort.enrolled(s, t) && cohort.academic_year(s, t) >= 0; });
    std::map<std::int32_t, YearSums> years;
    for (std::size_t begin = 0; begin < enrolled.size(); begin += students_per_block) {
      const auto block =
          std::span(enrolled).subspan(begin, std::min<std::size_t>(students_per_block, enrolled.size() - begin));
      if (!add_period(model, cohort, record, block, t, compute, years)) return std::nullopt;
    }
    add_needed(years, needed);
  }
  if (static_cast<double>(needed.size()) < least_forecasts) return std::nullopt;
  const auto at = static_cast<std::ptrdiff_t>(std::ceil(covered * static_cast<double>(needed.size()))) - 1;
  std::ranges::nth_element(needed, needed.begin() + at);
  YearSpread spread{needed[static_cast<std::size_t>(at)], std::ssize(needed), -1};
  // A few students may be seen late, after the last whole year of entrants.
  constexpr double whole_year = 1.0 / 3;
  std::map<std::int32_t, double> entrants;
  double most = 0;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    most = std::max(most, ++entrants[cohort.entry_year(s)]);
  for (const auto& [year, count] : entrants) {
    if (count >= whole_year * most) spread.last_entry = year;
  }
  return spread;
}

double variance_with_training(double variance, double asked, double trained) {
  return trained > 0 ? variance * (1 + asked / trained) : variance;
}

}  // namespace desirepath::inline models
