// What opens what, ways to a goal, every course and its neighbours: what the answering model gives.
#include <algorithm>

#include "desirepath/core/text.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/plan.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {

constexpr std::size_t most_pairs = 25, listed_goals = 5, neighbours = 5;

/// Why a section of answers is not there; empty: it can be.
Paragraph why_no_answers(const ReportContext& context, std::string_view section) {
  if (context.answering() == nullptr) return sentence_of(words::no_answers, {std::string(section)});
  if (context.answering()->model().schema().period_count() < 2)
    return sentence_of(words::one_period, {std::string(section)});
  return {};
}

/// How many of the later course's students: all stands for all but a few, whose number is not told.
std::string had_it_first(const PrerequisitePair& pair) {
  return pair.did_nearly_all() ? words::nearly_all : percent(pair.coverage);
}

std::string_view word_for(PrerequisiteStatus status) {
  return status == PrerequisiteStatus::tacit   ? words::tacit
         : status == PrerequisiteStatus::both  ? words::both
         : status == PrerequisiteStatus::found ? words::found
                                               : words::unfollowed;
}

/// A goal, and the first step that raises its chance most.
struct FirstStep {
  std::string goal;
  double anyone = 0;
  PlanStep step;
  std::vector<PlanWay> ways;
};

std::vector<Id> goals_of(const Prerequisites& found) {
  std::vector<Id> goals;
  for (const PrerequisitePair& pair : found.pairs) {
    if (goals.size() < listed_goals && pair.status != PrerequisiteStatus::unfollowed &&
        std::ranges::find(goals, pair.course) == goals.end())
      goals.push_back(pair.course);
  }
  return goals;
}

constexpr std::int64_t drawn_ways = 400;

std::optional<FirstStep> ask_plan(const ReportContext& context, Id goal, const std::vector<std::uint8_t>& may_name) {
  constexpr std::size_t ways = 3;
  const AskedModel& asked = *context.answering();
  const Schema& schema = asked.model().schema();
  const EvidenceBatch nothing = nothing_known(schema, 1);
  PlanTask task{nothing, {}, 0};
  task.goal.any.emplace_back();
  for (Id t = 1; t < schema.period_count(); ++t)
    task.goal.any.back().push_back(schema.bit(t, goal));
  Plan plan = make_plan(asked.model(), task, context.input.executor);
  const auto students = static_cast<double>(asked.students.student_count());
  std::erase_if(plan.steps, [&](const PlanStep& step) {
    return step.course == goal || may_name[static_cast<std::size_t>(step.course)] == 0 || step.chance < 0.01 ||
           !context.disclosure.rests(step.chance * students);
  });
  if (plan.steps.empty() || !(plan.steps.front().raises() > 0)) return std::nullopt;
  FirstStep first{full_name(schema.course(goal)), plan.chance, plan.steps.front(), {}};
  first.ways = find_ways(asked.model(), task, drawn_ways, ways,
                         context.stream("plans").child(static_cast<std::uint64_t>(goal)), context.input.executor);
  for (PlanWay& way : first.ways) {
    std::erase_if(way.courses, [&](const PlanWay::Entry& entry) {
      return may_name[static_cast<std::size_t>(schema.course_of(entry.bit))] == 0;
    });
  }
  return first;
}

Table ways_table(const std::vector<std::string>& periods, const std::vector<PlanWay>& ways) {
  struct Row {
    std::string number;
    PlanWay way;
  };
  std::vector<Row> rows;
  for (const PlanWay& way : ways)
    rows.push_back({std::to_string(rows.size() + 1), way});
  std::vector<ColumnOf<Row>> columns = {
      {words::way, &Row::number},
      {words::share, [](const Row& row) { return row.way.share; }, {.percent = Percent::fitting}}};
  for (const std::string& period : periods)
    columns.push_back({concat(words::period, " ", period), [period](const Row& row) {
                         std::vector<std::string> names;
                         for (const PlanWay::Entry& entry : row.way.courses)
                           if (entry.period == period) names.push_back(entry.course.name);
                         return join(names, ", ");
                       }});
  return {std::move(rows), std::move(columns)};
}

}  // namespace

