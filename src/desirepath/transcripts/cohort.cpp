#include "desirepath/transcripts/cohort.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/settings.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"

namespace desirepath::inline transcripts {

namespace {

void check_calendar(const Calendar& calendar, std::size_t rows, std::size_t enrollments) {
  const auto terms = static_cast<std::int64_t>(calendar.terms.size());
  if (!calendar.term_of_enrollment.empty() &&
      (calendar.term_of_enrollment.size() != enrollments || calendar.term_of.empty()))
    throw InputError("cohort: a term for every enrollment is needed");
  if (!calendar.term_of.empty() && calendar.term_of.size() != rows)
    throw InputError("cohort: a term for every student and period is needed");
  if (calendar.data_end < -1 || calendar.data_end >= terms || calendar.step > PeriodStep::term)
    throw InputError("cohort: a calendar that does not end with one of its terms");
  const auto is_outside = [&](std::int16_t term) { return term < -1 || term >= terms; };
  if (std::ranges::any_of(calendar.term_of, is_outside) || std::ranges::any_of(calendar.term_of_enrollment, is_outside))
    throw InputError("cohort: a term out of range");
  const auto is_good = [](const CalendarTerm& term) { return term.academic_year >= 0 && term.academic_year <= 9999; };
  if (!std::ranges::all_of(calendar.terms, is_good)) throw InputError("cohort: an academic year out of range");
  if (!std::ranges::is_sorted(calendar.terms, {}, &CalendarTerm::academic_year))
    throw InputError("cohort: terms out of order");
}

}  // namespace

Cohort::Cohort(CohortParts parts) : parts_(std::make_shared<const CohortParts>(std::move(parts))) {
  const std::size_t students = parts_->students.size();
  const auto periods = static_cast<std::size_t>(schema().period_count());
  const std::size_t rows = students * periods;
  if (parts_->status.size() != rows) throw InputError("cohort: a status for every student and period is needed");
  if (parts_->enrollments.row_count() != static_cast<std::int64_t>(rows) ||
      parts_->enrollments.column_count() != schema().bit_count()) {
    throw InputError("cohort: enrollments do not fit students, periods and courses");
  }
  check_calendar(parts_->calendar, rows, parts_->enrollments.columns().size());
  const Id courses = schema().course_count();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto bits = parts_->enrollments.row(static_cast<std::int64_t>(r));
    if (parts_->status[r] > EnrollmentStatus::not_yet) throw InputError("cohort: unknown status");
    has_departures_ = has_departures_ || has_departed(parts_->status[r]);
    if (bits.empty()) continue;
    const auto period = static_cast<Id>(r % periods);
    const bool inside = bits.front() >= period * courses && bits.back() < (period + 1) * courses;
    if (!inside) throw InputError("cohort: an enrollment outside its period");
    if (parts_->status[r] != EnrollmentStatus::enrolled)
      throw InputError("cohort: an enrollment in a period in which the student was not enrolled");
  }
  for (const Attribute& attribute : parts_->attributes) {
    if (attribute.codes.size() != students) throw InputError("cohort: an attribute without a value for every student");
    const auto count = static_cast<Id>(attribute.values.size());
    for (const Id code : attribute.codes) {
      if (code < -1 || code >= count) throw InputError("cohort: an attribute value out of range");
    }
  }
}

std::int32_t Cohort::entry_year(std::int64_t student) const {
  for (Id period = 0; period < schema().period_count(); ++period) {
    if (enrolled(student, period) && academic_year(student, period) >= 0) return academic_year(student, period);
  }
  return -1;
}

StatusCounts Cohort::status_counts(Id period) const {
  StatusCounts counts;
  for (std::int64_t student = 0; student < student_count(); ++student)
    ++counts[status(student, period)];
  return counts;
}

const Attribute& Cohort::attribute(std::string_view name) const {
  std::vector<std::string> names;
  for (const Attribute& attribute : parts_->attributes) {
    if (attribute.name == name) return attribute;
    names.push_back(attribute.name);
  }
  throw OptionError(concat("no student attribute '", name, "'", did_you_mean(name, names),
                           names.empty() ? "; the cohort has none" : "; there are: ", join(names, ", ")));
}

