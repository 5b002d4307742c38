// The rules on collected rows: periods counted from entry, duplicates, repeats, part-time, few periods, rare courses.
// Nothing is taken away: every row keeps its fate, so that all can be counted.
#pragma once

#include <span>
#include <vector>

#include "desirepath/ingest/row_collection.h"
#include "desirepath/ingest/term_calendar.h"

namespace desirepath::inline ingest {

/// The rows of each student side by side, by period and course; students in their final order.
struct SiftedRows {
  std::vector<std::uint32_t> students;  // numbers in the collection
  std::vector<Fate> presence;           // of each student: the last rule that ended a presence, or kept
  std::vector<Row> rows;
  std::vector<std::size_t> begin;  // of each student's rows, and their end
  std::vector<bool> course_stays;  // by number of the course
  int last_period = most_periods;  // that counts
  TermCalendar calendar;
  std::vector<std::int32_t> first_step;  // of each student: where in the calendar period 1 lies, or no_step

  std::span<const Row> rows_of(std::size_t student) const {
    return std::span(rows).subspan(begin[student], begin[student + 1] - begin[student]);
  }
  bool is_kept(std::size_t student) const { return presence[student] == Fate::kept; }
};

/// Takes the rows out of the collection.
SiftedRows apply_rules(RowCollection& collection, const TableOptions& options, const Executor& executor);

}  // namespace desirepath::inline ingest
