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
#include "desirepath/queries/enrolled_steps.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/state_names.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t listed_flows = 12, listed_paths = 8, listed_groups = 12;

enum class FlowWidth { flow, probability };
std::span<const std::string_view> value_names(FlowWidth) {
  static constexpr std::array<std::string_view, 2> names = {"flow", "probability"};
  return names;
}

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

class PathwaysAnswer : public Answer {
 public:
  PathwaysAnswer(const Schema& its_schema, const HiddenStates& its_states) : schema(its_schema), states(its_states) {}

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model;
    json["from"] = source;
    json["students"] = flows.students;
    json["periods"] = step_json(flows, states, schema);
    json["nodes"] = nlohmann::ordered_json::array();
    for (const PathNode& node : flows.nodes) {
      json["nodes"].push_back({{"period", schema.period(node.step)},
                               {"state", state_json(node)},
                               {"states", node.own_states(states.state_count())},
                               {"name", node.name},
                               {"students", node.students}});
      if (node.kind == NodeKind::states) continue;
      auto& reasons = json["nodes"].back()["not_enrolled"] = nlohmann::ordered_json::array();
      for (const EnrollmentStatus status : node.own_statuses(states.state_count()))
        reasons.push_back(name_of(status));
      json["nodes"].back()["exact"] = node.is_exact;
    }
    json["links"] = nlohmann::ordered_json::array();
    for (const PathFlow& flow : flows.flows) {
      json["links"].push_back({{"source", flow.from},
                               {"target", flow.to},
                               {"students", flow.students},
                               {"probability", flow.probability},
                               {"width", width == FlowWidth::flow ? flow.students : flow.probability}});
    }
    json["node_sizes"] = flows.exact_sizes ? "exact" : "at least";
    json["withheld_students"] = flows.withheld;
    json["paths"] = nlohmann::ordered_json::array();
    for (const StatePath& path : flows.paths)
      json["paths"].push_back({{"nodes", path.nodes}, {"students", path.students}});
    if (!highlighted.empty()) json["highlighted"] = {{"via", via}, {"nodes", highlighted}};
    if (!by.empty()) {
      json["by"] = by;
      json["findings"] = groups.found.findings;
      json["by_chance"] = rounded_chance(groups.found.by_chance);
      json["groups"] = group_table(groups.shares.size()).to_json();
    }
    return json;
  }
  Table table() const override {
    Table rows({{"period"}, {"state"}, {"next_period"}, {"next_state"}, {"students", 1}, {"probability", 3}});
    for (const PathFlow& flow : flows.flows) {
      const PathNode &from = flows.nodes[flow.from], &to = flows.nodes[flow.to];
      rows.add_row(
          {schema.period(from.step), from.name, schema.period(to.step), to.name, flow.students, flow.probability});
    }
    return rows;
  }
  void print(std::ostream& out) const override {
    Table rows({{"period"}, {"from"}, {"to, a period later"}, {"students", 0}, {"of these"}});
    for (const PathFlow& flow : flows.flows) {
      // Those who stay away are many and say little.
      const bool is_away =
          flows.nodes[flow.from].kind == NodeKind::not_enrolled && flows.nodes[flow.to].kind == NodeKind::not_enrolled;
      if (is_away) continue;
      if (rows.row_count() == listed_flows) break;
      rows.add_row({schema.period(flows.nodes[flow.from].step), flows.nodes[flow.from].name, flows.nodes[flow.to].name,
                    flow.students, concat(fixed(100 * flow.probability, 0), " %")});
    }
    rows.print_text(out);
    out << "\nmost frequent paths\n";
    for (std::size_t i = 0; i < std::min(listed_paths, flows.paths.size()); ++i)
      out << "  " << fixed(flows.paths[i].students, 0) << "  " << words(flows.paths[i].nodes) << '\n';
    if (flows.paths.empty()) out << "  none of " << disclosure.least() << " students or more\n";
    if (!highlighted.empty()) out << "\nwho takes " << join(via, " and ") << ": " << words(highlighted) << '\n';
    if (!by.empty()) {
      out << "\nshares of the states, by " << by << '\n';
      group_table(listed_groups).print_text(out);
      out << chance_words(groups.found, "difference", "differences") << '\n';
    }
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> lines = {source};
    if (is_counted) lines.push_back(enrolled_words(flows, states, schema));
    if (flows.withheld > 0) {
      lines.push_back(concat("flows of ", disclosure.few(),
                             " students, and those that would tell of them, are left out: ", fixed(flows.withheld, 0),
                             " students together"));
    }
    if (!flows.exact_sizes) {
      lines.emplace_back(
          "how many are in a state is not told, since it would tell of the few who leave it: shares of who leaves it "
          "are of the flows that are told");
      if (!by.empty())
        lines.push_back(concat("shares by ", by, " are withheld: they would tell how many are in a state"));
    }
    return lines;
  }

  const Schema& schema;
  const HiddenStates& states;
  std::string model, source, by;
  bool is_counted = false;  // students of a cohort; else expected by the model
  FlowWidth width = FlowWidth::flow;
  StateFlows flows;
  ComparedGroups groups;
  std::vector<std::string> via;
  std::vector<std::size_t> highlighted;
  Disclosure disclosure;

 private:
  /// A number, the reason for none, or what stands for several.
  nlohmann::ordered_json state_json(const PathNode& node) const {
    if (node.kind == NodeKind::either) return "other_or_not_enrolled";
    if (node.states.size() > 1) return node.kind == NodeKind::states ? "other" : "not_enrolled";
    if (node.kind == NodeKind::states) return node.states.front();
    return name_of(node.own_statuses(states.state_count()).front());
  }
  std::string words(const std::vector<std::size_t>& nodes) const {
    std::vector<std::string> names;
    for (const std::size_t node : nodes)
      names.push_back(flows.nodes[node].name);
    return join(names, " -> ");
  }
  Table group_table(std::size_t most) const {
    Table rows({{"period"},
                {"state"},
                {"group"},
                {"share", 3},
                {"others", 3},
                {"difference", 3},
                {"low", 3},
                {"high", 3},
                {"q", 4},
                {"students"},
                {"compared"}});
    for (std::size_t i = 0; i < std::min(most, groups.shares.size()); ++i) {
      const GroupShare& share = groups.shares[i];
      const PathNode& node = flows.nodes[share.node];
      std::vector<Cell> row = {schema.period(node.step), node.name, share.group, Cell(), Cell(), Cell(), Cell(), Cell(),
                               rounded_chance(share.q)};
      if (share.has_disclosed_sizes) {
        row[3] = share.share, row[4] = share.others_share, row[5] = share.difference();
        row[6] = share.difference() - 1.96 * share.error(), row[7] = share.difference() + 1.96 * share.error();
      }
      row.push_back(share.has_disclosed_sizes ? Cell(share.students) : Cell());
      row.emplace_back(std::string(compared_word(share.difference())));
      rows.add_row(std::move(row));
    }
    return rows;
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
      what_is_known({input.stored, nullptr, nullptr, input.settings, false, true, input.seed, input.executor}, known);
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

std::unique_ptr<Answer> answer_pathways(const QueryInput& input) {
  const auto settings = input.read<PathwaySettings>();
  const Model& model = input.model();
  const HiddenStates& states = require_states(model, "pathways");
  if (states.step_count() < 2)
    throw OptionError(concat("pathways: the states of ", model.name(),
                             " are kept through all periods; cmm and hmm have states in every period"));
  if (!settings.by.empty() && input.cohort == nullptr)
    throw OptionError(concat(setting_name("by"), " needs a COHORT: the model knows no groups"));
  auto answer = std::make_unique<PathwaysAnswer>(model.schema(), states);
  answer->model = model.name();
  answer->width = settings.width;
  answer->disclosure = settings.disclosure;
  answer->via = settings.via;
  const auto names = given_names(model, settings.names);
  if (input.cohort == nullptr) {
    const double students = students_behind_states(input.stored).row(0).sum();
    if (!settings.disclosure.rests(students))
      throw PrivacyError("the model does not say how many students it rests on: give a COHORT");
    answer->flows = flows_of(expected_paths(states, students), model, settings.disclosure, names);
    answer->source = concat("expected flows of the ", with_separators(std::llround(students)),
                            " students the model was trained on, as if all were enrolled ",
                            states.has_left_state() ? "until they left" : "in every period");
  } else {
    settings.disclosure.require(input.cohort->student_count());
    const std::vector<std::vector<Id>> paths = enrolled_paths(states, *input.cohort, input.executor);
    answer->is_counted = true;
    answer->flows = flows_of(count_paths(paths), model, settings.disclosure, names);
    answer->source = concat("the most likely path of each of ", with_separators(std::ssize(paths)),
                            " students, through the periods in which they were enrolled");
    if (!settings.by.empty()) {
      answer->by = settings.by;
      const LabelNull null{label_strata(*input.cohort, settings.by), RandomStream(input.seed).child("labels"),
                           input.executor};
      answer->groups = compare_groups(answer->flows, paths, groups_of(*input.cohort, settings.by), settings.disclosure,
                                      null, settings.chance.q);
    }
  }
  if (!settings.via.empty()) answer->highlighted = path_via(input, settings.via, answer->flows, settings.disclosure);
  return answer;
}

}  // namespace

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
