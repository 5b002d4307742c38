// What opens what, ways to a goal, every course and its neighbours: what the answering model gives.
#include <algorithm>
#include <cmath>
#include <set>

#include "desirepath/core/text.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/plan.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {

constexpr std::size_t listed_pairs = 25, listed_goals = 5, neighbours = 5;

/// Why a section of answers is not there; empty: it can be.
Paragraph why_no_answers(const ReportContext& context, std::string_view section) {
  if (context.answering() == nullptr) return sentence_of(words::no_answers, {std::string(section)});
  if (context.answering()->model().schema().period_count() < 2)
    return sentence_of(words::one_period, {std::string(section)});
  return {};
}

std::string_view word_for(PrerequisiteKind kind) {
  return kind == PrerequisiteKind::tacit   ? words::tacit
         : kind == PrerequisiteKind::both  ? words::both
         : kind == PrerequisiteKind::found ? words::found
                                           : words::unfollowed;
}

/// How many of the later course's students: all stands for all but a few, whose number is not told.
std::string had_it_first(const PrerequisitePair& pair) {
  return pair.before >= pair.takers ? std::string(words::nearly_all) : percent(pair.coverage);
}

Table pair_table(const ReportContext& context, const FoundPrerequisites& found) {
  const Schema& schema = context.answering()->model().schema();
  Table rows({{std::string(words::before)},
              {std::string(words::course)},
              {std::string(words::odds), 1},
              {std::string(words::low), 1},
              {std::string(words::had_it)},
              {std::string(words::status)}});
  for (std::size_t i = 0; i < std::min(listed_pairs, found.pairs.size()); ++i) {
    const PrerequisitePair& pair = found.pairs[i];
    const auto odds = [&](double errors) {
      return pair.is_disclosed() ? Cell(std::exp(pair.direct - errors * pair.direct_error)) : Cell();
    };
    rows.add_row({context.course(schema, pair.prerequisite), context.course(schema, pair.course), odds(0), odds(1.96),
                  pair.is_disclosed() ? Cell(had_it_first(pair)) : Cell(),
                  std::string(word_for(*found.kind_of(pair)))});
  }
  return rows;
}

/// A goal, and the first step that raises its chance most.
struct FirstStep {
  Id goal = 0;
  double anyone = 0;
  PlanStep step;
  std::vector<PlanWay> ways;
};

std::vector<Id> goals_of(const FoundPrerequisites& found) {
  std::vector<Id> goals;
  for (const PrerequisitePair& pair : found.pairs) {
    if (goals.size() < listed_goals && found.kind_of(pair) != PrerequisiteKind::declared &&
        std::ranges::find(goals, pair.course) == goals.end())
      goals.push_back(pair.course);
  }
  return goals;
}

constexpr std::int64_t drawn_ways = 400;

std::optional<FirstStep> ask_plan(const ReportContext& context, Id goal,
                                  const std::vector<std::uint8_t>& disclosed_courses) {
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
    return step.course == goal || disclosed_courses[static_cast<std::size_t>(step.course)] == 0 || step.chance < 0.01 ||
           !context.disclosure.rests(step.chance * students);
  });
  if (plan.steps.empty() || !(plan.steps.front().raises() > 0)) return std::nullopt;
  FirstStep first{goal, plan.chance, plan.steps.front(), {}};
  first.ways = find_ways(asked.model(), task, drawn_ways, ways,
                         context.stream("plans").child(static_cast<std::uint64_t>(goal)), context.input.executor);
  for (PlanWay& way : first.ways) {
    std::erase_if(way.courses, [&](const PlanWay::Entry& entry) {
      return disclosed_courses[static_cast<std::size_t>(schema.course_of(entry.bit))] == 0;
    });
  }
  return first;
}

Table ways_table(const Schema& schema, const std::vector<PlanWay>& ways) {
  std::vector<TableColumn> columns = {{std::string(words::way)}, {std::string(words::share)}};
  for (const std::string& period : schema.periods())
    columns.push_back({concat(words::period, " ", period)});
  Table rows(std::move(columns));
  for (std::size_t w = 0; w < ways.size(); ++w) {
    std::vector<std::vector<std::string>> taken(static_cast<std::size_t>(schema.period_count()));
    for (const PlanWay::Entry& entry : ways[w].courses)
      taken[static_cast<std::size_t>(schema.period_of(entry.bit))].push_back(
          schema.course(schema.course_of(entry.bit)).name);
    std::vector<Cell> row = {std::to_string(w + 1), percent(ways[w].share)};
    for (const std::vector<std::string>& names : taken)
      row.emplace_back(join(names, ", "));
    rows.add_row(std::move(row));
  }
  return rows;
}

}  // namespace

