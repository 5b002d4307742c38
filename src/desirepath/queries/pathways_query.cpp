// The question: how students flow from state to state, by which paths, and for whom it differs.
#include <algorithm>
#include <cmath>
#include <span>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/disclosed_states.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t listed_flows = 12, listed_paths = 8, listed_groups = 12;

struct PathwaySettings {
  std::string by;
  std::vector<std::string> via;
  StateNameSettings names;
  FlowWidth width = FlowWidth::flow;
  ChanceSettings chance;
  Disclosure disclosure;

  void declare(SettingVisitor& visit) {
    visit(
        Setting("by",
                "student attribute of COHORT, or entry: shares of the states among enrolled students compared between "
                "its groups")
            .taking("COLUMN"),
        by);
    visit(Setting("via", "also the most likely path of who takes this course; may be given again: all of them")
              .taking("COURSE@PERIOD")
              .undivided(),
          via);
    names.declare(visit);
    visit(Setting("width",
                  "what a link is as wide as, for figures: flow, its students, or probability, for who is in "
                  "the state it comes from"),
          width);
    chance.declare(visit);
    disclosure.declare(visit);
  }
};

/// Students who took all of the bits: of the cohort, else as many as the model expects among those it was trained on.
double takers_of_all(const QueryInput& input, const std::vector<Id>& bits, const EvidenceBatch& evidence) {
  if (input.cohort == nullptr) {
    const double students = students_behind_states(input.stored).row(0).sum();
    double chance = 1;
    if (input.model().likelihood_kinds().front() == LikelihoodKind::mass)
      return students *
             std::exp(input.model().log_likelihood(evidence, LikelihoodKind::mass, input.executor).value(0, 0));
    for (const double p :
         input.model().marginals(nothing_known(input.model().schema(), 1), bits, input.executor).value.row(0))
      chance = std::min(chance, p);
    return students * chance;
  }
  double takers = 0;
  for (std::int64_t s = 0; s < input.cohort->student_count(); ++s) {
    const std::span<const Id> own = input.cohort->bits(s);
    takers += std::ranges::all_of(bits, [&](Id bit) { return std::ranges::find(own, bit) != own.end(); }) ? 1 : 0;
  }
  return takers;
}

/// The nodes of the most likely path of a student of whom these courses alone are known.
std::vector<std::size_t> path_via(const QueryInput& input, const std::vector<std::string>& courses,
                                  const StateFlows& flows, const Disclosure& disclosure) {
  const Model& model = input.model();
  EvidenceSettings known;
  known.took = courses;
  // Of nobody in particular: the students of the cohort have paths of their own.
  const EvidenceBatch evidence =
      what_is_known({input.stored, nullptr, nullptr, input.settings, false, true, input.stream, input.executor}, known);
  require_possible(model, evidence, input.executor);
  std::vector<Id> bits;
  for (const std::string& course : courses)
    bits.push_back(parse_bit(model.schema(), course));
  // Of few takers it would be theirs.
  if (!disclosure.rests(takers_of_all(input, bits, evidence)))
    throw PrivacyError(concat(setting_name("via"), ": ", join(courses, " and "), " would rest on ", disclosure.few(),
                              " students: no path is shown"));
  std::vector<std::size_t> nodes;
  const std::vector<Id> path = model.hidden_states()->paths(evidence, input.executor).front();
  for (Id step = 0; step < std::ssize(path); ++step) {
    const auto found = std::ranges::find_if(flows.nodes, [&](const PathNode& node) {
      return node.step == step &&
             std::ranges::find(node.states, path[static_cast<std::size_t>(step)]) != node.states.end();
    });
    if (found == flows.nodes.end()) return {};
    nodes.push_back(static_cast<std::size_t>(found - flows.nodes.begin()));
  }
  return nodes;
}

/// A number, the reason for none, or what stands for several.
Cell state_cell(const PathNode& node, Id states) {
  if (node.kind == NodeKind::either) return "other_or_not_enrolled";
  if (node.states.size() > 1) return node.kind == NodeKind::states ? "other" : "not_enrolled";
  return node.kind == NodeKind::states ? cell_of(node.states.front())
                                       : cell_of(name_of(node.own_statuses(states).front()));
}

