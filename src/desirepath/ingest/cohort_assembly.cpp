#include "desirepath/ingest/cohort_assembly.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

std::string nothing_left(const RowCollection& collection, const SiftedRows& sifted, const TableOptions& options) {
  if (std::ranges::find(sifted.presence, Fate::kept) == sifted.presence.end())
    return "no student is left after the filters; 'desirepath check' shows what each took out";
  if (!collection.listed.empty() || std::ranges::find(sifted.course_stays, true) != sifted.course_stays.end())
    return "";
  if (collection.courses.size() > 0)
    return concat("no course has ", options.least_takers(), " takers; lower ", setting_name("min-takers"));
  return concat("no row names a course; is the course column another (", setting_name("map"), " course=COLUMN)?");
}

namespace {

/// What the course file does not say of a course, another list may; what none says, the rows may.
void fill_gaps(Course& course, const Course& other) {
  const auto fill = [](auto& field, const auto& value) {
    if (field.empty()) field = value;
  };
  fill(course.label, other.label);
  fill(course.subject, other.subject);
  fill(course.school, other.school);
  fill(course.concentration, other.concentration);
  fill(course.prerequisites, other.prerequisites);
  fill(course.attributes, other.attributes);
}

/// Listed courses in the list's order, then the others in natural order; `number` says where each of the collection's
/// went.
Schema make_schema(const RowCollection& collection, const SiftedRows& sifted, int periods, std::vector<Id>& number) {
  std::vector<Course> courses = collection.listed;
  std::unordered_map<std::string, Id> place;
  for (std::size_t c = 0; c < courses.size(); ++c)
    place[courses[c].name] = static_cast<Id>(c);
  number.assign(collection.courses.size(), -1);
  for (const std::uint32_t c : collection.courses.in_natural_order()) {
    if (!sifted.course_stays[c]) continue;
    const std::string name(collection.courses.text(c));
    const auto [at, is_new] = place.try_emplace(name, static_cast<Id>(courses.size()));
    if (is_new) courses.push_back({name, "", "", "", "", {}, {}});
    number[c] = at->second;
  }
  for (const Course& labelled : collection.labelled) {
    if (const auto at = place.find(labelled.name); at != place.end())
      fill_gaps(courses[static_cast<std::size_t>(at->second)], labelled);
  }
  for (const std::uint32_t c : collection.courses.in_natural_order()) {
    if (number[c] < 0) continue;
    Course& course = courses[static_cast<std::size_t>(number[c])];
    if (course.label.empty()) course.label = collection.label.of(c);
    if (course.subject.empty()) course.subject = collection.subject.of(c);
    if (course.school.empty()) course.school = collection.school.of(c);
  }
  std::vector<std::string> labels;
  for (int period = 1; period <= periods; ++period)
    labels.push_back(std::to_string(period));
  return {std::move(courses), std::move(labels)};
}

std::vector<Attribute> make_attributes(const RowCollection& collection, const SiftedRows& sifted) {
  std::vector<Attribute> attributes;
  for (const AttributeColumn& column : collection.attributes) {
    std::vector<std::uint32_t> values;  // of each student
    for (std::size_t s = 0; s < sifted.students.size(); ++s) {
      if (sifted.is_kept(s)) values.push_back(column.value_of(sifted.students[s]));
    }
    std::vector<bool> used(column.values.size(), false);
    for (const std::uint32_t value : values) {
      if (value != StringInterner::none) used[value] = true;
    }
    Attribute attribute{column.name, {}, {}};
    attribute.codes.reserve(values.size());
    std::vector<Id> code(used.size(), -1);
    for (const std::uint32_t value : column.values.in_natural_order()) {
      if (!used[value]) continue;
      code[value] = static_cast<Id>(attribute.values.size());
      attribute.values.emplace_back(column.values.text(value));
    }
    if (attribute.values.empty()) continue;
    for (const std::uint32_t value : values)
      attribute.codes.push_back(value == StringInterner::none ? -1 : code[value]);
    attributes.push_back(std::move(attribute));
  }
  std::ranges::sort(attributes, {}, &Attribute::name);
  return attributes;
}

/// Periods behind the last one a student was seen in: left, unless the data end before them.
void mark_left(std::span<EnrollmentStatus> status, std::span<const std::int32_t> years, std::int32_t last_year) {
  std::size_t last = 0;
  for (std::size_t t = 0; t < status.size(); ++t) {
    if (status[t] == EnrollmentStatus::enrolled) last = t;
  }
  for (std::size_t t = last + 1; t < status.size(); ++t) {
    const bool known_year = !years.empty() && years[last] >= 0;
    const bool beyond_data = known_year && years[last] + static_cast<std::int32_t>(t - last) > last_year;
    if (!beyond_data) status[t] = EnrollmentStatus::left;
  }
}

}  // namespace

CohortParts assemble_cohort(const RowCollection& collection, const SiftedRows& sifted, const TableOptions& options) {
  int periods = 0;
  std::int32_t last_year = -1;  // anybody was seen in
  for (const Row& row : sifted.rows) {
    if (row.presence == Fate::kept) periods = std::max(periods, row.when);
    last_year = std::max<std::int32_t>(last_year, row.year);
  }
  CohortParts parts;
  std::vector<Id> number;
  parts.schema = make_schema(collection, sifted, periods, number);
  const auto width = static_cast<std::size_t>(periods);
  const auto students = static_cast<std::size_t>(std::ranges::count(sifted.presence, Fate::kept));
  const bool has_years = last_year >= 0;
  parts.students.reserve(students);
  parts.status.assign(students * width, EnrollmentStatus::unknown);
  std::vector<std::int32_t> calendar(has_years ? students * width : 0, -1);
  BinaryMatrixBuilder enrollments(parts.schema.bit_count());
  for (std::size_t s = 0; s < sifted.students.size(); ++s) {
    if (!sifted.is_kept(s)) continue;
    const std::size_t first = parts.students.size() * width;
    const std::span<EnrollmentStatus> status = std::span(parts.status).subspan(first, width);
    const std::span<std::int32_t> years = std::span(calendar).subspan(has_years ? first : 0, has_years ? width : 0);
    parts.students.emplace_back(collection.students.text(sifted.students[s]));
    const std::span<const Row> rows = sifted.rows_of(s);
    auto row = rows.begin();
    for (int period = 1; period <= periods; ++period) {
      for (; row != rows.end() && row->when <= period; ++row) {
        if (row->presence != Fate::kept) continue;
        const auto at = static_cast<std::size_t>(period - 1);
        status[at] = EnrollmentStatus::enrolled;
        if (row->year >= 0 && (years[at] < 0 || row->year < years[at])) years[at] = row->year;
        if (row->counts()) enrollments.add(parts.schema.bit(period - 1, number[row->course]));
      }
      enrollments.finish_row();
    }
    const bool by_years = collection.periods != PeriodRule::terms_since_entry;
    if (options.absent == AbsentRule::left) mark_left(status, by_years ? years : std::span<std::int32_t>(), last_year);
  }
  parts.enrollments = std::move(enrollments).build();
  if (has_years) parts.calendar = Calendar::of_years(calendar);
  parts.attributes = make_attributes(collection, sifted);
  return parts;
}

}  // namespace desirepath::inline ingest