std::optional<PrerequisiteKind> FoundPrerequisites::kind_of(const PrerequisitePair& pair) const {
  const char said = declared[static_cast<std::size_t>(pair.course)][static_cast<std::size_t>(pair.prerequisite)];
  const bool is_found = bounds.is_direct(pair);
  if (said == 1) {
    const bool is_followed = is_found || bounds.raises(pair);
    return is_followed ? PrerequisiteKind::both : PrerequisiteKind::declared;
  }
  if (said != 0 || !is_found) return std::nullopt;
  return has_list ? PrerequisiteKind::tacit : PrerequisiteKind::found;
}

bool FoundPrerequisites::is_new(const PrerequisitePair& pair) const {
  const auto kind = kind_of(pair);
  return kind == PrerequisiteKind::tacit || kind == PrerequisiteKind::found;
}

std::int64_t FoundPrerequisites::count(PrerequisiteKind kind) const {
  return std::ranges::count_if(pairs, [&](const PrerequisitePair& pair) { return kind_of(pair) == kind; });
}

std::optional<FoundPrerequisites> ask_prerequisites(const ReportContext& context) {
  constexpr std::int64_t drawn_for_each = 100;
  const auto needs_them = [](const std::string& name) {
    return name == "prerequisites" || name == "plans" || name == "courses";
  };
  const auto& wanted = context.settings.sections;
  const AskedModel* asked = context.answering();
  if (asked == nullptr || asked->model().schema().period_count() < 2) return std::nullopt;
  if (!wanted.empty() && std::ranges::none_of(wanted, needs_them)) return std::nullopt;
  const ReportInput& input = context.input;
  const RandomStream stream = context.stream("prerequisites");
  FoundPrerequisites found;
  found.declared = declared_prerequisites(asked->students.schema());
  found.has_list = is_any_declared(found.declared);
  PrerequisiteOptions options;
  options.students = drawn_for_each;
  options.disclosure = context.disclosure;
  found.pairs = find_prerequisites(asked->model(), asked->students, options, stream, input.executor, input.progress);
  const DirectEffects effects = direct_effects(asked->model(), asked->students, context.settings.students,
                                               stream.child("direct"), input.executor, input.progress);
  found.students = effects.students;
  found.bounds.most_q = context.settings.chance.q;
  add_direct_effects(found.pairs, effects, found.declared, static_cast<double>(context.disclosure.least()));
  std::erase_if(found.pairs, [&](const PrerequisitePair& pair) { return !found.kind_of(pair); });
  return found;
}

ReportPart prerequisites_part(const ReportContext& context) {
  if (Paragraph why = why_no_answers(context, words::prerequisites_title); !why.empty())
    return {std::nullopt, {}, std::move(why)};
  const FoundPrerequisites& found = *context.prerequisites;
  const Schema& schema = context.answering()->model().schema();
  const std::int64_t unfollowed = found.count(PrerequisiteKind::declared);
  ReportPart part{PageSection{"prerequisites", std::string(words::prerequisites_title)}, {}, {}};
  PageSection& section = *part.section;
  section.finding = sentence_of(words::prerequisites_none);
  const auto strongest =
      std::ranges::find_if(found.pairs, [&](const PrerequisitePair& pair) { return found.is_new(pair); });
  if (strongest != found.pairs.end()) {
    const FindingCount count = count_tacit(found.pairs, found.declared, found.bounds);
    section.finding = sentence_of(
        words::prerequisites_found,
        {found.has_list ? chance_words(count, words::prerequisites_listed_one, words::prerequisites_listed_many)
                        : chance_words(count, words::prerequisites_found_one, words::prerequisites_found_many)});
    section.finding.sentences.push_back(sentence_of(
        words::prerequisites_strongest, {context.course(schema, strongest->prerequisite),
                                         context.course(schema, strongest->course), had_it_first(*strongest)}));
    section.finding.sentences.push_back(sentence_of(words::prerequisites_candidates));
    part.points.push_back(section.finding);
  }
  if (unfollowed > 0) {
    const std::int64_t listed = unfollowed + found.count(PrerequisiteKind::both);
    part.points.push_back(
        sentence_of(words::prerequisites_unfollowed,
                    {counted(listed, "listed prerequisite", "listed prerequisites"), with_separators(unfollowed)}));
  }
  section.text = {sentence_of(words::prerequisites_text)};
  if (!found.has_list) section.text.emplace_back(sentence_of(words::prerequisites_no_list));
  std::vector<PrerequisiteLink> links;
  for (const PrerequisitePair& pair : found.pairs)
    links.push_back({pair.prerequisite, pair.course, pair.is_disclosed() ? std::optional(pair.score()) : std::nullopt,
                     *found.kind_of(pair)});
  if (!links.empty()) {
    section.figures.push_back(
        {prerequisite_graph(std::move(links), schema, found.students), sentence_of(words::graph_reading)});
    section.tables.push_back(
        {"pairs", std::string(words::pairs_caption), pair_table(context, found), sentence_of(words::pairs_reading)});
  }
  section.notes = {sentence_of(words::prerequisites_basis,
                               {with_separators(found.students), std::to_string(context.disclosure.least()),
                                fixed(context.settings.chance.q, 2)})};
  return part;
}

