// What the page begins and ends with: the data, and how everything was made.
#include <cmath>

#include "desirepath/core/rounded.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {

/// How a model was trained and what came of it, from its record.
Table model_table(const StoredModel& stored, const std::string& cohort_fingerprint, const Disclosure& disclosure) {
  const TrainingRecord& training = stored.training;
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](std::string_view field, const std::string& value) {
    if (!value.empty()) rows.emplace_back(field, value);
  };
  const auto yes_or_no = [](bool answer) { return std::string(answer ? words::yes : words::no); };
  add(words::card_name, stored.model->name());
  add(words::card_parameters, with_separators(stored.model->parameter_count()));
  // Of few students neither their number nor how well they are described.
  const auto students = static_cast<double>(training.students.value_or(0));
  const bool is_disclosed = !training.students || disclosure.allows(students);
  if (!is_disclosed)
    add(words::card_trained, filled(words::under, {std::to_string(disclosure.least())}));
  else if (training.students)
    add(words::card_trained, with_separators(*training.students));
  // Not the fingerprint: who knows all students but one could try out what the last one took.
  if (is_disclosed && !training.data_fingerprint.empty())
    add(words::card_same, yes_or_no(training.data_fingerprint == cohort_fingerprint));
  if (is_disclosed && training.log_likelihood)
    add(words::card_likelihood, fixed(rounded_to_error(*training.log_likelihood, std::sqrt(students)), 1));
  if (training.iterations) add(words::card_iterations, with_separators(*training.iterations));
  if (training.converged) add(words::card_converged, yes_or_no(*training.converged));
  for (const auto& [name, value] : training.described)
    add(filled(words::card_option, {name}), value);
  for (const std::string& warning : training.warnings) {
    if (is_disclosed) add(words::card_warning, warning);
  }
  using Row = std::pair<std::string, std::string>;
  return {std::move(rows), {{words::field, &Row::first}, {words::value, &Row::second}}};
}

}  // namespace

ReportPart data_part(const ReportContext& context) {
  const DisclosedCohort& disclosed = context.disclosed;
  const std::string students = with_separators(disclosed.students), mean = fixed(disclosed.mean_courses, 1),
                    courses = with_separators(disclosed.courses_taken());
  PageSection section{"data", words::data_title};
  section.finding = sentence_of(
      words::data_finding, {students, mean, courses, std::to_string(context.input.cohort.schema().period_count())});
  section.figures = {{enrollment_areas(disclosed), sentence_of(words::areas_reading)},
                     {course_histogram(disclosed), sentence_of(words::histogram_reading)}};
  section.tables.push_back(
      {"popular", words::popular_caption, disclosed.course_table(context.input.cohort.schema()), {}, true});
  return {std::move(section),
          {sentence_of(words::data_point, {students, with_separators(disclosed.enrollments), courses, mean})},
          {}};
}

ReportPart card_part(const ReportContext& context) {
  const ReportInput& input = context.input;
  PageSection section{"card", words::card_title};
  section.finding = sentence_of(words::card_finding);
  section.text = input.remarks;
  if (const Table filters = context.disclosed.filter_table(); filters.row_count() > 0)
    section.tables.push_back({"filters", words::card_filters, filters});
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
      sentence_of(words::card_students, {with_separators(context.disclosed.students), std::to_string(input.seed),
                                         std::to_string(context.disclosure.least())})};
  for (const Pattern& limit : words::limits)
    section.notes.emplace_back(sentence_of(limit));
  return {std::move(section), {}, {}};
}

}  // namespace desirepath::inline reports