Cohort Cohort::with_min_cell(std::int64_t min_cell) const {
  CohortParts parts = *parts_;
  parts.min_cell = Disclosure(min_cell).least();
  return Cohort(std::move(parts));
}

Cohort Cohort::with_traits(std::vector<Trait> traits) const {
  CohortParts parts = *parts_;
  parts.schema = schema().with_traits(std::move(traits));
  return Cohort(std::move(parts));
}

Cohort Cohort::select(std::span<const std::int64_t> students) const {
  CohortParts chosen;
  chosen.schema = schema();
  chosen.provenance = parts_->provenance;
  chosen.min_cell = min_cell();
  chosen.status_basis = status_basis();
  chosen.calendar = {calendar().terms, calendar().data_end, calendar().step, {}, {}};
  const Id periods = schema().period_count();
  BinaryMatrixBuilder enrollments(schema().bit_count());
  for (const Attribute& attribute : parts_->attributes) {
    chosen.attributes.push_back({attribute.name, attribute.values, {}});
  }
  for (const std::int64_t student : students) {
    chosen.students.push_back(parts_->students[static_cast<std::size_t>(student)]);
    for (Id period = 0; period < periods; ++period) {
      const std::size_t from = row(student, period);
      chosen.status.push_back(parts_->status[from]);
      if (has_calendar()) chosen.calendar.term_of.push_back(calendar().term_of[from]);
      for (const Id bit : bits(student, period))
        enrollments.add(bit);
      if (has_enrollment_terms()) {
        const auto terms = enrollment_terms(student, period);
        chosen.calendar.term_of_enrollment.insert(chosen.calendar.term_of_enrollment.end(), terms.begin(), terms.end());
      }
      enrollments.finish_row();
    }
    for (std::size_t a = 0; a < parts_->attributes.size(); ++a) {
      chosen.attributes[a].codes.push_back(parts_->attributes[a].codes[static_cast<std::size_t>(student)]);
    }
  }
  chosen.enrollments = std::move(enrollments).build();
  return Cohort(std::move(chosen));
}

namespace {

/// Years as earlier versions kept them: students whose terms are years alone keep their fingerprint.
void add_years(const Cohort& cohort, DigestBuilder& digest) {
  if (!cohort.has_calendar()) return;
  std::vector<std::int32_t> years;
  for (std::int64_t student = 0; student < cohort.student_count(); ++student) {
    years.clear();
    for (Id period = 0; period < cohort.schema().period_count(); ++period)
      years.push_back(cohort.academic_year(student, period));
    digest.add(std::as_bytes(std::span(years)));
  }
}

/// More than the years of earlier versions.
bool needs_terms(const CohortParts& parts) {
  return parts.status_basis != StatusBasis::earlier_version && !parts.calendar.terms.empty();
}

nlohmann::ordered_json calendar_json(const Calendar& calendar) {
  nlohmann::ordered_json json;
  json["step"] = name_of_value(calendar.step);
  json["data_end"] = calendar.data_end;
  json["terms"] = nlohmann::ordered_json::array();
  for (const CalendarTerm& term : calendar.terms)
    json["terms"].push_back({{"label", term.label}, {"year", term.academic_year}, {"summer", term.summer}});
  return json;
}

template <class T>
T value_named(const std::string& name) {
  const auto names = value_names(T());
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw InputError(concat("'", name, "' is not known here"));
  return static_cast<T>(found - names.begin());
}

Calendar calendar_from(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const bool is_good = json.is_object() && json.contains("step") && json["step"].is_string() &&
                       json.contains("data_end") && json["data_end"].is_number_integer() && json.contains("terms") &&
                       json["terms"].is_array();
  if (!is_good) throw InputError("the calendar");
  Calendar calendar;
  calendar.step = value_named<PeriodStep>(json["step"].get<std::string>());
  const auto end = json["data_end"].get<std::int64_t>();
  if (end < -1 || end >= std::ssize(json["terms"])) throw InputError("the calendar");
  calendar.data_end = static_cast<std::int32_t>(end);
  for (const auto& term : json["terms"]) {
    const bool is_term = term.is_object() && term.contains("label") && term["label"].is_string() &&
                         term.contains("year") && term["year"].is_number_integer() && term.contains("summer") &&
                         term["summer"].is_boolean();
    const auto year = is_term ? term["year"].get<std::int64_t>() : -1;
    if (year < 0 || year > 9999) throw InputError("a term of the calendar");
    calendar.terms.push_back(
        {term["label"].get<std::string>(), static_cast<std::int32_t>(year), term["summer"].get<bool>()});
  }
  return calendar;
}

}  // namespace