ReportPart plans_part(const ReportContext& context) {
  if (Paragraph why = why_no_answers(context, words::plans_title); !why.empty())
    return {std::nullopt, {}, std::move(why)};
  const AskedModel& asked = *context.answering();
  const Schema& schema = asked.model().schema();
  const std::vector<std::uint8_t>& disclosed_courses = context.disclosed_courses(asked);
  std::vector<FirstStep> plans;
  for (const Id goal : goals_of(*context.prerequisites)) {
    if (std::optional<FirstStep> plan = ask_plan(context, goal, disclosed_courses)) plans.push_back(std::move(*plan));
  }
  if (plans.empty()) return {std::nullopt, {}, sentence_of(words::plans_none)};
  Table rows({{std::string(words::goal)},
              {std::string(words::anyone)},
              {concat(words::first_step, ", ", words::period, " ", schema.period(0))},
              {std::string(words::with_it)},
              {std::string(words::without_it)}});
  for (const FirstStep& plan : plans)
    rows.add_row({context.course(schema, plan.goal), percent(plan.anyone), context.course(schema, plan.step.course),
                  percent(plan.step.with), percent(plan.step.without)});
  const FirstStep& first =
      *std::ranges::max_element(plans, {}, [](const FirstStep& plan) { return plan.step.raises(); });
  PageSection section{"plans", std::string(words::plans_title)};
  section.finding = sentence_of(words::plans_finding, {context.course(schema, first.step.course), schema.period(0),
                                                       context.course(schema, first.goal), percent(first.step.with),
                                                       percent(first.step.without)});
  section.text = {sentence_of(words::plans_text)};
  section.tables.push_back(
      {"goals", std::string(words::plans_caption), std::move(rows), sentence_of(words::plans_reading)});
  section.tables.push_back({"ways", filled(words::ways_caption, {context.course(schema, first.goal)}),
                            ways_table(schema, first.ways), sentence_of(words::ways_reading)});
  section.notes = {sentence_of(words::plans_basis, {asked.model().name(), std::to_string(drawn_ways)})};
  Paragraph finding = section.finding;
  return {std::move(section), {std::move(finding)}, {}};
}

ReportPart courses_part(const ReportContext& context) {
  const AskedModel& asked = context.judging();
  const Schema& schema = asked.model().schema();
  const std::vector<std::uint8_t>& disclosed_courses = context.disclosed_courses(asked);
  const auto size = static_cast<std::size_t>(schema.course_count());
  std::vector<std::vector<std::string>> before(size), after(size), along(size);
  const auto add = [&](std::vector<std::string>& list, Id course) {
    if (list.size() < neighbours) list.push_back(context.course(schema, course));
  };
  if (context.prerequisites) {
    for (const PrerequisitePair& pair : context.prerequisites->pairs) {
      if (context.prerequisites->kind_of(pair) == PrerequisiteKind::declared) continue;
      add(before[static_cast<std::size_t>(pair.course)], pair.prerequisite);
      add(after[static_cast<std::size_t>(pair.prerequisite)], pair.course);
    }
  }
  for (const CourseLink& link : asked.model().links()) {
    const bool disclosed = disclosed_courses[static_cast<std::size_t>(link.first)] != 0 &&
                           disclosed_courses[static_cast<std::size_t>(link.second)] != 0;
    if (!disclosed) continue;
    add(along[static_cast<std::size_t>(link.first)], link.second);
    add(along[static_cast<std::size_t>(link.second)], link.first);
  }
  Table rows({{std::string(words::course)},
              {std::string(words::students)},
              {std::string(words::share)},
              {std::string(words::comes_before)},
              {std::string(words::comes_after)},
              {std::string(words::goes_with)}});
  for (const DisclosedCohort::CourseCount& entry : context.disclosed.courses) {
    const auto found = schema.find_course(context.input.cohort.schema().course(entry.course).name);
    if (!found || disclosed_courses[static_cast<std::size_t>(*found)] == 0) continue;
    const auto course = static_cast<std::size_t>(*found);
    const std::optional<std::int64_t> students = entry.students;
    rows.add_row({context.course(schema, *found), students ? Cell(*students) : Cell(),
                  students
                      ? Cell(percent(static_cast<double>(*students) / static_cast<double>(context.disclosed.students)))
                      : Cell(),
                  join(before[course], ", "), join(after[course], ", "), join(along[course], ", ")});
  }
  PageSection section{"courses", std::string(words::courses_title)};
  section.finding = sentence_of(words::courses_finding);
  const auto withheld = static_cast<std::int64_t>(size - rows.row_count());
  section.tables.push_back({"neighbours", std::string(words::courses_caption), std::move(rows),
                            sentence_of(words::courses_reading), true, std::string(words::courses_chooser)});
  if (withheld > 0)
    section.notes = {
        sentence_of(words::courses_withheld, {with_separators(withheld), std::to_string(context.disclosure.least())})};
  return {std::move(section), {}, {}};
}

}  // namespace desirepath::inline reports
