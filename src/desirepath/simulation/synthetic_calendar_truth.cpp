#include "desirepath/simulation/synthetic_calendar_truth.h"

#include <nlohmann/json.hpp>

namespace desirepath::inline simulation {

namespace {

using CalendarJson = nlohmann::ordered_json;

CalendarJson entrants_truth(const SyntheticUniversity& university, const SyntheticSummary& summary) {
  const SyntheticCalendar& calendar = *university.catalog().calendar;
  CalendarJson list = CalendarJson::array();
  for (std::size_t year = 0; year < calendar.entrants.size(); ++year) {
    list.push_back({{"year", university.options().first_year + static_cast<int>(year)},
                    {"factor", calendar.entrants[year]},
                    {"in_file", year < summary.entrants.size() ? summary.entrants[year] : 0}});
  }
  return list;
}

/// Chances of an engaged student of middling ambition to leave, by kind, year and period.
CalendarJson leaving_truth(const SyntheticUniversity& university) {
  const SyntheticOptions& options = university.options();
  const SyntheticCalendar& calendar = *university.catalog().calendar;
  CalendarJson list = CalendarJson::array();
  for (const bool part_time : {false, true}) {
    for (const bool commuter : {false, true}) {
      for (const bool first_generation : {false, true}) {
        CalendarJson years = CalendarJson::array();
        for (int year = 0; year + 1 < calendar.years; ++year) {
          CalendarJson by_period = CalendarJson::array();
          for (int period = 1; period <= options.last_period(); ++period)
            by_period.push_back(
                leaving_rate(options.calendar, calendar, {commuter, first_generation, part_time}, period, year));
          years.push_back({{"year", options.first_year + year}, {"after_period", std::move(by_period)}});
        }
        list.push_back({{"residence", commuter ? "commuter" : "campus"},
                        {"first_generation", first_generation ? "yes" : "no"},
                        {"status", part_time ? "part-time" : "full-time"},
                        {"years", std::move(years)}});
      }
    }
  }
  return list;
}

CalendarJson returns_truth(const SyntheticOptions& options, const SyntheticSummary& summary) {
  CalendarJson list = CalendarJson::array();
  for (int year = 0; year + 1 < options.calendar_years(); ++year) {
    for (int period = 1; period <= options.last_period(); ++period) {
      for (const int background : {0, 1, 2, 3}) {
        const std::size_t at = SyntheticSummary::return_count(options, year, period, background);
        if (at >= summary.returns.size() || summary.returns[at].enrolled == 0) continue;
        const ReturnCount& count = summary.returns[at];
        list.push_back({{"year", options.first_year + year},
                        {"period", period},
                        {"residence", (background & 1) != 0 ? "commuter" : "campus"},
                        {"first_generation", (background & 2) != 0 ? "yes" : "no"},
                        {"enrolled", count.enrolled},
                        {"returned", count.returned},
                        {"paused", count.paused},
                        {"finished", count.finished},
                        {"left", count.left},
                        {"expected_returns", count.expected_returns},
                        {"expected_leavers", count.expected_leavers}});
      }
    }
  }
  return list;
}

CalendarJson courses_truth(const SyntheticUniversity& university) {
  const SyntheticCatalog& catalog = university.catalog();
  const int first = university.options().first_year;
  CalendarJson list = CalendarJson::array();
  for (std::size_t id = 0; id < catalog.courses.size(); ++id) {
    const CourseCalendar& course = catalog.calendar->courses[id];
    CalendarJson entry = {{"course", catalog.courses[id].name}, {"first_year", nullptr}, {"last_year", nullptr}};
    if (course.first_year > 0) entry["first_year"] = first + course.first_year;
    if (course.last_year >= 0) entry["last_year"] = first + course.last_year;
    entry["every_second_year"] = course.every_second_year;
    entry["popularity"] = course.popularity;
    list.push_back(std::move(entry));
  }
  return list;
}

CalendarJson subjects_truth(const SyntheticCatalog& catalog) {
  CalendarJson list = CalendarJson::array();
  for (std::size_t id = 0; id < catalog.subjects.size(); ++id)
    list.push_back({{"subject", catalog.subjects[id].name}, {"appeal", catalog.calendar->appeal[id]}});
  return list;
}

CalendarJson calendar_rates(const CalendarRates& rates) {
  CalendarJson list = CalendarJson::object();
  for (const RateOf<CalendarRates>& rate : all_calendar_rates())
    list[std::string(rate.name)] = rates.*rate.value;
  list["leaving"] = rates.leaving;
  return list;
}

}  // namespace

nlohmann::ordered_json calendar_truth(const SyntheticUniversity& university, const SyntheticSummary& summary) {
  const SyntheticOptions& options = university.options();
  const SyntheticCalendar& calendar = *university.catalog().calendar;
  const int last = options.first_year + calendar.years - 1;
  return {{"first_year", options.first_year},
          {"last_complete_year", last - 1},
          {"last_complete_term", university.last_complete_term()},
          {"unfinished_term", SyntheticUniversity::term_label(last, SyntheticTerm::autumn)},
          {"rows_of_unfinished_year", summary.rows_of_unfinished_year},
          {"entrants", entrants_truth(university, summary)},
          {"leaving_factor", calendar.leaving},
          {"leaving_factor_of_commuters", calendar.leaving_of_commuters},
          {"leaving", leaving_truth(university)},
          {"returns", returns_truth(options, summary)},
          {"degrees", summary.degrees},
          {"courses", courses_truth(university)},
          {"subjects", subjects_truth(university.catalog())},
          {"rates", calendar_rates(options.calendar)}};
}

}  // namespace desirepath::inline simulation
