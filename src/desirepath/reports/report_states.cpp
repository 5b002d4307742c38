// The kinds of students and how they move: what the model with the states gives.
#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/disclosed_states.h"
#include "desirepath/queries/enrolled_steps.h"
#include "desirepath/queries/state_grid.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"
#include "desirepath/reports/state_grid_figure.h"

namespace desirepath::inline reports {

namespace {

constexpr std::size_t courses_of_a_state = 5, listed_paths = 12, listed_groups = 12;

/// A state as a row of a table and as words.
struct ReportedState {
  DisclosedState state;
  std::string name;
};

bool is_kind(const ReportedState& entry) {
  return entry.state.merged == 0 && is_headline(entry.name);
}

/// The grid lies by concentration, subject or school: without any of them it says nothing.
bool has_course_groups(const Schema& schema) {
  return std::ranges::any_of(schema.courses(), [](const Course& course) {
    return !course.concentration.empty() || !course.subject.empty() || !course.school.empty();
  });
}

/// Each with its share of the students enrolled in the period.
std::vector<ReportedState> states_to_disclose(const ReportContext& context) {
  const std::vector<std::uint8_t>& disclosed_courses = context.disclosed_courses(context.input.states);
  const HiddenStates& hidden = *context.states();
  DisclosedStates found = disclosed_states(context.input.states.stored, 2 * courses_of_a_state, context.disclosure);
  const Index kinds = hidden.state_count() - (hidden.has_left_state() ? 1 : 0);
  const Vector enrolled = found.counts.leftCols(kinds).rowwise().sum();
  Vector others = Vector::Ones(enrolled.size());  // what is left of each step for the merged ones, which come last
  std::vector<ReportedState> disclosed;
  for (DisclosedState& state : found.states) {
    if (state.profile.left) continue;
    // Of the students who were enrolled, not of all: who has left is of no kind.
    const Id step = state.profile.step;
    state.profile.share = state.merged > 0     ? others[step]
                          : enrolled[step] > 0 ? found.counts(step, state.profile.state) / enrolled[step]
                                               : 0;
    others[step] = std::max(0.0, others[step] - state.profile.share);
    for (std::vector<StateCourse>* list : {&state.profile.likely, &state.profile.marking}) {
      std::erase_if(*list, [&](const StateCourse& entry) {
        return disclosed_courses[static_cast<std::size_t>(entry.course)] == 0;
      });
      list->resize(std::min(list->size(), courses_of_a_state));
    }
    std::string name = state.merged > 0 ? std::string(words::other)
                                        : context.state_names.at({state.profile.step, state.profile.state});
    disclosed.push_back({std::move(state), std::move(name)});
  }
  std::ranges::stable_sort(disclosed, [](const ReportedState& a, const ReportedState& b) {
    const StateProfile &p = a.state.profile, &q = b.state.profile;
    return std::tuple(p.step, a.state.merged > 0, -p.share) < std::tuple(q.step, b.state.merged > 0, -q.share);
  });
  return disclosed;
}

Table state_table(const ReportContext& context, const std::vector<ReportedState>& disclosed) {
  const Schema& schema = context.input.states.model().schema();
  const auto name = [&](const StateCourse& entry) {
    const Course& course = schema.course(entry.course);
    return course.label.empty() ? course.name : course.label;
  };
  Table rows({{std::string(words::kind)},
              {std::string(words::period)},
              {std::string(words::share)},
              {std::string(words::most_taken)},
              {std::string(words::marked_by)}});
  for (const ReportedState& entry : disclosed) {
    std::vector<std::string> likely, marking;
    for (const StateCourse& course : entry.state.profile.likely)
      likely.push_back(concat(name(course), " ", percent(course.probability)));
    for (const StateCourse& course : entry.state.profile.marking)
      marking.push_back(concat(name(course), " x ", fixed(course.lift, 1)));
    rows.add_row({entry.name, period_of(*context.states(), schema, entry.state.profile.step),
                  concat(fixed(100 * entry.state.profile.share, 0), " %"), join(likely, ", "), join(marking, ", ")});
  }
  return rows;
}

Figure grid_figure(const ReportContext& context) {
  const AskedModel& asked = context.input.states;
  DisclosedGrid found =
      disclosed_grid(asked.stored, "", context.state_names, context.disclosure, context.input.executor);
  const std::vector<std::uint8_t>& disclosed_courses = context.disclosed_courses(asked);
  found.withheld += static_cast<std::int64_t>(std::erase_if(found.courses, [&](const GridCourse& entry) {
    return disclosed_courses[static_cast<std::size_t>(entry.course)] == 0;
  }));
  return state_grid_figure(
      {std::move(found.courses), std::move(found.names), found.period, std::llround(found.students), found.withheld},
      asked.model().schema());
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

std::string path_text(const StateFlows& flows, const StatePath& path) {
  std::vector<std::string> names;
  for (const std::size_t node : path.nodes)
    names.push_back(flows.nodes[node].name);
  return join(names, " → ");
}

Table path_table(const StateFlows& flows, double students) {
  Table rows({{std::string(words::path)}, {std::string(words::students)}, {std::string(words::share)}});
  for (std::size_t i = 0; i < std::min(listed_paths, flows.paths.size()); ++i) {
    const StatePath& path = flows.paths[i];
    rows.add_row(
        {path_text(flows, path), std::int64_t{std::llround(path.students)}, percent(path.students / students)});
  }
  return rows;
}

Table group_table(const ReportContext& context, const StateFlows& flows, const std::vector<GroupShare>& shares) {
  Table rows({{std::string(words::kind)},
              {std::string(words::period)},
              {std::string(words::group)},
              {std::string(words::share), 3},
              {std::string(words::others), 3},
              {std::string(words::difference), 3},
              {std::string(words::low), 3},
              {std::string(words::high), 3}});
  for (std::size_t i = 0; i < std::min(listed_groups, shares.size()); ++i) {
    const GroupShare& share = shares[i];
    const PathNode& node = flows.nodes[share.node];
    rows.add_row({node.name, context.input.states.model().schema().period(node.step), share.group, share.share,
                  share.others_share, share.difference(), share.difference() - 1.96 * share.error(),
                  share.difference() + 1.96 * share.error()});
  }
  return rows;
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
  part.section->tables.push_back(
      {"groups", filled(words::groups_caption, {settings.by}), group_table(context, flows, shares),
       sentence_of(words::groups_reading, {chance_words(found, "difference", "differences")})});
  const auto first = std::ranges::find_if(shares, [&](const GroupShare& share) {
    return is_headline(share.group) && is_headline(flows.nodes[share.node].name);
  });
  if (first == shares.end()) return {};
  const PathNode& node = flows.nodes[first->node];
  part.points.push_back(sentence_of(
      words::groups_point, {settings.by, percent(first->share), concat(settings.by, " ", first->group), node.name,
                            context.input.states.model().schema().period(node.step), percent(first->others_share)}));
  return {};
}

}  // namespace

ReportPart states_part(const ReportContext& context) {
  if (context.states() == nullptr) return {std::nullopt, {}, sentence_of(words::no_states)};
  const HiddenStates& states = *context.states();
  const Schema& schema = context.input.states.model().schema();
  const std::vector<ReportedState> disclosed = states_to_disclose(context);
  // The largest kind of a period: merged small ones are none.
  const auto first_of = [&](Id step) {
    return std::ranges::find_if(
        disclosed, [&](const ReportedState& entry) { return entry.state.profile.step == step && is_kind(entry); });
  };
  const Id last = states.step_count() - 1;
  const auto early = first_of(0), late = first_of(last);
  const auto kinds = std::ranges::count_if(
      disclosed, [](const ReportedState& entry) { return entry.state.profile.step == 0 && is_kind(entry); });
  PageSection section{"states", std::string(words::states_title)};
  if (early == disclosed.end()) {
    section.finding = sentence_of(words::states_finding_none);
  } else if (last == 0) {
    section.finding = sentence_of(words::states_finding_one,
                                  {std::to_string(kinds), early->name, percent(early->state.profile.share)});
  } else if (late == disclosed.end()) {
    section.finding = sentence_of(words::states_finding_early,
                                  {period_of(states, schema, 0), early->name, percent(early->state.profile.share)});
  } else {
    section.finding = sentence_of(words::states_finding,
                                  {period_of(states, schema, 0), early->name, percent(early->state.profile.share),
                                   period_of(states, schema, last), late->name, percent(late->state.profile.share)});
  }
  section.text = {sentence_of(words::states_text)};
  if (has_course_groups(schema)) section.figures.push_back({grid_figure(context), sentence_of(words::grid_reading)});
  section.tables.push_back({"kinds", std::string(words::states_caption), state_table(context, disclosed),
                            sentence_of(words::states_reading), disclosed.size() > 20});
  const DisclosedStates found = disclosed_states(context.input.states.stored, 0, context.disclosure);
  section.notes = {
      sentence_of(last == 0 ? words::states_basis_all : words::states_basis,
                  {with_separators(std::llround(found.counts.row(0).sum())), period_of(states, schema, 0)})};
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
    points.push_back(sentence_of(words::states_point, {period_of(states, schema, 0), std::to_string(kinds), early->name,
                                                       percent(early->state.profile.share)}));
  }
  return {std::move(section), std::move(points), {}};
}

ReportPart flows_part(const ReportContext& context) {
  if (context.states() == nullptr) return {};
  if (context.states()->step_count() < 2) return {std::nullopt, {}, sentence_of(words::no_flows)};
  const AskedModel& asked = context.input.states;
  const Schema& schema = asked.model().schema();
  context.disclosure.require(asked.students.student_count());
  const std::vector<std::vector<Id>> paths = enrolled_paths(*context.states(), asked.students, context.input.executor);
  const StateFlows flows = flows_of(count_paths(paths), asked.model(), context.disclosure, context.state_names);
  const auto students = static_cast<double>(paths.size());
  ReportPart part{PageSection{"flows", std::string(words::flows_title)}, {}, {}};
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
    section.finding = sentence_of(is_largest ? words::flows_finding : words::flows_finding_disclosed,
                                  {path_text(flows, *common), with_separators(std::llround(common->students)),
                                   with_separators(std::ssize(paths))});
    part.points.push_back(sentence_of(is_largest ? words::flows_point : words::flows_point_disclosed,
                                      {path_text(flows, *common), percent(common->students / students)}));
  }
  auto surest = flows.flows.end();
  for (auto flow = flows.flows.begin(); flow != flows.flows.end(); ++flow) {
    const bool can_head = flow->of_all && is_named(flow->from) && is_named(flow->to);
    if (can_head && (surest == flows.flows.end() || flow->probability > surest->probability)) surest = flow;
  }
  if (surest != flows.flows.end()) {
    const PathNode &from = flows.nodes[surest->from], &to = flows.nodes[surest->to];
    part.points.push_back(sentence_of(words::flows_point_step,
                                      {from.name, schema.period(from.step), to.name, percent(surest->probability)}));
  }
  const SankeyOptions options{context.settings.width, chosen_path(flows, context.settings.highlight)};
  section.figures.push_back({state_sankey(flows, schema, options), sentence_of(words::flows_reading)});
  if (options.highlight.empty() && contrasting_paths(flows).size() > 1)
    section.figures.push_back({sankey_contrast(flows, schema, options.width), sentence_of(words::contrast_reading)});
  if (!flows.paths.empty())
    section.tables.push_back({"paths", std::string(words::paths_caption), path_table(flows, students)});
  section.notes = add_groups(context, flows, paths, part);
  section.notes.push_back(sentence_of(
      words::flows_basis, {with_separators(std::ssize(paths)), enrolled_words(flows, *context.states(), schema)}));
  if (context.disclosure.rests(flows.withheld))
    section.notes.push_back(sentence_of(words::flows_withheld, {std::to_string(context.disclosure.least()),
                                                                with_separators(std::llround(flows.withheld))}));
  return part;
}

}  // namespace desirepath::inline reports
