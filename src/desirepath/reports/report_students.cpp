// Single students without showing any: how typical they are, who is late, how well a hidden period is filled in.
#include <algorithm>
#include <numeric>

#include "desirepath/core/text.h"
#include "desirepath/queries/delays.h"
#include "desirepath/queries/held_out.h"
#include "desirepath/queries/student_groups.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/queries/typicality.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {

Cohort drawn_students(const AskedModel& asked, std::int64_t most, const RandomStream& stream) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(asked.students.student_count()));
  std::iota(all.begin(), all.end(), 0);
  return asked.students.select(draw_students(std::move(all), most, stream));
}

}  // namespace

ReportPart typicality_part(const ReportContext& context) {
  const AskedModel& asked = context.judging();
  if (asked.model().likelihood_kinds().empty()) return {std::nullopt, {}, sentence_of(words::typicality_unknown)};
  const Cohort students = drawn_students(asked, 4 * context.settings.students, context.stream("typicality"));
  const std::int64_t size = students.student_count() / 10;
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
  const auto contrast = contrast_typical(students, typical, size, usual_major(students), context.disclosure);
  if (!contrast)
    return {std::nullopt, {}, sentence_of(words::typicality_few, {std::to_string(context.disclosure.least())})};
  const GroupPortrait &unusual = contrast->least, &usual = contrast->most;
  const std::vector<std::string> numbers = {fixed(unusual.courses, 1), fixed(unusual.subjects, 1),
                                            fixed(usual.courses, 1), fixed(usual.subjects, 1)};
  PageSection section{"typicality", words::typicality_title};
  const bool by_subject = has_subjects(students.schema());
  section.finding =
      sentence_of(by_subject ? words::typicality_finding : words::typicality_finding_no_subjects, numbers);
  section.text = {sentence_of(words::typicality_text)};
  if (by_subject) section.figures.push_back({coursework_pies(usual, unusual), sentence_of(words::pies_reading)});
  const ScoreHistogram histogram = score_histogram(scores.log_likelihood, context.disclosure);
  if (!histogram.bins.empty())
    section.figures.push_back({typicality_histogram(histogram), sentence_of(words::typicality_reading)});
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
  if (asked->model().schema().period_count() < 2) return {std::nullopt, {}, sentence_of(words::one_period, {title})};
  constexpr std::size_t most_pairs = 8;
  const std::string& by = context.settings.by;
  DelaySettings settings{by, "", context.settings.students};
  settings.chance = context.settings.chance;
  settings.disclosure = context.disclosure;
  const Delays lost = ask_delays(context.about(*asked), settings);
  ReportPart part{PageSection{"delays", title}, {}, {}};
  PageSection& section = *part.section;
  section.notes = {
      lost.students ? sentence_of(words::delays_basis, {with_separators(*lost.students)})
                    : sentence_of(words::delays_basis_withheld),
      by.empty() ? sentence_of(words::delays_chance_all, {chance_words(lost.found, "course", "courses")})
                 : sentence_of(words::delays_chance, {by, chance_words(lost.found, "difference", "differences")})};
  const auto is_late = [](const GroupDelay& delay) { return delay.low() > 0; };
  const auto latest = std::ranges::find_if(
      lost.delays, [&](const GroupDelay& delay) { return is_late(delay) && is_headline(delay.group); });
  if (latest == lost.delays.end()) {
    section.finding = std::ranges::any_of(lost.delays, is_late) ? sentence_of(words::delays_unnamed)
                      : by.empty() || !lost.delays.empty()      ? sentence_of(words::delays_none)
                                                                : sentence_of(words::delays_none_by, {by});
  } else {
    const std::string &course = latest->name.title, later = fixed(latest->effect(), 1),
                      whose = concat(by, " ", latest->group);
    section.finding = by.empty() ? sentence_of(words::delays_finding_all, {course, later})
                                 : sentence_of(words::delays_finding, {course, whose, later});
    part.points.push_back(by.empty() ? sentence_of(words::delays_point_all, {course, later})
                                     : sentence_of(words::delays_point, {course, later, whose}));
  }
  if (!lost.delays.empty()) section.figures.push_back({delay_chart(lost), sentence_of(words::delays_reading)});
  if (!lost.apart.empty()) {
    const Table apart = lost.apart_table()
                            .first(most_pairs)
                            .pick({{"course", words::course},
                                   {"other", words::other_course},
                                   {"took_both", words::took_both},
                                   {"expected_together", words::expected_together},
                                   {"together_in_words", words::together}});
    section.tables.push_back({"apart", words::apart_caption, apart, sentence_of(words::apart_reading)});
    part.points.push_back(
        sentence_of(words::apart_point, {lost.apart.front().name.title, lost.apart.front().other.title}));
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
  PageSection section{"calibration", words::calibration_title};
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
  PageSection section{"evaluation", words::evaluation_title};
  section.finding = sentence_of(words::evaluation_finding);
  // Clocks differ from run to run; a page does not.
  section.figures.push_back({error_by_size(evaluation->repeatable()), sentence_of(words::evaluation_reading)});
  section.figures.push_back({best_of_models(*evaluation), sentence_of(words::best_reading)});
  for (const std::string& remark : evaluation->remarks)
    section.notes.emplace_back(sentence_of(words::evaluation_remark, {remark}));
  return {std::move(section), {}, {}};
}

}  // namespace desirepath::inline reports
