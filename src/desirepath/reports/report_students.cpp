// Single students without showing any: how typical they are, who is late, how well a hidden period is filled in.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "desirepath/core/text.h"
#include "desirepath/queries/delays.h"
#include "desirepath/queries/held_out.h"
#include "desirepath/queries/student_groups.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/queries/typicality.h"
#include "desirepath/reports/calibration_figure.h"
#include "desirepath/reports/delay_chart.h"
#include "desirepath/reports/evaluation_figures.h"
#include "desirepath/reports/portrait_figures.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {

Cohort drawn_students(const AskedModel& asked, std::int64_t most, const RandomStream& stream) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(asked.students.student_count()));
  std::iota(all.begin(), all.end(), 0);
  return asked.students.select(draw_students(std::move(all), most, stream));
}

/// Bins of a round width, wider where they would hold few. The axis ends where enough students lie beyond: all of them
/// stand in the bin at its end, for the lowest and the highest score are one student's each.
std::vector<TypicalityBin> bins_of(std::vector<double> values, const Disclosure& disclosure, bool& merged) {
  constexpr int about = 40;
  std::ranges::sort(values);
  const auto tail = std::min(static_cast<std::size_t>(disclosure.least()), values.size()) - 1;
  const double low = std::min(values[tail], values[values.size() - 1 - tail]),
               high = std::max(values[tail], values[values.size() - 1 - tail]);
  const double width = axis_ticks(std::max(high - low, 1.0), about)[1];
  const double start = std::floor(low / width);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(std::floor(high / width) - start) + 1, 0);
  for (const double value : values)
    ++counts[static_cast<std::size_t>(std::floor(std::clamp(value, low, high) / width) - start)];
  std::vector<TypicalityBin> bins;
  for (const DisclosedBin& bin : merge_small_bins(counts, 1, disclosure)) {
    merged = merged || bin.last > bin.first;
    bins.push_back({(start + static_cast<double>(bin.first)) * width,
                    (start + static_cast<double>(bin.last) + 1) * width, bin.students});
  }
  return bins;
}

/// Two courses hardly ever taken in one period; a count of few is not told, nor a chance that would tell it.
Table apart_table(const ReportContext& context, const Schema& schema, const std::vector<ApartPair>& pairs) {
  Table rows({{std::string(words::course)},
              {std::string(words::other_course)},
              {std::string(words::took_both)},
              {std::string(words::expected_together), 1},
              {std::string(words::together)}});
  for (const ApartPair& pair : pairs) {
    const bool disclosed = context.disclosure.allows(static_cast<double>(pair.together));
    rows.add_row({context.course(schema, pair.a), context.course(schema, pair.b), pair.both, pair.expected,
                  disclosed ? std::to_string(pair.together)
                            : filled(words::under, {std::to_string(context.disclosure.least())})});
  }
  return rows;
}

/// Clocks differ from run to run; a page does not.
Table without_column(const Table& table, std::string_view name) {
  const auto at = std::ranges::find(table.columns(), name, &TableColumn::name) - table.columns().begin();
  if (at == std::ssize(table.columns())) return table;
  std::vector<TableColumn> columns = table.columns();
  columns.erase(columns.begin() + at);
  Table kept(std::move(columns));
  for (std::vector<Cell> row : table.rows()) {
    row.erase(row.begin() + at);
    kept.add_row(std::move(row));
  }
  return kept;
}

}  // namespace

