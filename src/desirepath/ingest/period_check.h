// Whether a column called a period is one of study. A student goes through periods of study once, in order; a teaching
// block begins again every year.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "desirepath/ingest/string_interner.h"

namespace desirepath::inline ingest {

class PeriodCheck {
 public:
  /// columns: those beside the period that may hold years or terms.
  explicit PeriodCheck(std::size_t columns = 0) : columns_(columns) {}

  /// A row: empty texts say nothing, and a column with one that is no year or term is not looked at any further.
  void note(std::size_t column, std::uint32_t student, int period, std::string_view text);
  /// What a part met, whose students have these numbers here and whose columns these.
  void take_in(const PeriodCheck& part, const std::vector<std::uint32_t>& students,
               const std::vector<std::size_t>& columns);

  struct Finding {
    std::size_t column = 0;
    std::int64_t students = 0;  // with rows in several years
    std::int64_t back = 0;      // whose periods go back in a later year
  };
  /// The column of years in which the periods of most students begin again.
  std::optional<Finding> finding() const;

 private:
  struct Seen {
    std::uint32_t student;
    std::int32_t academic_year;
    std::int16_t first, last;  // periods
  };
  struct Column {
    bool dropped = false;
    StringInterner texts;
    std::vector<std::int32_t> years;  // of each text
    std::vector<Seen> seen;           // sorted by student and year up to `sorted`
    std::size_t sorted = 0;
  };
  static void add(Column& column, const Seen& seen);
  static void fold(Column& column);

  std::vector<Column> columns_;
};

}  // namespace desirepath::inline ingest
