#include "desirepath/simulation/synthetic_options.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline simulation {

namespace {

using Rates = SyntheticRates;

constexpr NamedRate share(std::string_view name, double Rates::*value) {
  return {name, value, 0, 1};
}
constexpr NamedRate factor(std::string_view name, double Rates::*value) {
  return {name, value, 0, 10};
}
constexpr NamedRate amount(std::string_view name, double Rates::*value) {
  return {name, value, -20, 20};
}

constexpr auto named_rates = std::to_array<NamedRate>({
    share("intake_growth", &Rates::intake_growth),
    share("commuter_share", &Rates::commuter_share),
    share("first_generation_campus", &Rates::first_generation_campus),
    share("first_generation_commuter", &Rates::first_generation_commuter),
    share("part_time_campus", &Rates::part_time_campus),
    share("part_time_commuter", &Rates::part_time_commuter),
    share("late_entrant_share", &Rates::late_entrant_share),
    share("late_entrant_third_period", &Rates::late_entrant_third_period),
    amount("ambition_first_generation", &Rates::ambition_first_generation),
    factor("first_generation_health_tilt", &Rates::first_generation_health_tilt),
    factor("commuter_business_tilt", &Rates::commuter_business_tilt),
    {"courses_a_year", &Rates::courses_a_year, 1, 20},
    amount("load_by_ambition", &Rates::load_by_ambition),
    amount("load_noise", &Rates::load_noise),
    amount("commuter_load", &Rates::commuter_load),
    share("part_time_load", &Rates::part_time_load),
    share("reduced_year_share", &Rates::reduced_year_share),
    share("catalog_share", &Rates::catalog_share),
    share("summer_campus", &Rates::summer_campus),
    share("summer_commuter", &Rates::summer_commuter),
    share("summer_second_course", &Rates::summer_second_course),
    share("required_share_of_term", &Rates::required_share_of_term),
    share("pace_early", &Rates::pace_early),
    share("pace_late", &Rates::pace_late),
    share("pace_shift", &Rates::pace_shift),
    share("early_first_concentration", &Rates::early_first_concentration),
    share("concentration_course", &Rates::concentration_course),
    share("concentration_course_ambitious", &Rates::concentration_course_ambitious),
    amount("ambitious", &Rates::ambitious),
    share("second_major", &Rates::second_major),
    share("second_major_ambitious", &Rates::second_major_ambitious),
    share("switch_major", &Rates::switch_major),
    share("switch_after_first", &Rates::switch_after_first),
    share("enthusiast_share", &Rates::enthusiast_share),
    amount("enthusiast_load", &Rates::enthusiast_load),
    share("writing_share", &Rates::writing_share),
    share("quantitative_share", &Rates::quantitative_share),
    share("sequence_first", &Rates::sequence_first),
    share("sequence_second", &Rates::sequence_second),
    share("sequence_goes_on", &Rates::sequence_goes_on),
    share("depth_elective", &Rates::depth_elective),
    share("interest_share", &Rates::interest_share),
    share("interest_elective", &Rates::interest_elective),
    share("school_elective", &Rates::school_elective),
    share("company_share", &Rates::company_share),
    share("premedical", &Rates::premedical),
    share("premedical_sciences", &Rates::premedical_sciences),
    share("prelaw", &Rates::prelaw),
    share("detour_given_up", &Rates::detour_given_up),
    share("detour_last_concentration", &Rates::detour_last_concentration),
    factor("drop_out_commuter", &Rates::drop_out_commuter),
    factor("drop_out_first_generation", &Rates::drop_out_first_generation),
    share("drop_out_midyear", &Rates::drop_out_midyear),
    share("leave_of_absence", &Rates::leave_of_absence),
    share("withdrawal", &Rates::withdrawal),
    share("failure", &Rates::failure),
    factor("failure_low_ambition", &Rates::failure_low_ambition),
    factor("failure_ambitious", &Rates::failure_ambitious),
    factor("failure_without_tacit", &Rates::failure_without_tacit),
    share("repeat_required", &Rates::repeat_required),
    share("repeat_elective", &Rates::repeat_elective),
    share("tacit_followed", &Rates::tacit_followed),
    share("conflict_share_of_group", &Rates::conflict_share_of_group),
});

using Calendar = CalendarRates;

constexpr RateOf<Calendar> calendar_share(std::string_view name, double Calendar::*value) {
  return {name, value, 0, 1};
}
constexpr RateOf<Calendar> calendar_factor(std::string_view name, double Calendar::*value) {
  return {name, value, 0, 10};
}
/// A factor of 1 + spread x a draw must stay above 0; draws reach 3.47.
constexpr RateOf<Calendar> spread(std::string_view name, double Calendar::*value) {
  return {name, value, 0, 0.28};
}

constexpr auto named_calendar_rates = std::to_array<RateOf<Calendar>>({
    spread("entrants_spread", &Calendar::entrants_spread),
    calendar_share("entrants_memory", &Calendar::entrants_memory),
    calendar_share("turnover", &Calendar::turnover),
    calendar_share("short_lived", &Calendar::short_lived),
    calendar_share("every_second_year", &Calendar::every_second_year),
    calendar_factor("first_offering", &Calendar::first_offering),
    calendar_factor("last_offering", &Calendar::last_offering),
    {"popularity_trend", &Calendar::popularity_trend, 0, 0.1},
    {"popularity_walk", &Calendar::popularity_walk, 0, 0.18},
    spread("popularity_passing", &Calendar::popularity_passing),
    spread("appeal_walk", &Calendar::appeal_walk),
    spread("appeal_passing", &Calendar::appeal_passing),
    calendar_factor("leaving_commuter", &Calendar::leaving_commuter),
    calendar_factor("leaving_first_generation", &Calendar::leaving_first_generation),
    calendar_factor("leaving_part_time", &Calendar::leaving_part_time),
    calendar_factor("leaving_ambitious", &Calendar::leaving_ambitious),
    calendar_factor("leaving_low_ambition", &Calendar::leaving_low_ambition),
    calendar_factor("leaving_disengaged", &Calendar::leaving_disengaged),
    calendar_factor("leaving_failed", &Calendar::leaving_failed),
    spread("leaving_spread", &Calendar::leaving_spread),
    calendar_share("leaving_memory", &Calendar::leaving_memory),
    spread("leaving_spread_commuter", &Calendar::leaving_spread_commuter),
    calendar_share("most_leaving", &Calendar::most_leaving),
    calendar_share("disengaged", &Calendar::disengaged),
    calendar_share("disengaged_load", &Calendar::disengaged_load),
    calendar_factor("disengaged_failure", &Calendar::disengaged_failure),
    {"pausing", &Calendar::pausing, 0, 0.1},
    calendar_factor("pausing_commuter", &Calendar::pausing_commuter),
    calendar_factor("pausing_part_time", &Calendar::pausing_part_time),
    calendar_share("pausing_two_years", &Calendar::pausing_two_years),
    calendar_share("spring_away", &Calendar::spring_away),
    calendar_share("finishing_early", &Calendar::finishing_early),
    calendar_share("finishing_early_able", &Calendar::finishing_early_able),
    calendar_share("finishing", &Calendar::finishing),
    calendar_share("finishing_part_time", &Calendar::finishing_part_time),
    calendar_share("finishing_last", &Calendar::finishing_last),
    calendar_share("finishing_midyear", &Calendar::finishing_midyear),
    calendar_share("extra_year_load", &Calendar::extra_year_load),
    calendar_share("registered", &Calendar::registered),
    calendar_share("recorded_rows", &Calendar::recorded_rows),
});

bool lies_in(double value, double least, double most) {
  return value >= least && value <= most;  // NaN does not
}

}  // namespace