Table node_table(const StateFlows& flows, Id states) {
  using Json = nlohmann::ordered_json;
  const auto reasons = [=](const PathNode& node) {
    Json names = Json::array();
    for (const EnrollmentStatus status : node.own_statuses(states))
      names.push_back(name_of(status));
    return value_if(node.kind != NodeKind::states, names);
  };
  const auto is_exact = [](const PathNode& node) { return value_if(node.kind != NodeKind::states, node.is_exact); };
  return {flows.nodes,
          {{"period", &PathNode::period},
           {"state", [=](const PathNode& node) { return state_cell(node, states); }},
           {"states", [=](const PathNode& node) { return Json(node.own_states(states)); }},
           {"name", &PathNode::name},
           {"students", &PathNode::students, {.unit = "students", .decimals = 0}},
           {"not_enrolled", reasons, {.may_lack = true}},
           {"exact", is_exact, {.may_lack = true}}}};
}

Answer answer_pathways(const QueryInput& input) {
  const auto settings = input.read<PathwaySettings>();
  const Disclosure& disclosure = settings.disclosure;
  const Model& model = input.model();
  const HiddenStates& states = require_states(model, "pathways");
  if (states.step_count() < 2)
    throw OptionError(concat("pathways: the states of ", model.name(),
                             " are kept through all periods; cmm and hmm have states in every period"));
  const std::string& by = settings.by;
  if (!by.empty() && input.cohort == nullptr)
    throw OptionError(concat(setting_name("by"), " needs a COHORT: the model knows no groups"));
  const auto names = given_names(model, settings.names);
  StateFlows flows;
  std::string source;
  ComparedGroups groups;
  if (input.cohort == nullptr) {
    const double students = students_behind_states(input.stored).row(0).sum();
    if (!disclosure.rests(students))
      throw PrivacyError("the model does not say how many students it rests on: give a COHORT");
    flows = flows_of(expected_paths(states, students), model, disclosure, names);
    source = concat("expected flows of the ", with_separators(std::llround(students)),
                    " students the model was trained on, as if all were enrolled ",
                    states.has_left_state() ? "until they left" : "in every period");
  } else {
    disclosure.require(input.cohort->student_count());
    const std::vector<std::vector<Id>> paths = enrolled_paths(states, *input.cohort, input.executor);
    flows = flows_of(count_paths(paths), model, disclosure, names);
    source = concat("the most likely path of each of ", with_separators(std::ssize(paths)),
                    " students, through the periods in which they were enrolled");
    if (!by.empty()) {
      const LabelNull null{label_strata(*input.cohort, by), input.stream.child("labels"), input.executor};
      groups = compare_groups(flows, paths, groups_of(*input.cohort, by), disclosure, null, settings.chance.q);
    }
  }
  const auto highlighted =
      settings.via.empty() ? std::vector<std::size_t>() : path_via(input, settings.via, flows, disclosure);
  const Table links = flow_table(flows.flows, settings.width), shares = share_table(groups.shares);

  Answer answer;
  answer.set({{"model", model.name()}, {"from", source}, {"students", flows.students}});
  answer.add("periods", step_table(flows));
  answer.add("nodes", node_table(flows, states.state_count()));
  answer.set("links", links.pick({"source", "target", "students", "probability", "width"}));
  answer.add_table("links", links);
  answer.choose("links");
  answer.set({{"node_sizes", flows.exact_sizes ? "exact" : "at least"}, {"withheld_students", flows.withheld}});
  answer.add("paths", path_table(flows.paths));
  if (!highlighted.empty()) answer.set("highlighted", {{"via", settings.via}, {"nodes", highlighted}});
  if (!by.empty()) {
    answer.set("by", by);
    set_findings(answer, groups.found);
    answer.add("groups", shares);
  }

  // Those who stay away are many and say little.
  std::vector<PathFlow> told = flows.flows;
  std::erase_if(told, [&](const PathFlow& flow) {
    return flows.nodes[flow.from].kind == NodeKind::not_enrolled && flows.nodes[flow.to].kind == NodeKind::not_enrolled;
  });
  answer.show(flow_table(told)
                  .first(listed_flows)
                  .pick({"period",
                         {"state", "from"},
                         {"next_state", "to, a period later"},
                         "students",
                         {"percentage", "of these"}}));
  answer.say("\nmost frequent paths");
  for (std::size_t i = 0; i < std::min(listed_paths, flows.paths.size()); ++i)
    answer.say("  ", fixed(flows.paths[i].students, 0), "  ", path_words(flows, flows.paths[i].nodes, " -> "));
  if (flows.paths.empty()) answer.say("  none of ", disclosure.least(), " students or more");
  if (!highlighted.empty())
    answer.say("\nwho takes ", join(settings.via, " and "), ": ", path_words(flows, highlighted, " -> "));
  if (!by.empty()) {
    answer.say("\nshares of the states, by ", by);
    answer.show(shares.first(listed_groups));
    answer.say(chance_words(groups.found, "difference", "differences"));
  }
  answer.note(source);
  if (input.cohort != nullptr) answer.note(enrolled_words(flows));
  if (flows.withheld > 0) {
    answer.note("flows of ", disclosure.few(),
                " students, and those that would tell of them, are left out: ", fixed(flows.withheld, 0),
                " students together");
  }
  if (!flows.exact_sizes) {
    answer.note(
        "how many are in a state is not told, since it would tell of the few who leave it: shares of who leaves it are "
        "of the flows that are told");
    if (!by.empty()) answer.note("shares by ", by, " are withheld: they would tell how many are in a state");
  }
  return answer;
}

}  // namespace

