// The kinds of students and how they move: what the model with the states gives.
#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/disclosed_states.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/state_grid.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::inline reports {

namespace {

constexpr std::size_t courses_of_a_state = 5, listed_paths = 12, listed_groups = 12;

bool is_kind(const DisclosedState& state) {
  return state.merged == 0 && is_headline(state.name);
}

/// The grid lies by concentration, subject or school: without any of them it says nothing.
bool has_course_groups(const Schema& schema) {
  return std::ranges::any_of(schema.courses(), [](const Course& course) {
    return !course.concentration.empty() || !course.subject.empty() || !course.school.empty();
  });
}

/// With the courses that may be named, the largest of a period first.
std::vector<DisclosedState> states_to_show(const ReportContext& context, std::vector<DisclosedState> states) {
  const std::vector<std::uint8_t>& may_name = context.disclosed_courses(context.input.states);
  std::erase_if(states, [](const DisclosedState& state) { return state.profile.left; });
  for (DisclosedState& state : states) {
    for (std::vector<StateCourse>* list : {&state.profile.likely, &state.profile.marking}) {
      std::erase_if(*list,
                    [&](const StateCourse& entry) { return may_name[static_cast<std::size_t>(entry.course)] == 0; });
      list->resize(std::min(list->size(), courses_of_a_state));
    }
  }
  name_states(states, context.state_names);
  std::ranges::stable_sort(states, {}, [](const DisclosedState& state) {
    return std::tuple(state.profile.step, state.merged > 0, -state.enrolled_share);
  });
  return states;
}

Figure grid_figure(const ReportContext& context) {
  const AskedModel& asked = context.input.states;
  DisclosedGrid found =
      disclosed_grid(asked.stored, "", context.state_names, context.disclosure, context.input.executor);
  const std::vector<std::uint8_t>& may_name = context.disclosed_courses(asked);
  found.withheld += static_cast<std::int64_t>(std::erase_if(
      found.courses, [&](const GridCourse& entry) { return may_name[static_cast<std::size_t>(entry.course)] == 0; }));
  return state_grid_figure(found);
}

/// The nodes of the path the user asks for.
std::vector<std::size_t> chosen_path(const StateFlows& flows, const std::vector<std::string>& states) {
  std::vector<std::size_t> nodes;
  for (std::size_t step = 0; step < states.size(); ++step) {
    const auto state = number_in<Id>(states[step]);
    const auto found = std::ranges::find_if(flows.nodes, [&](const PathNode& node) {
      return state && node.step == static_cast<Id>(step) && std::ranges::find(node.states, *state) != node.states.end();
    });
    if (found == flows.nodes.end())
      throw OptionError(concat(setting_name("highlight"), ": no students are in state '", states[step], "' in step ",
                               step + 1, "; 'states' lists the numbers"));
    nodes.push_back(static_cast<std::size_t>(found - flows.nodes.begin()));
  }
  return nodes;
}

/// Adds the table and the point; returns what is said where nothing differs.
std::vector<Paragraph> add_groups(const ReportContext& context, const StateFlows& flows,
                                  const std::vector<std::vector<Id>>& paths, ReportPart& part) {
  const ReportSettings& settings = context.settings;
  if (settings.by.empty()) return {};
  // Shares within groups tell the sizes of nodes; the flows come first.
  if (!flows.exact_sizes) return {sentence_of(words::groups_withheld, {settings.by})};
  const Cohort& students = context.input.states.students;
  const LabelNull null{label_strata(students, settings.by), context.stream("labels"), context.input.executor};
  const auto [shares, found] =
      compare_groups(flows, paths, groups_of(students, settings.by), context.disclosure, null, settings.chance.q);
  if (shares.empty()) return {sentence_of(words::groups_none, {settings.by})};
  const Table table = share_table(shares).first(listed_groups);
  part.section->tables.push_back(
      {"groups", filled(words::groups_caption, {settings.by}),
       table.pick({{"state", words::kind},
                   "period",
                   "group",
                   "share",
                   "others",
                   "difference",
                   {"low", words::low},
                   {"high", words::high}}),
       sentence_of(words::groups_reading, {chance_words(found, "difference", "differences")})});
  const auto first = std::ranges::find_if(
      shares, [](const GroupShare& share) { return is_headline(share.group) && is_headline(share.state); });
  if (first == shares.end()) return {};
  part.points.push_back(
      sentence_of(words::groups_point, {settings.by, percent(first->share), concat(settings.by, " ", first->group),
                                        first->state, first->period, percent(first->others_share)}));
  return {};
}

}  // namespace

