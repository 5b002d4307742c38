// The rows of all files as plain values: texts as numbers, terms understood, what one row alone decides decided.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/progress.h"
#include "desirepath/ingest/grades.h"
#include "desirepath/ingest/prepare_report.h"
#include "desirepath/ingest/row_source.h"
#include "desirepath/ingest/string_interner.h"
#include "desirepath/ingest/table_options.h"
#include "desirepath/ingest/term.h"
#include "desirepath/transcripts/schema.h"

namespace desirepath::inline ingest {

constexpr int most_periods = 64;

/// What became of a row: the rule that took it out, in the order the rules apply, or kept.
enum class Fate : std::uint8_t {
  where,
  summer,
  withdrawn,
  not_passed,
  later,
  duplicate,
  repeat,
  part_time,
  few_periods,
  rare_course,
  kept
};

struct Row {
  std::uint32_t student = 0;
  std::uint32_t course = StringInterner::none;  // none: the row marks presence alone
  std::int32_t term = -1;                       // number of its term, while reading of the term's label; -1: not known
  float units = 0;                              // where they count
  std::int16_t period = 0;  // as given, or counted from entry by the rules (row_rules.h); 0: not counted yet
  Fate fate = Fate::kept;
  Fate presence = Fate::kept;  // the rule that ended the student's presence in the period, or kept
  std::uint32_t copies = 0;    // rows equal in all of this that came as well and are not kept

  /// What becomes of its copies.
  Fate fate_of_copies() const {
    return course == StringInterner::none || fate < Fate::duplicate ? fate : Fate::duplicate;
  }
  bool counts() const { return fate == Fate::kept && course != StringInterner::none; }
  /// Counts a row that says nothing else; false for others, and where the count would not hold it.
  bool takes_in(const Row& other);
};

/// A column that says something of students: of each the value in the latest row, by term or period and then by the
/// order of rows.
struct AttributeColumn {
  struct Value {
    std::int64_t time = std::numeric_limits<std::int64_t>::min();
    std::uint32_t value = StringInterner::none;
  };
  static constexpr std::size_t most_varying_values = 1000;

  std::string name;
  StringInterner values;
  std::vector<Value> of_student;
  bool varies = false;   // within a student
  bool dropped = false;  // it varies and has too many values: a number of the row, not of the student

  void note(std::uint32_t student, std::string_view text, std::int64_t time);
  /// What a part says, whose students have these numbers here.
  void take_in(const AttributeColumn& part, const std::vector<std::uint32_t>& students);
  std::uint32_t value_of(std::uint32_t student) const {
    return student < of_student.size() ? of_student[student].value : StringInterner::none;
  }

 private:
  void keep(std::uint32_t student, const Value& value);
  void drop_if_needless();
};

/// A course's subject or school as rows give it: the most frequent text, then the first in the alphabet.
class CourseText {
 public:
  void add(std::uint32_t course, std::string_view text);
  /// What a part says, whose courses have these numbers here.
  void take_in(const CourseText& part, const std::vector<std::uint32_t>& courses);
  std::string of(std::uint32_t course) const;

 private:
  void add(std::uint32_t course, std::string_view text, std::int64_t count);

  StringInterner texts_;
  std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> counts_;
};

/// What the column that says who graduated holds: one that says something of everybody says nothing of it.
struct FinishedCells {
  std::int64_t no = 0;     // empty, 0, no, false
  std::int64_t yes = 0;    // 1, yes, true
  std::int64_t other = 0;  // a degree, a date ...

  void take_in(const FinishedCells& part) {
    no += part.no;
    yes += part.yes;
    other += part.other;
  }
};

struct RowCollection {
  std::vector<SourceSummary> sources;
  RejectLog rejects;
  std::int64_t not_selected = 0;          // rows for which the condition is not true; they are kept as presence alone
  std::int64_t students_read = 0;         // with those that only rows not selected have
  std::int64_t courses_read = 0;          // the same
  std::int64_t courses_not_computed = 0;  // rows for which the expression for the course gives none
  std::vector<std::pair<std::string, std::int64_t>> missing;  // columns, and cells where a word stands for missing
  std::optional<GradeTally> grades;                           // where there is a column of them
  std::vector<std::string> notes;                             // how terms were understood
  std::string question;                       // what the user has to say before these rows can be used; empty: nothing
  PeriodRule periods = PeriodRule::as_given;  // what the rule came to: never automatic
  StringInterner students, courses;           // numbered as they first come
  std::vector<Course> listed;                 // of the course file
  std::vector<Course> labelled;               // titles and groups for courses that are there
  std::vector<Row> rows;                      // as read
  std::vector<Term> terms;                    // by number
  std::vector<std::string> term_names;        // of each
  std::vector<std::int64_t> term_rows;        // rows of each, selected or not
  std::int32_t data_end = -1;                 // number of the term that the user names as the last
  std::vector<bool> finished;                 // by student: a row says so; shorter where the last have not
  FinishedCells finished_cells;
  std::vector<std::int32_t> entry;  // by student: term of entry where the input names one, else -1
  std::vector<AttributeColumn> attributes;
  CourseText label, subject, school;
};

/// Throws InputError for a file that cannot be read as a table, OptionError for one that lacks what a rule needs.
RowCollection collect_rows(const std::vector<std::string>& files, const TableOptions& options, const Executor& executor,
                           const ProgressSink& progress);
RowCollection collect_rows(TableInMemory table, const TableOptions& options, const Executor& executor,
                           const ProgressSink& progress);

}  // namespace desirepath::inline ingest