Table flow_table(std::vector<PathFlow> flows, FlowWidth width) {
  using Row = PathFlow;
  const auto value = width == FlowWidth::flow ? &Row::students : &Row::probability;
  const Look if_picked{.shown = Shown::if_picked};
  return {std::move(flows),
          {{"period", &Row::period},
           {"state", &Row::state},
           {"next_period", &Row::next_period},
           {"next_state", &Row::next_state},
           {"students", &Row::students, {.unit = "students", .decimals = 0}},
           {"probability", &Row::probability, share(3)},
           {"source", &Row::from, if_picked},
           {"target", &Row::to, if_picked},
           {"width", value, if_picked},
           {"whole_students",
            [](const Row& row) { return std::llround(row.students); },
            {.title = "students", .unit = "students", .shown = Shown::if_picked}},
           {"percentage", &Row::probability, {.percent = Percent::whole, .shown = Shown::if_picked}}}};
}

Table path_table(std::vector<StatePath> paths) {
  using Row = StatePath;
  return {std::move(paths),
          {{"nodes", [](const Row& row) { return nlohmann::ordered_json(row.nodes); }},
           {"students", &Row::students, {.unit = "students", .decimals = 0}},
           {"path", &Row::words, {.shown = Shown::if_picked}},
           {"whole_students",
            [](const Row& row) { return std::llround(row.students); },
            {.title = "students", .unit = "students", .shown = Shown::if_picked}},
           {"share", &Row::share, {.percent = Percent::fitting, .shown = Shown::if_picked}}}};
}

Table share_table(std::vector<GroupShare> shares) {
  using Row = GroupShare;
  // Where sizes are withheld, shares would tell them.
  const auto disclosed = [](const auto& get) {
    return [=](const Row& row) { return value_if(row.has_disclosed_sizes, std::invoke(get, row)); };
  };
  return {std::move(shares),
          {{"period", &Row::period},
           {"state", &Row::state},
           {"group", &Row::group},
           {"share", disclosed(&Row::share), share(3)},
           {"others", disclosed(&Row::others_share), share(3)},
           {"difference", disclosed(&Row::difference), share(3)},
           {"low", disclosed(&Row::low), share(3)},
           {"high", disclosed(&Row::high), share(3)},
           {"q", [](const Row& row) { return rounded_chance(row.q); }, {.decimals = 4}},
           {"students", disclosed(&Row::students), {.unit = "students"}},
           {"compared", [](const Row& row) { return compared_word(row.difference()); }}}};
}

Query pathways_query() {
  return {"pathways",
          "flows between states, the paths students take through them, and for whom they differ",
          {"desirepath pathways all.desirepath all.cohort --by residence",
           "desirepath pathways all.desirepath --via \"CS 101@1\" --via \"CS 301@3\""},
          CohortUse::optional,
          "the students to look at; without it, what the model expects",
          declaration_of<PathwaySettings>(),
          answer_pathways};
}

}  // namespace desirepath::inline queries
