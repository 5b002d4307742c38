// What a stretch of rows says by itself, with numbers of its own for texts. Stretches are understood side by side and
// then taken together in the order of the input, so that nothing depends on where it was cut.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/text.h"
#include "desirepath/ingest/grades.h"
#include "desirepath/ingest/missing_values.h"
#include "desirepath/ingest/period_check.h"
#include "desirepath/ingest/row_collection.h"
#include "desirepath/ingest/source.h"
#include "desirepath/ingest/term_labels.h"

namespace desirepath::inline ingest {

/// How the rows of one file are understood.
struct RowReading {
  const TableOptions& options;
  const MissingValues& missing;
  const std::map<std::string, std::string>& aliases;
  const MappedSource& source;
  TermRules terms;
  GradeRules grades;
  PeriodRule periods;

  bool from_entry() const { return periods != PeriodRule::as_given; }
};

/// A whole period number; "2.0" and "2,0" are 2, as spreadsheets write them.
std::optional<int> period_in(std::string_view text);

class RowPart {
 public:
  struct Rejected {
    std::int64_t record = 0;
    std::string column;
    std::string reason;
    std::string label;  // of a term that is not understood and may be named: the reason is for the whole input to say
  };

  explicit RowPart(const RowReading& reading);
  void add(const RowBatch& batch);

  std::int64_t seen = 0;
  std::vector<Rejected> rejected;
  std::int64_t not_selected = 0;
  std::int64_t courses_not_computed = 0;
  std::vector<std::int64_t> missing_cells;  // by column, where a word stands for a missing value
  StringInterner students, courses;
  StringInterner other_students, other_courses;  // of rows that are not selected
  TermLabels terms;
  std::vector<Row> rows;
  std::vector<std::int32_t> entry;  // by student: label of the term of entry, else -1
  std::vector<bool> finished;       // by student; shorter where the last have not
  FinishedCells finished_cells;
  PeriodCheck period_check;                 // of the term, then the attributes
  std::vector<AttributeColumn> attributes;  // of the file
  CourseText label, subject, school;
  GradeTally grades;

 private:
  /// As it stands, whatever it means.
  std::string_view text(const std::optional<std::size_t>& column) const {
    if (!column) return {};
    const std::string_view found = batch_->cell(at_, *column);
    const bool is_trim = !found.empty() && found.front() > ' ' && found.back() > ' ';  // the usual case
    return is_trim ? found : trimmed(found);
  }
  /// Empty: missing.
  std::string_view cell(const std::optional<std::size_t>& column) {
    const std::string_view found = text(column);
    if (!reading_->missing.contains(found)) return found;
    ++missing_cells[*column];
    return {};
  }
  /// False, for a row that is not to be read further.
  bool reject(std::string column, std::string reason, std::string_view term = {});
  void add_row();
  /// All that a row which is not selected says: that the student was there.
  void add_presence(std::string_view student);
  /// time: for the order of attribute values.
  bool read_time(Row& row, std::int64_t& time);
  void note_entry(std::uint32_t student, std::int32_t term);
  void note_finished(std::uint32_t student);
  void note_period(const Row& row);
  bool read_units(Row& row);
  bool read_entry(std::int32_t& term);
  void read_course(std::string_view name, Row& row);
  void note_attributes(std::uint32_t student, std::int64_t time);
  bool may_be_named(std::string_view term) const;

  const RowReading* reading_;
  const RowBatch* batch_ = nullptr;  // being added, and its row
  std::size_t at_ = 0;
};

}  // namespace desirepath::inline ingest
