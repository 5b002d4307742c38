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

/// The statuses of one student's periods from all rows, whatever became of them.
class StatusRules {
 public:
  StatusRules(const RowCollection& collection, const SiftedRows& sifted, AbsentRule absent)
      : collection_(collection), sifted_(sifted), absent_(absent) {}

  /// Only where some rows are kept. status: of the periods from the first, all unknown.
  void decide(std::size_t s, std::span<EnrollmentStatus> status) const {
    const std::span<const Row> rows = sifted_.rows_of(s);
    for (const Row& row : rows) {
      if (row.presence == Fate::kept) status[static_cast<std::size_t>(row.period - 1)] = EnrollmentStatus::enrolled;
    }
    if (absent_ == AbsentRule::unknown) return;
    const std::int32_t first = rows.front().period, last = rows.back().period;  // they come by period
    auto row = rows.begin();
    for (std::size_t at = 0; at < status.size(); ++at) {
      const auto period = static_cast<std::int32_t>(at + 1);
      while (row != rows.end() && row->period < period)
        ++row;
      const bool has_rows = row != rows.end() && row->period == period;
      if (!has_rows) status[at] = without_rows(s, period, first, last);
    }
  }

  StatusBasis basis() const {
    if (absent_ == AbsentRule::unknown) return StatusBasis::stated;
    if (sifted_.calendar.is_known()) return StatusBasis::calendar;
    return absent_ == AbsentRule::left ? StatusBasis::stated : StatusBasis::no_calendar;
  }

 private:
  EnrollmentStatus without_rows(std::size_t s, std::int32_t period, std::int32_t first, std::int32_t last) const {
    const std::uint32_t student = sifted_.students[s];
    const bool has_finished = student < collection_.finished.size() && collection_.finished[student];
    const EnrollmentStatus gone = has_finished ? EnrollmentStatus::finished : EnrollmentStatus::left;
    if (!sifted_.calendar.is_known())
      return absent_ == AbsentRule::left && period > last ? gone : EnrollmentStatus::unknown;
    if (period < first) return EnrollmentStatus::before_entry;
    if (period < last) return EnrollmentStatus::away;
    const std::int32_t first_step = sifted_.first_step[s];
    if (first_step == TermCalendar::no_step) return EnrollmentStatus::unknown;
    return sifted_.calendar.has_ended(first_step + period - 1) ? gone : EnrollmentStatus::not_yet;
  }

  const RowCollection& collection_;
  const SiftedRows& sifted_;
  AbsentRule absent_;
};

}  // namespace

CohortParts assemble_cohort(const RowCollection& collection, const SiftedRows& sifted, const TableOptions& options) {
  int periods = 0;
  for (const Row& row : sifted.rows) {
    if (row.presence == Fate::kept) periods = std::max<int>(periods, row.period);
  }
  CohortParts parts;
  std::vector<Id> number;
  parts.schema = make_schema(collection, sifted, periods, number);
  const auto width = static_cast<std::size_t>(periods);
  const auto students = static_cast<std::size_t>(std::ranges::count(sifted.presence, Fate::kept));
  const StatusRules statuses(collection, sifted, options.absent);
  parts.status_basis = statuses.basis();
  parts.calendar = sifted.calendar.calendar();
  const bool has_terms = !parts.calendar.terms.empty();
  parts.students.reserve(students);
  parts.status.assign(students * width, EnrollmentStatus::unknown);
  if (has_terms) parts.calendar.term_of.assign(students * width, -1);
  BinaryMatrixBuilder enrollments(parts.schema.bit_count());
  std::vector<Id> counted;                         // enrollments of a period
  std::vector<std::pair<Id, std::int16_t>> dated;  // with their terms
  bool has_later_terms = false;
  for (std::size_t s = 0; s < sifted.students.size(); ++s) {
    if (!sifted.is_kept(s)) continue;
    const std::size_t first = parts.students.size() * width;
    statuses.decide(s, std::span(parts.status).subspan(first, width));
    parts.students.emplace_back(collection.students.text(sifted.students[s]));
    const std::span<const Row> rows = sifted.rows_of(s);
    auto row = rows.begin();
    for (int period = 1; period <= periods; ++period) {
      for (; row != rows.end() && row->period <= period; ++row) {
        if (row->presence != Fate::kept) continue;
        if (has_terms && row->term >= 0) {
          std::int16_t& term = parts.calendar.term_of[first + static_cast<std::size_t>(period - 1)];
          const std::int16_t here = sifted.calendar.number_of(row->term);
          if (term < 0 || here < term) term = here;
        }
        if (row->counts()) {
          counted.push_back(parts.schema.bit(period - 1, number[row->course]));
          enrollments.add(counted.back());
        }
        // A second row of the same course may be of an earlier term.
        const bool is_dated = row->counts() || (row->fate == Fate::duplicate && number[row->course] >= 0);
        if (has_terms && is_dated) {
          dated.emplace_back(parts.schema.bit(period - 1, number[row->course]),
                             row->term >= 0 ? sifted.calendar.number_of(row->term) : std::int16_t{-1});
        }
      }
      if (has_terms) {
        // The first term of each course, in the order of the enrollments; one that is not known comes first.
        std::ranges::sort(dated);
        std::ranges::sort(counted);
        const auto is_same = [](const auto& one, const auto& next) { return one.first == next.first; };
        dated.erase(std::unique(dated.begin(), dated.end(), is_same), dated.end());
        std::erase_if(dated, [&](const auto& one) { return !std::ranges::binary_search(counted, one.first); });
        const std::int16_t first_term = parts.calendar.term_of[first + static_cast<std::size_t>(period - 1)];
        for (const auto& [bit, term] : dated) {
          parts.calendar.term_of_enrollment.push_back(term);
          has_later_terms = has_later_terms || term > first_term;
        }
        dated.clear();
      }
      counted.clear();
      enrollments.finish_row();
    }
  }
  if (!has_later_terms) parts.calendar.term_of_enrollment = {};
  parts.enrollments = std::move(enrollments).build();
  parts.attributes = make_attributes(collection, sifted);
  return parts;
}

}  // namespace desirepath::inline ingest
