// What the page begins and ends with: the data, and how everything was made.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/rounded.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/cohort_description.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {

std::string json_text(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// How a model was trained and what came of it, from its record.
Table model_table(const StoredModel& stored, const std::string& cohort_fingerprint, const Disclosure& disclosure) {
  const auto record = nlohmann::ordered_json::parse(stored.training, nullptr, false);
  const auto part = [&](const char* name) {
    return record.is_object() && record.contains(name) ? record[name] : nlohmann::ordered_json();
  };
  Table rows({{std::string(words::field)}, {std::string(words::value)}});
  const auto add = [&](std::string_view field, std::string value) {
    if (!value.empty()) rows.add_row({std::string(field), std::move(value)});
  };
  add(words::card_name, stored.model->name());
  add(words::card_parameters, with_separators(stored.model->parameter_count()));
  const nlohmann::ordered_json result = part("result"), fingerprint = part("data_fingerprint");
  const auto number = [&](const char* name) -> std::string {
    if (!result.is_object() || !result.contains(name) || !result[name].is_number()) return {};
    return result[name].is_number_integer() ? with_separators(result[name].get<std::int64_t>())
                                            : fixed(result[name].get<double>(), 1);
  };
  const bool has_size = result.is_object() && result.contains("students") && result["students"].is_number();
  const double students = has_size ? result["students"].get<double>() : 0;
  // Of few students neither their number nor how well they are described.
  const bool is_told = !has_size || disclosure.tells(students);
  add(words::card_trained, is_told ? number("students") : filled(words::under, {std::to_string(disclosure.least())}));
  // Not the fingerprint: who knows all students but one could try out what the last one took.
  if (is_told && fingerprint.is_string())
    add(words::card_same, std::string(fingerprint == cohort_fingerprint ? words::yes : words::no));
  if (is_told && result.is_object() && result.contains("log_likelihood") && result["log_likelihood"].is_number()) {
    const double likelihood = result["log_likelihood"].get<double>();
    add(words::card_likelihood, fixed(rounded_to_error(likelihood, std::sqrt(students)), 1));
  }
  add(words::card_iterations, number("iterations"));
  if (result.is_object() && result.contains("converged") && result["converged"].is_boolean())
    add(words::card_converged, std::string(result["converged"].get<bool>() ? words::yes : words::no));
  if (const nlohmann::ordered_json options = part("options"); options.is_object()) {
    for (const auto& [name, value] : options.items())
      add(filled(words::card_option, {name}), json_text(value));
  }
  if (is_told && result.is_object() && result.contains("warnings") && result["warnings"].is_array()) {
    for (const auto& warning : result["warnings"])
      add(words::card_warning, json_text(warning));
  }
  return rows;
}

}  // namespace

ReportPart data_part(const ReportContext& context) {
  const ToldCohort& told = context.told;
  CohortDescription description(context.input.cohort, told);
  description.choose_table("courses");
  const std::string students = with_separators(told.students), mean = fixed(told.mean_courses, 1),
                    courses = with_separators(told.courses_taken());
  PageSection section{"data", std::string(words::data_title)};
  section.finding = sentence_of(
      words::data_finding, {students, mean, courses, std::to_string(context.input.cohort.schema().period_count())});
  section.figures = {{description.figures()[0], sentence_of(words::areas_reading)},
                     {description.figures()[1], sentence_of(words::histogram_reading)}};
  section.tables.push_back({"popular", std::string(words::popular_caption), description.table(), {}, true});
  return {std::move(section),
          {sentence_of(words::data_point, {students, with_separators(told.enrollments), courses, mean})},
          {}};
}

ReportPart card_part(const ReportContext& context) {
  const ReportInput& input = context.input;
  PageSection section{"card", std::string(words::card_title)};
  section.finding = sentence_of(words::card_finding);
  section.text = input.remarks;
  if (const Table filters = filter_table(context.told); filters.row_count() > 0)
    section.tables.push_back({"filters", std::string(words::card_filters), filters});
  const bool is_two = input.answers != nullptr;
  const auto add = [&](const char* id, std::string_view role, const AskedModel& asked) {
    section.tables.push_back({id,
                              filled(words::card_model, {std::string(role)}),
                              model_table(asked.stored, asked.students.fingerprint(), context.disclosure),
                              {},
                              true});
  };
  add("card-model", is_two ? words::card_first : words::card_all, input.states);
  if (is_two) add("card-answers", words::card_answers, *input.answers);
  section.notes = {
      sentence_of(words::card_students, {with_separators(context.told.students), std::to_string(input.seed),
                                         std::to_string(context.disclosure.least())})};
  for (const Pattern& limit : words::limits)
    section.notes.emplace_back(sentence_of(limit));
  return {std::move(section), {}, {}};
}

}  // namespace desirepath::inline reports