std::optional<Prerequisites> ask_for_pairs(const ReportContext& context) {
  const auto needs_them = [](const std::string& name) {
    return name == "prerequisites" || name == "plans" || name == "courses";
  };
  const auto& wanted = context.settings.sections;
  const AskedModel* asked = context.answering();
  if (asked == nullptr || asked->model().schema().period_count() < 2) return std::nullopt;
  if (!wanted.empty() && std::ranges::none_of(wanted, needs_them)) return std::nullopt;
  PrerequisiteSettings settings;
  settings.options.students = 100;
  settings.options.disclosure = context.disclosure;
  settings.compared = context.settings.students;
  settings.chance = context.settings.chance;
  Prerequisites found = ask_prerequisites(context.about(*asked), settings);
  std::erase_if(found.pairs, [](const PrerequisitePair& pair) {
    return pair.status == PrerequisiteStatus::none || pair.status == PrerequisiteStatus::implied;
  });
  return found;
}

ReportPart prerequisites_part(const ReportContext& context) {
  if (Paragraph why = why_no_answers(context, words::prerequisites_title); !why.empty())
    return {std::nullopt, {}, std::move(why)};
  const Prerequisites& found = *context.prerequisites;
  const std::int64_t unfollowed = found.count(PrerequisiteStatus::unfollowed);
  ReportPart part{PageSection{"prerequisites", words::prerequisites_title}, {}, {}};
  PageSection& section = *part.section;
  section.finding = sentence_of(words::prerequisites_none);
  const auto strongest = std::ranges::find_if(found.pairs, &PrerequisitePair::is_new);
  if (strongest != found.pairs.end()) {
    section.finding = sentence_of(
        words::prerequisites_found,
        {found.has_list ? chance_words(found.found, words::prerequisites_listed_one, words::prerequisites_listed_many)
                        : chance_words(found.found, words::prerequisites_found_one, words::prerequisites_found_many)});
    section.finding.sentences.push_back(
        sentence_of(words::prerequisites_strongest,
                    {strongest->name.title, strongest->course_name.title, had_it_first(*strongest)}));
    section.finding.sentences.push_back(sentence_of(words::prerequisites_candidates));
    part.points.push_back(section.finding);
  }
  if (unfollowed > 0) {
    const std::int64_t listed = unfollowed + found.count(PrerequisiteStatus::both);
    part.points.push_back(
        sentence_of(words::prerequisites_unfollowed,
                    {counted(listed, "listed prerequisite", "listed prerequisites"), with_separators(unfollowed)}));
  }
  section.text = {sentence_of(words::prerequisites_text)};
  if (!found.has_list) section.text.emplace_back(sentence_of(words::prerequisites_no_list));
  if (!found.pairs.empty()) {
    const Table pairs = found.pair_table(word_for)
                            .first(most_pairs)
                            .pick({{"prerequisite", words::before},
                                   {"course", words::course},
                                   {"odds", words::odds},
                                   {"least_odds", words::low},
                                   {"had_first", words::had_it},
                                   {"status", words::status}});
    section.figures.push_back({prerequisite_graph(found), sentence_of(words::graph_reading)});
    section.tables.push_back({"pairs", words::pairs_caption, pairs, sentence_of(words::pairs_reading)});
  }
  section.notes = {sentence_of(words::prerequisites_basis,
                               {with_separators(found.compared), std::to_string(context.disclosure.least()),
                                fixed(context.settings.chance.q, 2)})};
  return part;
}