std::string Cohort::fingerprint() const {
  DigestBuilder digest;
  // What a model makes of its students' attributes is no part of the students.
  digest.add((schema().traits().empty() ? schema() : schema().with_traits({})).to_json().dump());
  for (const std::string& id : parts_->students) {
    digest.add(id);
    digest.add(std::string_view("\0", 1));
  }
  digest.add(std::as_bytes(std::span(parts_->status)));
  digest.add(std::as_bytes(parts_->enrollments.row_begin()));
  digest.add(std::as_bytes(parts_->enrollments.columns()));
  add_years(*this, digest);
  for (const Attribute& attribute : parts_->attributes) {
    digest.add(attribute.name);
    digest.add(std::as_bytes(std::span(attribute.codes)));
    for (const std::string& value : attribute.values)
      digest.add(value);
  }
  if (needs_terms(*parts_)) {
    digest.add(calendar_json(calendar()).dump());
    digest.add(std::as_bytes(std::span(calendar().term_of)));
    digest.add(std::as_bytes(std::span(calendar().term_of_enrollment)));
  }
  return digest.finish().hex();
}

ArchiveWriter Cohort::to_archive() const {
  // What an earlier program would misread it must not read.
  const bool has_terms = needs_terms(*parts_);
  const bool is_new = has_terms || std::ranges::any_of(parts_->status, [](EnrollmentStatus status) {
                        return status > EnrollmentStatus::left;
                      });
  ArchiveWriter archive("cohort", is_new ? 2 : 1);
  const std::int64_t periods = schema().period_count();
  archive.set("schema", schema().to_json().dump());
  archive.set("provenance", parts_->provenance);
  archive.set("fingerprint", fingerprint());
  if (min_cell()) archive.set("min_cell", std::to_string(*min_cell()));
  if (status_basis() != StatusBasis::earlier_version)
    archive.set("status_basis", std::string(name_of_value(status_basis())));
  archive.add_texts("students", parts_->students);
  std::vector<std::uint8_t> status;
  status.reserve(parts_->status.size());
  for (const EnrollmentStatus here : parts_->status)
    status.push_back(static_cast<std::uint8_t>(here));
  archive.add("status", std::move(status), {student_count(), periods});
  archive.add("enrollments", parts_->enrollments, "bits");
  if (has_terms) {
    archive.set("calendar", calendar_json(calendar()).dump());
    if (has_calendar()) archive.add("term", calendar().term_of, {student_count(), periods});
    if (has_enrollment_terms())
      archive.add("enrollment_term", calendar().term_of_enrollment, {parts_->enrollments.one_count()});
  } else if (has_calendar()) {
    std::vector<std::int32_t> years;
    for (const std::int16_t term : calendar().term_of)
      years.push_back(term < 0 ? -1 : calendar().terms[static_cast<std::size_t>(term)].academic_year);
    archive.add("calendar", std::move(years), {student_count(), periods});
  }
  std::vector<std::string> names;
  for (std::size_t a = 0; a < parts_->attributes.size(); ++a) {
    names.push_back(parts_->attributes[a].name);
    archive.add_texts(concat("attribute.", a, ".values"), parts_->attributes[a].values);
    archive.add(concat("attribute.", a, ".codes"), parts_->attributes[a].codes);
  }
  archive.add_texts("attributes", names);
  return archive;
}

namespace {

/// Empty, or an object whose lists are such as prepare writes: readers need not ask again.
bool is_provenance(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return text.empty();
  const auto list = [&](const char* name) { return json.value(name, nlohmann::json::array()); };
  return list("selected").is_array() && list("stages").is_array() &&
         std::ranges::all_of(list("stages"), [](const nlohmann::json& stage) {
           if (!stage.is_object() || !stage.value("after", nlohmann::json("")).is_string()) return false;
           return std::ranges::all_of(std::array{"rows", "students", "courses"}, [&](const char* count) {
             return stage.value(count, nlohmann::json(0)).is_number_integer();
           });
         });
}

}  // namespace

