#include "desirepath/ingest/row_part.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "desirepath/core/text.h"
#include "desirepath/ingest/decimal.h"
#include "desirepath/ingest/yes_or_no.h"

namespace desirepath::inline ingest {

std::optional<int> period_in(std::string_view text) {
  const auto whole = number_in<int>(text);
  const std::optional<double> number = whole ? std::optional<double>(*whole) : decimal_in(text);
  if (!number || *number != std::floor(*number) || *number < 1 || *number > most_periods) return std::nullopt;
  return static_cast<int>(*number);
}

RowPart::RowPart(const RowReading& reading) : grades(reading.grades), reading_(&reading) {
  terms.begin_file(reading.terms);
  for (const auto& attribute : reading.source.attributes)
    attributes.push_back({attribute.name, {}, {}});
  if (!reading.from_entry()) period_check = PeriodCheck(1 + attributes.size());
}

void RowPart::add(const RowBatch& batch) {
  batch_ = &batch;
  missing_cells.resize(batch.column_count, 0);
  for (at_ = 0; at_ < batch.row_count(); ++at_)
    add_row();
  seen += static_cast<std::int64_t>(batch.row_count());
  batch_ = nullptr;
}

bool RowPart::reject(std::string column, std::string reason, std::string_view term) {
  rejected.push_back({batch_->records[at_], std::move(column), std::move(reason), std::string(term)});
  return false;
}

void RowPart::add_row() {
  const MappedSource& source = reading_->source;
  if (const std::string_view column = text(source.not_a_number); !column.empty()) {
    reject(std::string(column), "not a number, and an expression needs one");
    return;
  }
  const std::string_view student = text(source.student), course = text(source.course);
  const bool has_student = !student.empty() && !reading_->missing.contains(student);
  const bool has_course = !course.empty() && !reading_->missing.contains(course);
  if (source.keep && text(source.keep) != "true") {
    ++not_selected;
    if (has_course) other_courses.number_of(course);
    if (has_student) add_presence(student);
    return;
  }
  if (!has_student) {
    reject("student", student.empty() ? "no student" : "no student: a word for missing values stands there");
    return;
  }
  if (!course.empty() && !has_course) {
    reject("course", "no course: a word for missing values stands there");
    return;
  }
  Row row;
  std::int64_t time = 0;
  std::int32_t entry_term = -1;
  if (!read_time(row, time) || !read_units(row) || !read_entry(entry_term)) return;
  row.student = students.number_of(student);
  if (has_course)
    read_course(course, row);
  else if (source.computes_course)
    ++courses_not_computed;
  note_entry(row.student, entry_term);
  note_finished(row.student);
  note_attributes(row.student, time);
  if (!reading_->from_entry()) note_period(row);
  if (rows.empty() || !rows.back().takes_in(row)) rows.push_back(row);
}

void RowPart::add_presence(std::string_view student) {
  const MappedSource& source = reading_->source;
  const std::string_view written = cell(source.term), named = cell(source.entry);
  const std::int32_t term = written.empty() ? -1 : terms.number_of(written, {.other_row = true});
  const auto period = reading_->from_entry() ? std::nullopt : period_in(cell(source.period));
  if (reading_->from_entry() ? term < 0 : !period) {  // nobody can say when
    other_students.number_of(student);
    return;
  }
  Row row;
  row.student = students.number_of(student);
  row.term = term;
  row.period = static_cast<std::int16_t>(period.value_or(0));
  row.fate = row.presence = Fate::where;
  if (!named.empty() && reading_->from_entry()) note_entry(row.student, terms.number_of(named, {.entry = true}));
  note_finished(row.student);
  if (rows.empty() || !rows.back().takes_in(row)) rows.push_back(row);
}

void RowPart::note_entry(std::uint32_t student, std::int32_t term) {
  if (term < 0) return;
  if (student >= entry.size()) entry.resize(student + 1, -1);
  terms.keep_earlier(entry[student], term);
}

void RowPart::note_finished(std::uint32_t student) {
  if (!reading_->source.finished) return;
  const std::string_view found = cell(reading_->source.finished);
  const CellMark mark = mark_of(found);
  ++(mark == CellMark::yes ? finished_cells.yes : mark == CellMark::other ? finished_cells.other : finished_cells.no);
  if (mark != CellMark::yes && mark != CellMark::other) return;
  if (student >= finished.size()) finished.resize(student + 1, false);
  finished[student] = true;
}

void RowPart::note_period(const Row& row) {
  const auto note = [&](std::size_t place, const std::optional<std::size_t>& column) {
    const std::string_view written = text(column);
    if (!reading_->missing.contains(written)) period_check.note(place, row.student, row.period, written);
  };
  note(0, reading_->source.term);
  for (std::size_t a = 0; a < attributes.size(); ++a)
    note(1 + a, reading_->source.attributes[a].column);
}

/// Terms stay labels here: what they mean is known when all have been seen.
bool RowPart::read_time(Row& row, std::int64_t& time) {
  const std::string_view written = cell(reading_->source.term);
  row.term = written.empty() ? -1 : terms.number_of(written);
  if (reading_->from_entry() && row.term < 0) {
    if (written.empty()) return reject("term", "no term");
    return reject("term", "term not understood", may_be_named(written) ? written : std::string_view());
  }
  if (row.term >= 0) time = terms.rough_key(row.term);
  if (reading_->from_entry()) return true;
  const std::string_view period_text = cell(reading_->source.period);
  const auto period = period_in(period_text);
  if (!period) {
    return reject("period",
                  period_text.empty() ? "no period" : concat("period is not a whole number from 1 to ", most_periods));
  }
  row.period = static_cast<std::int16_t>(*period);
  if (row.term < 0) time = *period;
  return true;
}

/// A label is no student's, unless the wrong column is taken for the term.
bool RowPart::may_be_named(std::string_view term) const {
  constexpr std::size_t longest = 40;
  const auto digits = std::ranges::count_if(term, [](char c) { return c >= '0' && c <= '9'; });
  return term != text(reading_->source.student) && digits <= 6 && term.size() <= longest;
}

bool RowPart::read_units(Row& row) {
  if (reading_->options.full_time_units <= 0) return true;
  const std::string_view found = cell(reading_->source.units);
  const auto units = found.empty() ? 0.0 : decimal_in(found);
  if (!units) return reject("units", "units is not a number");
  row.units = static_cast<float>(*units);
  return true;
}

bool RowPart::read_entry(std::int32_t& term) {
  const std::string_view found = cell(reading_->source.entry);
  if (found.empty() || !reading_->from_entry()) return true;
  term = terms.number_of(found, {.entry = true});
  return term >= 0 || reject("entry", "entry term not understood");
}

void RowPart::read_course(std::string_view name, Row& row) {
  if (!reading_->aliases.empty()) {
    const auto alias = reading_->aliases.find(std::string(name));
    if (alias != reading_->aliases.end()) name = alias->second;
  }
  row.course = courses.number_of(name);
  const MappedSource& source = reading_->source;
  if (source.label) label.add(row.course, cell(source.label));
  if (source.subject) subject.add(row.course, cell(source.subject));
  if (source.school) school.add(row.course, cell(source.school));
  const std::string_view grade = cell(source.grade);
  if (grade.empty()) return;
  const GradeMeaning meaning = grades.count(grade, row.student);
  if (meaning == GradeMeaning::withdrawn && reading_->options.withdrawn == RowRule::drop) row.fate = Fate::withdrawn;
  if (meaning == GradeMeaning::failed && reading_->options.passed_only) row.fate = Fate::not_passed;
}

void RowPart::note_attributes(std::uint32_t student, std::int64_t time) {
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    const std::string_view value = cell(reading_->source.attributes[a].column);
    AttributeColumn& column = attributes[a];
    if (!value.empty() && !column.dropped) column.note(student, value, time);
  }
}

}  // namespace desirepath::inline ingest