std::span<const NamedRate> all_rates() {
  return named_rates;
}

std::span<const RateOf<CalendarRates>> all_calendar_rates() {
  return named_calendar_rates;
}

void SyntheticOptions::validate() const {
  check_settings(*this);
  if (years && !has_calendar())
    throw OptionError(concat(setting_name("years"), " belongs to edition 3; add ", setting_name("edition"), " 3"));
}

bool SyntheticOptions::is_possible() const {
  const bool rates_are = std::ranges::all_of(
      named_rates, [&](const NamedRate& rate) { return lies_in(rates.*rate.value, rate.least, rate.most); });
  const bool calendar_rates_are = std::ranges::all_of(named_calendar_rates, [&](const RateOf<Calendar>& rate) {
    return lies_in(calendar.*rate.value, rate.least, rate.most);
  });
  const bool leavings_are = std::ranges::all_of(calendar.leaving, [](double rate) { return lies_in(rate, 0, 1); });
  const bool drop_outs_are = std::ranges::all_of(rates.drop_out, [](double rate) { return lies_in(rate, 0, 1); });
  return rates_are && calendar_rates_are && leavings_are && drop_outs_are && rates.pace_early + rates.pace_late <= 1 &&
         lies_in(rates.detour_depth_delay, 0, 8) && lies_in(rates.conflict_delay, 0, 8) && lies_in(edition, 1, 3) &&
         lies_in(rates.taken_again_every, 1, 100) && lies_in(rates.taken_again, 0, 1) && lies_in(cohorts, 1, 100) &&
         lies_in(first_year, 1000, 9000);  // terms are labelled with four digits
}

}  // namespace desirepath::inline simulation
