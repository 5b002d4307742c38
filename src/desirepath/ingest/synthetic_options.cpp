#include "desirepath/ingest/synthetic_options.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {

struct Bounds {
  double low;
  double high;
};
constexpr Bounds share = {0, 1};
constexpr Bounds factor = {0, 10};
constexpr Bounds amount = {-20, 20};
constexpr Bounds load = {1, 20};

struct BoundedRate {
  RateName rate;
  Bounds bounds;
};

constexpr BoundedRate bounded(std::string_view name, double SyntheticRates::*value, Bounds bounds) {
  return {{name, value}, bounds};
}

constexpr auto bounded_rates = std::to_array<BoundedRate>({
    bounded("intake_growth", &SyntheticRates::intake_growth, share),
    bounded("commuter_share", &SyntheticRates::commuter_share, share),
    bounded("first_generation_campus", &SyntheticRates::first_generation_campus, share),
    bounded("first_generation_commuter", &SyntheticRates::first_generation_commuter, share),
    bounded("part_time_campus", &SyntheticRates::part_time_campus, share),
    bounded("part_time_commuter", &SyntheticRates::part_time_commuter, share),
    bounded("late_entrant_share", &SyntheticRates::late_entrant_share, share),
    bounded("late_entrant_third_period", &SyntheticRates::late_entrant_third_period, share),
    bounded("ambition_first_generation", &SyntheticRates::ambition_first_generation, amount),
    bounded("first_generation_health_tilt", &SyntheticRates::first_generation_health_tilt, factor),
    bounded("commuter_business_tilt", &SyntheticRates::commuter_business_tilt, factor),
    bounded("courses_a_year", &SyntheticRates::courses_a_year, load),
    bounded("load_by_ambition", &SyntheticRates::load_by_ambition, amount),
    bounded("load_noise", &SyntheticRates::load_noise, amount),
    bounded("commuter_load", &SyntheticRates::commuter_load, amount),
    bounded("part_time_load", &SyntheticRates::part_time_load, share),
    bounded("reduced_year_share", &SyntheticRates::reduced_year_share, share),
    bounded("catalog_share", &SyntheticRates::catalog_share, share),
    bounded("summer_campus", &SyntheticRates::summer_campus, share),
    bounded("summer_commuter", &SyntheticRates::summer_commuter, share),
    bounded("summer_second_course", &SyntheticRates::summer_second_course, share),
    bounded("required_share_of_term", &SyntheticRates::required_share_of_term, share),
    bounded("pace_early", &SyntheticRates::pace_early, share),
    bounded("pace_late", &SyntheticRates::pace_late, share),
    bounded("pace_shift", &SyntheticRates::pace_shift, share),
    bounded("early_first_concentration", &SyntheticRates::early_first_concentration, share),
    bounded("concentration_course", &SyntheticRates::concentration_course, share),
    bounded("concentration_course_ambitious", &SyntheticRates::concentration_course_ambitious, share),
    bounded("ambitious", &SyntheticRates::ambitious, amount),
    bounded("second_major", &SyntheticRates::second_major, share),
    bounded("second_major_ambitious", &SyntheticRates::second_major_ambitious, share),
    bounded("switch_major", &SyntheticRates::switch_major, share),
    bounded("switch_after_first", &SyntheticRates::switch_after_first, share),
    bounded("enthusiast_share", &SyntheticRates::enthusiast_share, share),
    bounded("enthusiast_load", &SyntheticRates::enthusiast_load, amount),
    bounded("writing_share", &SyntheticRates::writing_share, share),
    bounded("quantitative_share", &SyntheticRates::quantitative_share, share),
    bounded("sequence_first", &SyntheticRates::sequence_first, share),
    bounded("sequence_second", &SyntheticRates::sequence_second, share),
    bounded("sequence_goes_on", &SyntheticRates::sequence_goes_on, share),
    bounded("depth_elective", &SyntheticRates::depth_elective, share),
    bounded("interest_share", &SyntheticRates::interest_share, share),
    bounded("interest_elective", &SyntheticRates::interest_elective, share),
    bounded("school_elective", &SyntheticRates::school_elective, share),
    bounded("company_share", &SyntheticRates::company_share, share),
    bounded("premedical", &SyntheticRates::premedical, share),
    bounded("premedical_sciences", &SyntheticRates::premedical_sciences, share),
    bounded("prelaw", &SyntheticRates::prelaw, share),
    bounded("detour_given_up", &SyntheticRates::detour_given_up, share),
    bounded("detour_last_concentration", &SyntheticRates::detour_last_concentration, share),
    bounded("drop_out_commuter", &SyntheticRates::drop_out_commuter, factor),
    bounded("drop_out_first_generation", &SyntheticRates::drop_out_first_generation, factor),
    bounded("drop_out_midyear", &SyntheticRates::drop_out_midyear, share),
    bounded("leave_of_absence", &SyntheticRates::leave_of_absence, share),
    bounded("withdrawal", &SyntheticRates::withdrawal, share),
    bounded("failure", &SyntheticRates::failure, share),
    bounded("failure_low_ambition", &SyntheticRates::failure_low_ambition, factor),
    bounded("failure_ambitious", &SyntheticRates::failure_ambitious, factor),
    bounded("failure_without_tacit", &SyntheticRates::failure_without_tacit, factor),
    bounded("repeat_required", &SyntheticRates::repeat_required, share),
    bounded("repeat_elective", &SyntheticRates::repeat_elective, share),
    bounded("tacit_followed", &SyntheticRates::tacit_followed, share),
    bounded("conflict_share_of_group", &SyntheticRates::conflict_share_of_group, share),
});

void check_range(const char* option, std::int64_t value, std::int64_t low, std::int64_t high, const char* what) {
  if (value >= low && value <= high) return;
  throw OptionError(concat(option, " ", value, ": a synthetic university can have ", with_separators(low), " to ",
                           with_separators(high), " ", what));
}

void check_rate(std::string_view name, double value, Bounds bounds) {
  if (value >= bounds.low && value <= bounds.high) return;  // false for NaN
  throw OptionError(concat("rate ", name, " = ", shortest(value), " of the synthetic university: must lie in ",
                           shortest(bounds.low), " .. ", shortest(bounds.high)));
}

}  // namespace

std::vector<RateName> all_rates() {
  std::vector<RateName> rates;
  rates.reserve(bounded_rates.size());
  for (const BoundedRate& bounded_rate : bounded_rates)
    rates.push_back(bounded_rate.rate);
  return rates;
}

void SyntheticOptions::validate() const {
  check_range("--students", students, 1, 10'000'000, "students");
  check_range("--courses", courses, 20, 5000, "courses");
  check_range("--periods", periods, 1, 8, "periods (years)");
  check_range("--threads", threads, 0, 1024, "threads at work on it (0: as many as the machine has)");
  check_range("cohorts", cohorts, 1, 100, "entry cohorts");
  if (first_year < 1000 || first_year > 9000) {
    throw OptionError(concat("first year ", first_year, ": terms are labelled with four digits; give 1000 to 9000"));
  }
  for (const BoundedRate& bounded_rate : bounded_rates) {
    check_rate(bounded_rate.rate.name, rates.*bounded_rate.rate.value, bounded_rate.bounds);
  }
  for (const double rate : rates.drop_out)
    check_rate("drop_out", rate, share);
  check_rate("pace_early + pace_late", rates.pace_early + rates.pace_late, share);
  check_rate("detour_depth_delay", rates.detour_depth_delay, {0, 8});
  check_rate("conflict_delay", rates.conflict_delay, {0, 8});
}

}  // namespace desirepath::inline ingest
