// The terms of a source in order: where each stands, which is the last of the data, and what has ended by then.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "desirepath/ingest/row_collection.h"
#include "desirepath/transcripts/calendar.h"

namespace desirepath::inline ingest {

/// Periods are steps of a year or of a term: a step is an academic year, or the place of a term among those that are no
/// summer terms, which share the place of the term before them.
class TermCalendar {
 public:
  static constexpr std::int32_t no_step = std::numeric_limits<std::int32_t>::min();

  TermCalendar() = default;
  /// Throws OptionError where the term that the user names as the last is not one of the data.
  explicit TermCalendar(const RowCollection& collection);

  PeriodStep step() const { return step_; }
  void set_step(PeriodStep step) { step_ = step; }
  bool is_known() const { return step_ != PeriodStep::not_known && data_end_ >= 0; }

  std::int32_t year_of(std::int32_t term) const { return years_[static_cast<std::size_t>(term)]; }
  std::int32_t place_of(std::int32_t term) const { return places_[static_cast<std::size_t>(term)]; }
  std::int32_t step_of(std::int32_t term) const { return step_ == PeriodStep::term ? place_of(term) : year_of(term); }
  /// Whether the period at this step ended within the data.
  bool has_ended(std::int32_t step) const { return step <= (step_ == PeriodStep::term ? last_place_ : last_year_); }
  /// Position of a term of rows in terms(), in order.
  std::int16_t number_of(std::int32_t term) const { return numbers_[static_cast<std::size_t>(term)]; }

  /// Without the terms of students.
  Calendar calendar() const { return {terms_, data_end_, step_, {}}; }
  /// Which term the data end with, and why, for people.
  const std::string& note() const { return note_; }

 private:
  void place_terms(const RowCollection& collection, const std::vector<std::size_t>& order);
  void find_end(const RowCollection& collection, const std::vector<std::size_t>& order);
  void find_last_year(const RowCollection& collection, const std::vector<std::size_t>& order);

  PeriodStep step_ = PeriodStep::not_known;
  std::vector<std::int32_t> years_, places_;  // of the terms of the collection
  std::vector<std::int16_t> numbers_;
  std::vector<CalendarTerm> terms_;
  std::int32_t data_end_ = -1;  // in terms_
  std::int32_t last_place_ = no_step, last_year_ = no_step;
  std::string note_;
};

}  // namespace desirepath::inline ingest
