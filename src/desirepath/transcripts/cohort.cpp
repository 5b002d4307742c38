#include "desirepath/transcripts/cohort.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline transcripts {

Cohort::Cohort(CohortParts parts) : parts_(std::make_shared<const CohortParts>(std::move(parts))) {
  const std::size_t students = parts_->students.size();
  const auto periods = static_cast<std::size_t>(schema().period_count());
  const std::size_t rows = students * periods;
  if (parts_->presence.size() != rows) throw InputError("cohort: a status for every student and period is needed");
  if (parts_->enrollments.row_count() != static_cast<std::int64_t>(rows) ||
      parts_->enrollments.column_count() != schema().bit_count()) {
    throw InputError("cohort: enrollments do not fit students, periods and courses");
  }
  if (!parts_->calendar.empty() && parts_->calendar.size() != rows) {
    throw InputError("cohort: a calendar year for every student and period is needed");
  }
  const Id courses = schema().course_count();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto bits = parts_->enrollments.row(static_cast<std::int64_t>(r));
    if (parts_->presence[r] > Presence::left) throw InputError("cohort: unknown status");
    has_left_ = has_left_ || parts_->presence[r] == Presence::left;
    if (bits.empty()) continue;
    const auto period = static_cast<Id>(r % periods);
    const bool inside = bits.front() >= period * courses && bits.back() < (period + 1) * courses;
    if (!inside) throw InputError("cohort: an enrollment outside its period");
    if (parts_->presence[r] != Presence::present) {
      throw InputError("cohort: an enrollment in a period without the student");
    }
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
    if (is_present(student, period) && calendar(student, period) >= 0) return calendar(student, period);
  }
  return -1;
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

Cohort Cohort::select(std::span<const std::int64_t> students) const {
  CohortParts chosen;
  chosen.schema = schema();
  chosen.provenance = parts_->provenance;
  const Id periods = schema().period_count();
  BinaryMatrixBuilder enrollments(schema().bit_count());
  for (const Attribute& attribute : parts_->attributes) {
    chosen.attributes.push_back({attribute.name, attribute.values, {}});
  }
  for (const std::int64_t student : students) {
    chosen.students.push_back(parts_->students[static_cast<std::size_t>(student)]);
    for (Id period = 0; period < periods; ++period) {
      const std::size_t from = row(student, period);
      chosen.presence.push_back(parts_->presence[from]);
      if (has_calendar()) chosen.calendar.push_back(parts_->calendar[from]);
      for (const Id bit : bits(student, period))
        enrollments.add(bit);
      enrollments.finish_row();
    }
    for (std::size_t a = 0; a < parts_->attributes.size(); ++a) {
      chosen.attributes[a].codes.push_back(parts_->attributes[a].codes[static_cast<std::size_t>(student)]);
    }
  }
  chosen.enrollments = std::move(enrollments).build();
  return Cohort(std::move(chosen));
}

std::string Cohort::fingerprint() const {
  DigestBuilder digest;
  digest.add(schema().to_json().dump());
  for (const std::string& id : parts_->students) {
    digest.add(id);
    digest.add(std::string_view("\0", 1));
  }
  digest.add(std::as_bytes(std::span(parts_->presence)));
  digest.add(std::as_bytes(parts_->enrollments.row_begin()));
  digest.add(std::as_bytes(parts_->enrollments.columns()));
  digest.add(std::as_bytes(std::span(parts_->calendar)));
  for (const Attribute& attribute : parts_->attributes) {
    digest.add(attribute.name);
    digest.add(std::as_bytes(std::span(attribute.codes)));
    for (const std::string& value : attribute.values)
      digest.add(value);
  }
  return digest.finish().hex();
}

ArchiveWriter Cohort::to_archive() const {
  ArchiveWriter archive("cohort");
  const std::int64_t periods = schema().period_count();
  archive.set("schema", schema().to_json().dump());
  archive.set("provenance", parts_->provenance);
  archive.set("fingerprint", fingerprint());
  archive.add_texts("students", parts_->students);
  std::vector<std::uint8_t> presence;
  presence.reserve(parts_->presence.size());
  for (const Presence here : parts_->presence)
    presence.push_back(static_cast<std::uint8_t>(here));
  archive.add("status", std::move(presence), {student_count(), periods});
  archive.add("enrollments", parts_->enrollments, "bits");
  if (has_calendar()) archive.add("calendar", parts_->calendar, {student_count(), periods});
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
    parts.students = archive.read_texts("students");
    const auto students = static_cast<std::int64_t>(parts.students.size());
    const std::int64_t periods = parts.schema.period_count();
    for (const std::uint8_t here : archive.read<std::uint8_t>("status", {students, periods}))
      parts.presence.push_back(static_cast<Presence>(here));
    parts.enrollments = BinaryMatrix(archive.read<std::int64_t>("enrollments.row_begin"),
                                     archive.read<std::int32_t>("enrollments.bits"), parts.schema.bit_count());
    if (archive.has("calendar")) parts.calendar = archive.read<std::int32_t>("calendar", {students, periods});
    if (std::ranges::any_of(parts.calendar, [](std::int32_t year) { return year < -1 || year > 9999; }))
      throw InputError("a calendar year out of range");
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