ReportPart plans_part(const ReportContext& context) {
  if (Paragraph why = why_no_answers(context, words::plans_title); !why.empty())
    return {std::nullopt, {}, std::move(why)};
  const AskedModel& asked = *context.answering();
  const Schema& schema = asked.model().schema();
  const std::vector<std::uint8_t>& may_name = context.disclosed_courses(asked);
  std::vector<FirstStep> plans;
  for (const Id goal : goals_of(*context.prerequisites)) {
    if (std::optional<FirstStep> plan = ask_plan(context, goal, may_name)) plans.push_back(std::move(*plan));
  }
  if (plans.empty()) return {std::nullopt, {}, sentence_of(words::plans_none)};
  const Look percentage{.percent = Percent::fitting};
  const Table rows(plans, {{words::goal, &FirstStep::goal},
                           {words::anyone, &FirstStep::anyone, percentage},
                           {concat(words::first_step, ", ", words::period, " ", schema.period(0)),
                            [](const FirstStep& plan) { return plan.step.name; }},
                           {words::with_it, [](const FirstStep& plan) { return plan.step.with; }, percentage},
                           {words::without_it, [](const FirstStep& plan) { return plan.step.without; }, percentage}});
  const FirstStep& first =
      *std::ranges::max_element(plans, {}, [](const FirstStep& plan) { return plan.step.raises(); });
  PageSection section{"plans", words::plans_title};
  section.finding = sentence_of(words::plans_finding, {first.step.name.title, schema.period(0), first.goal,
                                                       percent(first.step.with), percent(first.step.without)});
  section.text = {sentence_of(words::plans_text)};
  section.tables.push_back({"goals", words::plans_caption, rows, sentence_of(words::plans_reading)});
  section.tables.push_back({"ways", filled(words::ways_caption, {first.goal}), ways_table(schema.periods(), first.ways),
                            sentence_of(words::ways_reading)});
  section.notes = {sentence_of(words::plans_basis, {asked.model().name(), std::to_string(drawn_ways)})};
  Paragraph finding = section.finding;
  return {std::move(section), {std::move(finding)}, {}};
}

ReportPart courses_part(const ReportContext& context) {
  const AskedModel& asked = context.judging();
  const Schema& schema = asked.model().schema();
  const std::vector<std::uint8_t>& may_name = context.disclosed_courses(asked);
  const auto size = static_cast<std::size_t>(schema.course_count());
  std::vector<std::vector<std::string>> before(size), after(size), along(size);
  const auto add = [&](std::vector<std::string>& list, Id course) {
    if (list.size() < neighbours) list.push_back(full_name(schema.course(course)));
  };
  if (context.prerequisites) {
    for (const PrerequisitePair& pair : context.prerequisites->pairs) {
      if (pair.status == PrerequisiteStatus::unfollowed) continue;
      add(before[static_cast<std::size_t>(pair.course)], pair.prerequisite);
      add(after[static_cast<std::size_t>(pair.prerequisite)], pair.course);
    }
  }
  for (const CourseLink& link : asked.model().links()) {
    const bool disclosed =
        may_name[static_cast<std::size_t>(link.first)] != 0 && may_name[static_cast<std::size_t>(link.second)] != 0;
    if (!disclosed) continue;
    add(along[static_cast<std::size_t>(link.first)], link.second);
    add(along[static_cast<std::size_t>(link.second)], link.first);
  }
  struct Row {
    std::string course;
    std::optional<std::int64_t> students;
    std::optional<double> share;
    std::string before, after, along;
  };
  std::vector<Row> courses;
  for (const DisclosedCohort::CourseCount& entry : context.disclosed.courses) {
    const auto found = schema.find_course(context.input.cohort.schema().course(entry.course).name);
    if (!found || may_name[static_cast<std::size_t>(*found)] == 0) continue;
    const auto course = static_cast<std::size_t>(*found);
    courses.push_back({full_name(schema.course(*found)), entry.students, context.disclosed.share(entry),
                       join(before[course], ", "), join(after[course], ", "), join(along[course], ", ")});
  }
  const Table rows(std::move(courses), {{words::course, &Row::course},
                                        {words::students, &Row::students},
                                        {words::share, &Row::share, {.percent = Percent::fitting}},
                                        {words::comes_before, &Row::before},
                                        {words::comes_after, &Row::after},
                                        {words::goes_with, &Row::along}});
  PageSection section{"courses", words::courses_title};
  section.finding = sentence_of(words::courses_finding);
  const auto withheld = static_cast<std::int64_t>(size - rows.row_count());
  section.tables.push_back(
      {"neighbours", words::courses_caption, rows, sentence_of(words::courses_reading), true, words::courses_chooser});
  if (withheld > 0)
    section.notes = {
        sentence_of(words::courses_withheld, {with_separators(withheld), std::to_string(context.disclosure.least())})};
  return {std::move(section), {}, {}};
}

}  // namespace desirepath::inline reports
