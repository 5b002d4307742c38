#include "desirepath/ingest/row_part.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "desirepath/core/text.h"
#include "desirepath/ingest/decimal.h"

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
    if (has_student) other_students.number_of(student);
    if (has_course) other_courses.number_of(course);
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
  std::int64_t when = 0;  // for the order of attribute values
  std::int32_t term = -1, entry_term = -1;
  if (!read_time(row, term, when) || !read_units(row) || !read_entry(entry_term)) return;
  row.student = students.number_of(student);
  if (has_course)
    read_course(course, row);
  else if (source.computes_course)
    ++courses_not_computed;
  if (entry_term >= 0) {
    if (row.student >= entry.size()) entry.resize(row.student + 1, -1);
    terms.keep_earlier(entry[row.student], entry_term);
  }
  note_attributes(row.student, when);
  const bool is_known = !rows.empty() && rows.back().label == term && rows.back().row.takes_in(row);
  if (!is_known) rows.push_back({row, term});
}

/// Terms stay labels here: what they mean is known when all have been seen.
bool RowPart::read_time(Row& row, std::int32_t& term, std::int64_t& when) {
  const std::string_view written = cell(reading_->source.term);
  term = written.empty() ? -1 : terms.number_of(written);
  if (reading_->from_entry() && term < 0) {
    if (written.empty()) return reject("term", "no term");
    return reject("term", "term not understood", may_be_named(written) ? written : std::string_view());
  }
  if (term >= 0) when = terms.rough_key(term);
  if (reading_->from_entry()) return true;
  const std::string_view period_text = cell(reading_->source.period);
  const auto period = period_in(period_text);
  if (!period) {
    return reject("period",
                  period_text.empty() ? "no period" : concat("period is not a whole number from 1 to ", most_periods));
  }
  row.when = *period;
  if (term < 0) when = *period;
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
  term = terms.number_of(found);
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

void RowPart::note_attributes(std::uint32_t student, std::int64_t when) {
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    const std::string_view value = cell(reading_->source.attributes[a].column);
    AttributeColumn& column = attributes[a];
    if (!value.empty() && !column.dropped) column.note(student, value, when);
  }
}

}  // namespace desirepath::inline ingest