ReportPart typicality_part(const ReportContext& context) {
  const AskedModel& asked = context.judging();
  if (asked.model().likelihood_kinds().empty()) return {std::nullopt, {}, sentence_of(words::typicality_unknown)};
  const Cohort students = drawn_students(asked, 4 * context.settings.students, context.stream("typicality"));
  const auto size = static_cast<std::size_t>(students.student_count() / 10);
  if (!context.disclosure.rests(static_cast<double>(size)))
    return {std::nullopt, {}, sentence_of(words::typicality_few, {std::to_string(context.disclosure.least())})};
  const StudentScores scores = score_students(asked.model(), EvidenceBatch::of(students),
                                              asked.model().likelihood_kinds().front(), context.input.executor);
  std::string why_not;
  const std::optional<LeftOutScores> left_out =
      left_out_scores(asked.stored, students, scores.kind, LeaveOut::automatic, context.stream("left out"),
                      context.input.executor, context.input.progress, why_not);
  const std::vector<double> ranked =
      left_out ? std::vector<double>(left_out->log_likelihood.begin(), left_out->log_likelihood.end())
               : scores.log_likelihood;
  const Percentiles typical = percentiles(ranked, groups_by_presence(students, context.disclosure.least()));
  const std::vector<std::int64_t> order = least_typical_first(typical);
  const std::string major = usual_major(students);
  const auto tenth = static_cast<std::ptrdiff_t>(size);
  const auto unusual_disclosed = portray(students, {order.begin(), order.begin() + tenth}, major, context.disclosure),
             usual_disclosed = portray(students, {order.end() - tenth, order.end()}, major, context.disclosure);
  if (!unusual_disclosed || !usual_disclosed)
    return {std::nullopt, {}, sentence_of(words::typicality_few, {std::to_string(context.disclosure.least())})};
  const GroupPortrait &unusual = *unusual_disclosed, &usual = *usual_disclosed;
  const std::vector<std::string> numbers = {fixed(unusual.courses, 1), fixed(unusual.subjects, 1),
                                            fixed(usual.courses, 1), fixed(usual.subjects, 1)};
  PageSection section{"typicality", std::string(words::typicality_title)};
  const bool by_subject = has_subjects(students.schema());
  section.finding =
      sentence_of(by_subject ? words::typicality_finding : words::typicality_finding_no_subjects, numbers);
  section.text = {sentence_of(words::typicality_text)};
  if (by_subject) section.figures.push_back({coursework_pies(usual, unusual), sentence_of(words::pies_reading)});
  std::vector<double> possible = scores.log_likelihood;
  std::erase_if(possible, [](double value) { return !std::isfinite(value); });
  if (context.disclosure.rests(static_cast<double>(possible.size()))) {
    bool merged = false;
    const std::vector<TypicalityBin> bins = bins_of(possible, context.disclosure, merged);
    section.figures.push_back({typicality_histogram(bins, merged), sentence_of(words::typicality_reading)});
  }
  section.notes = {sentence_of(left_out ? words::typicality_basis_left_out : words::typicality_basis,
                               {with_separators(students.student_count()), asked.model().name()})};
  if (!why_not.empty()) section.notes.emplace_back(sentence_of(words::typicality_own));
  if (scores.impossible > 0) {
    section.notes.push_back(context.disclosure.rests(static_cast<double>(scores.impossible))
                                ? sentence_of(words::impossible, {with_separators(scores.impossible)})
                                : sentence_of(words::impossible_few));
  }
  Paragraph finding = section.finding;
  return {std::move(section),
          {by_subject ? Paragraph(sentence_of(words::typicality_point, numbers)) : std::move(finding)},
          {}};
}

ReportPart delays_part(const ReportContext& context) {
  const std::string title(words::delays_title);
  const AskedModel* asked = context.answering();
  if (asked == nullptr) return {std::nullopt, {}, sentence_of(words::no_answers, {title})};
  const Schema& schema = asked->model().schema();
  if (schema.period_count() < 2) return {std::nullopt, {}, sentence_of(words::one_period, {title})};
  const std::string& by = context.settings.by;
  std::vector<JudgedStudent> judged =
      judge_timings(asked->model(), asked->students, context.settings.students, false, context.stream("delays"),
                    context.input.executor, context.input.progress);
  const StudentGroups groups =
      by.empty() ? StudentGroups() : disclosed_groups(groups_of(asked->students, by), context.disclosure);
  std::vector<GroupDelay> delays =
      find_delays(judged, groups.of_student, groups.names, schema.course_count(), context.disclosure);
  ReportPart part{PageSection{"delays", title}, {}, {}};
  PageSection& section = *part.section;
  const std::optional<std::int64_t> disclosed =
      disclosed_judged(std::ssize(judged), asked->students, context.disclosure);
  section.notes = {disclosed ? sentence_of(words::delays_basis, {with_separators(*disclosed)})
                             : sentence_of(words::delays_basis_withheld)};
  if (!by.empty()) {
    const LabelNull null{label_strata(asked->students, by), context.stream("labels"), context.input.executor};
    const FindingCount found =
        keep_certain_delays(delays, judged, groups, schema.course_count(), null, context.settings.chance.q);
    section.notes.push_back(sentence_of(words::delays_chance, {by, chance_words(found, "difference", "differences")}));
  } else {
    const FindingCount found = keep_certain_delays(delays, context.settings.chance.q);
    section.notes.push_back(sentence_of(words::delays_chance_all, {chance_words(found, "course", "courses")}));
  }
  disclose_students(delays, judged, asked->students, groups, context.disclosure);
  const auto is_late = [](const GroupDelay& delay) { return delay.effect() - 1.96 * delay.error() > 0; };
  const auto latest =
      std::ranges::find_if(delays, [&](const GroupDelay& delay) { return is_late(delay) && is_headline(delay.group); });
  if (latest == delays.end()) {
    section.finding = std::ranges::any_of(delays, is_late) ? sentence_of(words::delays_unnamed)
                      : by.empty() || !delays.empty()      ? sentence_of(words::delays_none)
                                                           : sentence_of(words::delays_none_by, {by});
  } else {
    const std::string course = context.course(schema, latest->course), later = fixed(latest->effect(), 1);
    section.finding = by.empty() ? sentence_of(words::delays_finding_all, {course, later})
                                 : sentence_of(words::delays_finding, {course, concat(by, " ", latest->group), later});
    part.points.push_back(by.empty()
                              ? sentence_of(words::delays_point_all, {course, later})
                              : sentence_of(words::delays_point, {course, later, concat(by, " ", latest->group)}));
  }
  if (!delays.empty())
    section.figures.push_back({delay_chart(delays, schema, by, disclosed), sentence_of(words::delays_reading)});
  constexpr double most_by_chance = 0.05;
  constexpr std::size_t most_pairs = 8;
  std::vector<JudgedStudent> single =
      one_period_students(asked->students, std::ssize(judged), context.stream("delays").child("one period"));
  std::ranges::move(single, std::back_inserter(judged));
  std::vector<ApartPair> apart = surely_apart(judged, schema.course_count(), most_by_chance, context.disclosure);
  apart.resize(std::min(apart.size(), most_pairs));
  if (!apart.empty()) {
    section.tables.push_back({"apart", std::string(words::apart_caption), apart_table(context, schema, apart),
                              sentence_of(words::apart_reading)});
    part.points.push_back(sentence_of(
        words::apart_point, {context.course(schema, apart.front().a), context.course(schema, apart.front().b)}));
  }
  return part;
}

