// How far the enrollments of a coming year lie from what earlier years let expect, beyond chance.
#pragma once

#include <cstdint>
#include <optional>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline models {

struct YearSpread {
  /// Standard deviation of a course's takers from year to year, as a share of the expected number: the smallest with
  /// which 95 % of the forecasts of every earlier year would have held.
  double share = 0;
  std::int64_t forecasts = 0;   // a course in a period of a year
  std::int32_t last_entry = 0;  // last academic year with at least a third of the most entrants of a year
};

/// Forecasts each year of the cohort from the years before it: the share of a period's students who took a course,
/// times the students of the year. No model is asked, since one that was trained on all the years knows the year it
/// would forecast. Courses of at least ten expected takers count. Nothing without a calendar, or with fewer than
/// twenty such forecasts.
std::optional<YearSpread> spread_between_years(const Cohort& cohort);

/// Variance of a sum of takers, from that of the students' own choices: a model of finitely many students is itself a
/// draw, and its expected sum for `asked` students varies as a share asked / trained of theirs does.
double variance_with_training(double variance, double asked, double trained);

}  // namespace desirepath::inline models