ReportPart states_part(const ReportContext& context) {
  if (context.states() == nullptr) return {std::nullopt, {}, sentence_of(words::no_states)};
  const Schema& schema = context.input.states.model().schema();
  const DisclosedStates found =
      disclosed_states(context.input.states.stored, 2 * courses_of_a_state, context.disclosure);
  const std::vector<DisclosedState> disclosed = states_to_show(context, found.states);
  // The largest kind of a period: merged small ones are none.
  const auto first_of = [&](Id step) {
    return std::ranges::find_if(
        disclosed, [&](const DisclosedState& state) { return state.profile.step == step && is_kind(state); });
  };
  const Id last = context.states()->step_count() - 1;
  const std::string first_period = period_of(*context.states(), schema, 0);
  const auto early = first_of(0), late = first_of(last);
  const auto kinds = std::ranges::count_if(
      disclosed, [](const DisclosedState& state) { return state.profile.step == 0 && is_kind(state); });
  PageSection section{"states", words::states_title};
  if (early == disclosed.end()) {
    section.finding = sentence_of(words::states_finding_none);
  } else if (last == 0) {
    section.finding =
        sentence_of(words::states_finding_one, {std::to_string(kinds), early->name, percent(early->enrolled_share)});
  } else if (late == disclosed.end()) {
    section.finding =
        sentence_of(words::states_finding_early, {first_period, early->name, percent(early->enrolled_share)});
  } else {
    section.finding = sentence_of(words::states_finding, {first_period, early->name, percent(early->enrolled_share),
                                                          late->period, late->name, percent(late->enrolled_share)});
  }
  section.text = {sentence_of(words::states_text)};
  if (has_course_groups(schema)) section.figures.push_back({grid_figure(context), sentence_of(words::grid_reading)});
  section.tables.push_back({"kinds", words::states_caption,
                            state_table(disclosed).pick({{"kind", words::kind},
                                                         "period",
                                                         {"enrolled_share", words::share},
                                                         {"likely_labels", words::most_taken},
                                                         {"marking_labels", words::marked_by}}),
                            sentence_of(words::states_reading), disclosed.size() > 20});
  section.notes = {sentence_of(last == 0 ? words::states_basis_all : words::states_basis,
                               {with_separators(std::llround(found.counts.row(0).sum())), first_period})};
  if (found.withheld > 0)
    section.notes.push_back(sentence_of(words::states_merged,
                                        {std::to_string(found.withheld), std::to_string(context.disclosure.least())}));
  std::vector<Paragraph> points;
  const std::int64_t own = context.input.states.students.student_count(), all = context.input.cohort.student_count();
  if (own != all && context.disclosure.allows(static_cast<double>(own), static_cast<double>(std::max(own, all)))) {
    points.push_back(sentence_of(words::states_students, {with_separators(own), with_separators(all)}));
    section.text.push_back(points.front());
  }
  if (early != disclosed.end()) {
    points.push_back(sentence_of(words::states_point,
                                 {first_period, std::to_string(kinds), early->name, percent(early->enrolled_share)}));
  }
  return {std::move(section), std::move(points), {}};
}

ReportPart flows_part(const ReportContext& context) {
  if (context.states() == nullptr) return {};
  if (context.states()->step_count() < 2) return {std::nullopt, {}, sentence_of(words::no_flows)};
  const AskedModel& asked = context.input.states;
  context.disclosure.require(asked.students.student_count());
  const std::vector<std::vector<Id>> paths = enrolled_paths(*context.states(), asked.students, context.input.executor);
  const StateFlows flows = flows_of(count_paths(paths), asked.model(), context.disclosure, context.state_names);
  ReportPart part{PageSection{"flows", words::flows_title}, {}, {}};
  PageSection& section = *part.section;
  const auto is_named = [&](std::size_t node) {
    return flows.nodes[node].kind == NodeKind::states && is_headline(flows.nodes[node].name);
  };
  const auto common = std::ranges::find_if(
      flows.paths, [&](const StatePath& path) { return std::ranges::all_of(path.nodes, is_named); });
  if (common == flows.paths.end()) {
    const bool has_common = context.disclosure.rests(flows.largest_path);
    section.finding = sentence_of(has_common ? words::flows_finding_withheld : words::flows_finding_none,
                                  {std::to_string(context.disclosure.least())});
  } else {
    constexpr double rounding = 1e-6;
    const bool is_largest = common->students > flows.largest_path - rounding;
    section.finding = sentence_of(
        is_largest ? words::flows_finding : words::flows_finding_disclosed,
        {common->words, with_separators(std::llround(common->students)), with_separators(std::ssize(paths))});
    part.points.push_back(sentence_of(is_largest ? words::flows_point : words::flows_point_disclosed,
                                      {common->words, percent(common->share)}));
  }
  auto surest = flows.flows.end();
  for (auto flow = flows.flows.begin(); flow != flows.flows.end(); ++flow) {
    const bool can_head = flow->of_all && is_named(flow->from) && is_named(flow->to);
    if (can_head && (surest == flows.flows.end() || flow->probability > surest->probability)) surest = flow;
  }
  if (surest != flows.flows.end()) {
    const PathNode &from = flows.nodes[surest->from], &to = flows.nodes[surest->to];
    part.points.push_back(
        sentence_of(words::flows_point_step, {from.name, from.period, to.name, percent(surest->probability)}));
  }
  const SankeyOptions options{context.settings.width, chosen_path(flows, context.settings.highlight)};
  section.figures.push_back({state_sankey(flows, options), sentence_of(words::flows_reading)});
  if (options.highlight.empty() && contrasting_paths(flows).size() > 1)
    section.figures.push_back({sankey_contrast(flows, options.width), sentence_of(words::contrast_reading)});
  if (!flows.paths.empty())
    section.tables.push_back(
        {"paths", words::paths_caption,
         path_table(flows.paths).first(listed_paths).pick({"path", {"whole_students", words::students}, "share"})});
  section.notes = add_groups(context, flows, paths, part);
  section.notes.push_back(sentence_of(words::flows_basis, {with_separators(std::ssize(paths)), enrolled_words(flows)}));
  if (context.disclosure.rests(flows.withheld))
    section.notes.push_back(sentence_of(words::flows_withheld, {std::to_string(context.disclosure.least()),
                                                                with_separators(std::llround(flows.withheld))}));
  return part;
}

}  // namespace desirepath::inline reports