ReportPart calibration_part(const ReportContext& context) {
  constexpr double most_seconds = 120;
  constexpr std::int64_t most_trained = 4000, asked_of_each = 4;  // students trained on for one asked about
  const AskedModel& asked = context.judging();
  const Paragraph few = sentence_of(words::calibration_few, {std::to_string(context.disclosure.least())});
  if (asked.model().schema().period_count() < 3) return {std::nullopt, {}, few};
  // The model may have learned from any student of the page, so another one is trained in the same way on some of them
  // and asked about the others.
  const std::int64_t most = std::min(context.settings.students, most_trained + most_trained / asked_of_each);
  const Cohort drawn = drawn_students(asked, most, context.stream("calibration"));
  std::vector<std::int64_t> order(static_cast<std::size_t>(drawn.student_count()));
  std::iota(order.begin(), order.end(), 0);
  RandomStream stream = context.stream("calibration").child("parts");
  shuffle(order, stream);
  std::vector<std::int64_t> trained, held_out;
  for (std::size_t i = 0; i < order.size(); ++i)
    (i % (asked_of_each + 1) == 0 ? held_out : trained).push_back(order[i]);
  std::ranges::sort(trained);
  std::ranges::sort(held_out);
  const Cohort training = drawn.select(trained), students = drawn.select(held_out);
  if (!context.disclosure.rests(static_cast<double>(held_out.size()))) return {std::nullopt, {}, few};
  const std::optional<double> seconds = seconds_to_train_alike(asked.stored, training, context.input.executor);
  if (!seconds || *seconds > most_seconds) return {std::nullopt, {}, sentence_of(words::calibration_unknown)};
  const std::unique_ptr<Model> alike =
      train_alike(asked.stored, training, context.input.executor, context.input.progress);
  const InferenceScore score = infer_period(*alike, training, students, {}, context.input.executor);
  const std::vector<CalibrationBin> bins = merge_calibration_bins(score.bins, context.disclosure);
  if (!context.disclosure.rests(static_cast<double>(score.students)) || bins.empty()) return {std::nullopt, {}, few};
  PageSection section{"calibration", std::string(words::calibration_title)};
  section.finding = sentence_of(words::calibration_finding, {percent(score.accuracy), percent(score.most_frequent)});
  section.text = {sentence_of(words::calibration_text)};
  section.figures.push_back(
      {calibration_figure(bins, asked.model().name(), score.students), sentence_of(words::calibration_reading)});
  section.notes = {sentence_of(words::calibration_basis, {with_separators(score.students), alike->name(),
                                                          with_separators(training.student_count())})};
  return {std::move(section),
          {sentence_of(words::calibration_point, {percent(score.accuracy), percent(score.most_frequent)})},
          {}};
}

ReportPart evaluation_part(const ReportContext& context) {
  const Evaluation* evaluation = context.input.evaluation;
  if (evaluation == nullptr || evaluation->summaries.empty())
    return {std::nullopt, {}, sentence_of(words::no_evaluation)};
  PageSection section{"evaluation", std::string(words::evaluation_title)};
  section.finding = sentence_of(words::evaluation_finding);
  Figure errors = error_by_size(*evaluation);
  errors.table = without_column(errors.table, "fit_seconds");
  section.figures.push_back({std::move(errors), sentence_of(words::evaluation_reading)});
  section.figures.push_back({best_of_models(*evaluation), sentence_of(words::best_reading)});
  for (const std::string& remark : evaluation->remarks)
    section.notes.emplace_back(sentence_of(words::evaluation_remark, {remark}));
  return {std::move(section), {}, {}};
}

}  // namespace desirepath::inline reports