Cohort Cohort::load(const ArchiveReader& archive) {
  archive.require_kind("cohort");
  try {
    CohortParts parts;
    const auto schema = nlohmann::json::parse(archive.metadata("schema"), nullptr, false);
    parts.schema = Schema::from_json(schema);
    parts.provenance = archive.metadata("provenance");
    if (!is_provenance(parts.provenance)) throw InputError("the record of how it was made");
    if (archive.has_metadata("min_cell")) {
      const auto least = number_in<std::int64_t>(archive.metadata("min_cell"));
      if (!least || *least < Disclosure::fewest) throw InputError("the fewest students that may be shown");
      parts.min_cell = least;
    }
    parts.students = archive.read_texts("students");
    const auto students = static_cast<std::int64_t>(parts.students.size());
    const std::int64_t periods = parts.schema.period_count();
    for (const std::uint8_t here : archive.read<std::uint8_t>("status", {students, periods}))
      parts.status.push_back(static_cast<EnrollmentStatus>(here));
    parts.status_basis = archive.has_metadata("status_basis")
                             ? value_named<StatusBasis>(archive.metadata("status_basis"))
                             : StatusBasis::earlier_version;
    parts.enrollments = BinaryMatrix(archive.read<std::int64_t>("enrollments.row_begin"),
                                     archive.read<std::int32_t>("enrollments.bits"), parts.schema.bit_count());
    if (archive.has_metadata("calendar")) parts.calendar = calendar_from(archive.metadata("calendar"));
    if (archive.has("term")) parts.calendar.term_of = archive.read<std::int16_t>("term", {students, periods});
    if (archive.has("enrollment_term"))
      parts.calendar.term_of_enrollment =
          archive.read<std::int16_t>("enrollment_term", {parts.enrollments.one_count()});
    if (archive.has("calendar"))
      parts.calendar = Calendar::of_years(archive.read<std::int32_t>("calendar", {students, periods}));
    const std::vector<std::string> names = archive.read_texts("attributes");
    for (std::size_t a = 0; a < names.size(); ++a) {
      parts.attributes.push_back({names[a], archive.read_texts(concat("attribute.", a, ".values")),
                                  archive.read<std::int32_t>(concat("attribute.", a, ".codes"), {students})});
    }
    return Cohort(std::move(parts));
  } catch (const InputError& error) {
    archive.refuse(concat("damaged: ", error.what()));
  }
}

std::vector<double> numeric_attribute(const Cohort& cohort, std::string_view name) {
  const Attribute& attribute = cohort.attribute(name);
  std::vector<double> numbers;
  for (const std::string& value : attribute.values) {
    const auto number = number_in<double>(value);
    if (!number || !std::isfinite(*number)) throw InputError(concat("attribute '", name, "': a value is not a number"));
    numbers.push_back(*number);
  }
  std::vector<double> result;
  result.reserve(attribute.codes.size());
  for (const Id code : attribute.codes) {
    if (code < 0) throw InputError(concat("attribute '", name, "': a student has no value"));
    result.push_back(numbers[static_cast<std::size_t>(code)]);
  }
  return result;
}

std::vector<double> student_weights(const Cohort& cohort, std::string_view name) {
  std::vector<double> weights = numeric_attribute(cohort, name);
  double total = 0;
  for (const double weight : weights) {
    if (!(weight >= 0)) throw InputError(concat("attribute '", name, "': a weight is negative"));
    // Beyond these the sums of training lose one student beside the other, or the priors, which count students.
    if (weight > 0 && !(weight >= 1e-6 && weight <= 1e9))
      throw InputError(concat("attribute '", name, "': a weight is neither 0 nor from 1e-6 to 1e9 students"));
    total += weight;
  }
  if (!(total > 0)) throw InputError(concat("attribute '", name, "': all weights are 0"));
  return weights;
}

}  // namespace desirepath::inline transcripts
