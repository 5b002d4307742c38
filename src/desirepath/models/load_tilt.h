// Loads as students have them: how many courses they take in a period.
//
// Real loads vary less than those that any mixture draws, and another mixture on top only adds variance. So a model is
// tilted as a whole: P'(x) = P(x) l_D(n_D) h_|S|(sum_t n_t) prod_t g_t(n_t) / Z, where n_t is the number of courses in
// period t and t runs over the periods S in which the student is enrolled; h, from two periods on, keeps the loads of a
// student as alike as they are; l is a factor of the load of the last period D of those who leave, who take less in it
// than those who stay. Z is the mean of the factors over the model's own draws with the same last period D: every (S,
// D) stays as probable as it was. docs/models/hidden_tree.md.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "desirepath/core/archive.h"
#include "desirepath/core/types.h"

namespace desirepath::inline models {

/// Periods, bit t for period t (from 0).
using PeriodSet = std::uint32_t;
constexpr bool has_period(PeriodSet periods, Id period) {
  return (periods >> period & 1U) != 0;
}
/// Periods 0 .. last.
constexpr PeriodSet periods_until(Id last) {
  return static_cast<PeriodSet>((std::uint64_t{1} << (last + 1)) - 1);
}

/// Loads with one pattern are comparable: of which periods they are, and what may be the last period of enrollment.
struct LoadPattern {
  PeriodSet enrolled = 0;
  PeriodSet last = 0;
  bool operator<(const LoadPattern& other) const {
    return std::pair(enrolled, last) < std::pair(other.enrolled, other.last);
  }
};

/// Of a student, or of a draw.
struct Loads {
  LoadPattern pattern;
  std::vector<Id> courses;  // by period; 0 where not enrolled
  double weight = 1;
};

/// Where it is not settled which period is the last.
inline constexpr Id any_last_period = -1;
/// The only possible last period of a pattern.
constexpr Id last_period_of(const LoadPattern& pattern) {
  return std::has_single_bit(pattern.last) ? std::countr_zero(pattern.last) : any_last_period;
}

/// There are factors of the load of each period (terms 0 .. periods - 1), of all courses together for students enrolled
/// in 2, 3 .. periods (the terms after these), and of the load of the last period of those who leave after it (as many
/// again: nobody leaves after the last period of all).
constexpr Id load_term_count(Id periods) {
  return periods + 2 * std::max(0, periods - 1);
}
/// Whether students enrolled in these periods, and last in this one, have the term.
constexpr bool has_load_term(PeriodSet enrolled, Id last, Id term, Id periods) {
  if (term < periods) return has_period(enrolled, term);
  if (term < 2 * periods - 1) return std::popcount(enrolled) == term - periods + 2;
  return last == term - (2 * periods - 1) && has_period(enrolled, last);
}
/// visit(term, number of courses) for the terms of these periods, in ascending order.
template <class Visit>
void for_each_load(PeriodSet enrolled, Id last, std::span<const Id> courses, Visit visit) {
  const auto periods = static_cast<Id>(courses.size());
  Id all = 0;
  for (Id t = 0; t < periods; ++t) {
    if (!has_period(enrolled, t)) continue;
    visit(t, courses[static_cast<std::size_t>(t)]);
    all += courses[static_cast<std::size_t>(t)];
  }
  const int count = std::popcount(enrolled);
  if (count >= 2) visit(periods + count - 2, all);
  if (last >= 0 && last + 1 < periods && has_period(enrolled, last))
    visit(2 * periods - 1 + last, courses[static_cast<std::size_t>(last)]);
}

class LoadTilt {
 public:
  /// Logs of the factors by term: of 0, 1 .. courses; the last also holds for any more. draws: of the model itself,
  /// each with its own last period, enrolled until then.
  LoadTilt(std::vector<Vector> log_factors, std::span<const Loads> draws);

  Id period_count() const { return static_cast<Id>(log_factors_.size() + 2) / 3; }
  const std::vector<Vector>& log_factors() const { return log_factors_; }
  /// Factors that differ from those of the load before.
  std::int64_t parameter_count() const;
  /// log of the product of all factors of students enrolled in these periods, and last in this one; of any_last_period
  /// without that of leavers.
  double log_product(PeriodSet enrolled, Id last, std::span<const Id> courses) const;
  /// log Z of students enrolled in these periods whose last period is this one.
  double log_normaliser(PeriodSet enrolled, Id last) const;
  /// How much more often than by the trees a student whose last period is this one has this load in a period: log of
  /// the ratio over the draws, all factors and all periods until the last one together.
  double log_load_ratio(Id period, Id last, Id courses) const;
  /// log-weight of a draw that completes the loads of `known` periods to those of `enrolled` ones; the mean weight is
  /// about 1 for every last period.
  double log_completion_weight(PeriodSet known, PeriodSet enrolled, Id last, std::span<const Id> courses) const {
    return log_product(enrolled, last, courses) - log_normaliser(enrolled, last) - log_product(known, last, courses) +
           log_normaliser(known, last);
  }
  /// What this does not exceed in 99.9 % of the draws with one of these last periods. enrolled: of all periods until
  /// the last one, only these count.
  double log_weight_bound(PeriodSet known, PeriodSet enrolled, PeriodSet last) const;

  /// Arrays whose names begin with "load.".
  void save(ArchiveWriter& archive) const;
  static bool is_in(const ArchiveReader& archive);
  /// Throws ArchiveError where it is not a tilt of a model of so many periods.
  static LoadTilt load(const ArchiveReader& archive, Id periods);

 private:
  std::vector<Vector> log_factors_;
  std::vector<Loads> draws_;  // all different
  /// Found when first asked for; copies have the same.
  struct Normalisers {
    std::mutex mutex;
    std::map<std::pair<PeriodSet, Id>, double> known;
    std::map<std::pair<Id, Id>, Vector> ratios;  // of a period and a last one, by load
  };
  std::shared_ptr<Normalisers> normalisers_ = std::make_shared<Normalisers>();
};

/// Each pattern and loads once, with the weight of all like it.
std::vector<Loads> distinct_loads(std::span<const Loads> all);

}  // namespace desirepath::inline models
