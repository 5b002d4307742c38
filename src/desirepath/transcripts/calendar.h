// The terms of a source, in order, and the term of each student's periods.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline transcripts {

struct CalendarTerm {
  std::string label;               // as the source writes it
  std::int32_t academic_year = 0;  // the calendar year in which it begins
  bool summer = false;
  bool operator==(const CalendarTerm&) const = default;
};

/// What one period is: known where a student's periods follow the calendar, one after the other.
enum class PeriodStep : std::uint8_t { not_known, year, term };
inline std::span<const std::string_view> value_names(PeriodStep) {
  static constexpr std::array<std::string_view, 3> names = {"not known", "year", "term"};
  return names;
}

/// How the status of periods without rows was decided.
enum class StatusBasis : std::uint8_t {
  stated,          // by whoever made the cohort: a program, or --absent left or unknown
  calendar,        // by the calendar of the source
  no_calendar,     // the source has none: only enrolled and unknown exist
  earlier_version  // by a program that knew only enrolled, unknown and left
};
inline std::span<const std::string_view> value_names(StatusBasis) {
  static constexpr std::array<std::string_view, 4> names = {"stated", "calendar", "no calendar", "earlier version"};
  return names;
}

struct Calendar {
  std::vector<CalendarTerm> terms;  // of all rows of the source, in order
  std::int32_t data_end = -1;       // the term with which the data end, -1 = not known
  PeriodStep step = PeriodStep::not_known;
  /// Students by periods: the first term in which the student was enrolled in the period, -1 = not known. Empty where
  /// the source has no terms.
  std::vector<std::int16_t> term_of;
  /// Of every enrollment, in the order of the cohort's: the first term in which the course was taken in that period, -1
  /// = not known. Empty where no enrollment is of a later term than its period.
  std::vector<std::int16_t> term_of_enrollment;

  /// Years alone, as earlier versions kept them (-1 = not known): each is a term of that name.
  static Calendar of_years(std::span<const std::int32_t> years);
  bool operator==(const Calendar&) const = default;
};

}  // namespace desirepath::inline transcripts
