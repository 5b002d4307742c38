// Flows between states as they may be told: nodes, flows and paths together.
#include <algorithm>
#include <cmath>
#include <set>

#include "desirepath/disclosure/disclosed_network.h"
#include "desirepath/disclosure/disclosed_table.h"
#include "desirepath/queries/node_choice.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

namespace {

/// "left", "not enrolled", "other or not enrolled". Of an unknown status only this is known: there are no enrollments.
std::string name_of_reasons(const PathNode& node, const NodeChoice& choice) {
  if (node.kind == NodeKind::either) return "other or not enrolled";
  const bool is_one = node.states.size() == 1;
  const auto status = is_one ? status_of(node.states.front(), choice.state_count()) : EnrollmentStatus::unknown;
  if (status != EnrollmentStatus::unknown) return std::string(words_for(status));
  return is_one || choice.has_unknown() ? "no enrollments" : "not enrolled";
}

/// Whether a student can be in one place and then, a step later, in another, by what the places mean.
bool can_follow(Id from, Id to, Id states) {
  using enum EnrollmentStatus;
  const EnrollmentStatus before = from < states ? enrolled : status_of(from, states);
  const EnrollmentStatus after = to < states ? enrolled : status_of(to, states);
  if (before == unknown || after == unknown) return true;
  if (after == before_entry || before == before_entry)
    return before == before_entry && (after == before_entry || after == enrolled);
  if (before == away) return after == enrolled || after == away;
  if (has_departed(before)) return after == before || after == not_yet;
  if (before == not_yet) return after == not_yet;
  return true;
}

/// What flows are made of, for every choice of nodes.
struct FlowTask {
  const PathCounts& counts;
  const Model& model;
  const Disclosure& disclosure;
  const std::map<std::pair<Id, Id>, std::string>& names;
  std::vector<StateProfile> profiles = profile_states(model, tried_for_a_name);

  Id state_count() const { return model.hidden_states()->state_count(); }
};

/// No two states of a step have one name.
void name_apart(std::vector<PathNode>& nodes, Id step) {
  std::vector<std::size_t> single;
  std::vector<std::string> names;
  std::vector<Id> states;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].step != step || nodes[n].kind != NodeKind::states || nodes[n].states.size() != 1) continue;
    single.push_back(n);
    names.push_back(nodes[n].name);
    states.push_back(nodes[n].states.front());
  }
  tell_apart(names, states);
  for (std::size_t i = 0; i < single.size(); ++i)
    nodes[single[i]].name = std::move(names[i]);
}

/// Nodes of a choice, and the node of each (step, state).
struct Nodes {
  std::vector<PathNode> nodes;
  std::vector<std::vector<std::size_t>> of_state;
};
Nodes nodes_of(const NodeChoice& choice, const FlowTask& task) {
  const HiddenStates& states = *task.model.hidden_states();
  Nodes result;
  for (Id step = 0; step < states.step_count(); ++step) {
    std::vector<std::size_t>& of_state = result.of_state.emplace_back();
    PathNode other{step, {}, "other", 0}, reasons{step, {}, "", 0, NodeKind::not_enrolled};
    const auto add_merged = [&](PathNode& node) {
      for (const Id place : node.states)
        of_state[static_cast<std::size_t>(place)] = result.nodes.size();
      if (node.students > 0) result.nodes.push_back(std::move(node));
    };
    for (Id k = 0; k < choice.places(); ++k) {
      if (k == states.state_count() && !choice.is_mixed(step)) add_merged(other);
      of_state.push_back(result.nodes.size());
      if (k == place_of(EnrollmentStatus::enrolled, states.state_count())) continue;  // these are in a state
      if (choice.is_merged(step, k)) {
        PathNode& node = k < states.state_count() || choice.is_mixed(step) ? other : reasons;
        node.states.push_back(k);
        node.students += choice.students(step, k);
        continue;
      }
      if (k >= states.state_count()) {
        PathNode node{step, {k}, "", choice.students(step, k), NodeKind::not_enrolled};
        node.name = name_of_reasons(node, choice);
        result.nodes.push_back(std::move(node));
        continue;
      }
      const auto given = task.names.find({step, k});
      const StateProfile& profile =
          task.profiles[static_cast<std::size_t>(step) * static_cast<std::size_t>(states.state_count()) +
                        static_cast<std::size_t>(k)];
      result.nodes.push_back({step,
                              {k},
                              given != task.names.end()
                                  ? given->second
                                  : state_name(profile, task.model.schema(), choice.students(step, k), task.disclosure),
                              choice.students(step, k)});
    }
    if (choice.is_mixed(step)) {
      other.kind = NodeKind::either;
      other.all_but_few = !task.disclosure.allows(choice.not_enrolled(step));
      other.name = name_of_reasons(other, choice);
      add_merged(other);
    } else {
      reasons.name = name_of_reasons(reasons, choice);
      add_merged(reasons);
    }
    name_apart(result.nodes, step);
  }
  return result;
}

using Links = std::map<std::pair<std::size_t, std::size_t>, double>;
using HiddenLinks = std::set<std::pair<std::size_t, std::size_t>>;

/// Whether somebody can be in one node and then in the other: where nobody can, nobody need be told to be.
bool can_flow(const PathNode& from, const PathNode& to, double students, Id states) {
  return students > 0 || std::ranges::any_of(from.states, [&](Id before) {
           return std::ranges::any_of(to.states, [&](Id after) { return can_follow(before, after, states); });
         });
}

/// Nodes of a step and of the next, and how many go from one to the other.
struct StepTable {
  std::vector<std::size_t> rows, columns;
  CountTable counts;
  HiddenTable possible;
};
StepTable table_between(const std::vector<PathNode>& nodes, const Links& between, Id step, Id states) {
  StepTable table;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].step == step) table.rows.push_back(n);
    if (nodes[n].step == step + 1) table.columns.push_back(n);
  }
  for (const std::size_t from : table.rows) {
    table.counts.emplace_back();
    table.possible.emplace_back();
    for (const std::size_t to : table.columns) {
      const auto found = between.find({from, to});
      table.counts.back().push_back(found != between.end() ? found->second : 0);
      table.possible.back().push_back(can_flow(nodes[from], nodes[to], table.counts.back().back(), states) ? 1 : 0);
    }
  }
  return table;
}

/// Whether the flows could be told were all states one: else merging states does not help.
bool can_disclose_reasons(const std::vector<PathNode>& nodes, const Links& between, Id step, const FlowTask& task) {
  std::vector<PathNode> coarse;
  std::vector<std::size_t> number(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto same = std::ranges::find_if(coarse, [&](const PathNode& node) {
      return node.step == nodes[n].step && node.kind == NodeKind::states && nodes[n].kind == NodeKind::states;
    });
    number[n] = static_cast<std::size_t>(same - coarse.begin());
    if (same == coarse.end())
      coarse.push_back(nodes[n]);
    else
      same->states.insert(same->states.end(), nodes[n].states.begin(), nodes[n].states.end());
  }
  Links sums;
  for (const auto& [link, count] : between)
    sums[{number[link.first], number[link.second]}] += count;
  const StepTable table = table_between(coarse, sums, step, task.state_count());
  return hide_in_table(table.counts, task.disclosure, table.possible).has_value();
}

/// Flows out of a step that may not be told; none where nodes must be merged first.
std::optional<HiddenLinks> hidden_links(const std::vector<PathNode>& nodes, const Links& between, Id step,
                                        const FlowTask& task) {
  const StepTable table = table_between(nodes, between, step, task.state_count());
  const std::optional<HiddenTable> hidden = hide_in_table(table.counts, task.disclosure, table.possible);
  if (!hidden) return std::nullopt;
  HiddenLinks links;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if ((*hidden)[r][c] != 0) links.insert({table.rows[r], table.columns[c]});
    }
  }
  return links;
}

/// Paths are parts of flows: one of a hidden flow would tell of it, and what is left of a flow beside the paths that
/// are told must be nobody or enough.
void disclose_paths(const std::map<std::vector<std::size_t>, double>& along, const Links& disclosed,
                    const Disclosure& disclosure, StateFlows& flows) {
  const auto links = [](const StatePath& path) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 1; i < path.nodes.size(); ++i)
      pairs.emplace_back(path.nodes[i - 1], path.nodes[i]);
    return pairs;
  };
  std::map<std::size_t, double> size;
  for (const auto& [nodes, count] : along) {
    for (const std::size_t node : nodes)
      size[node] += count;
  }
  // Of those in a node: who come by the path's way and leave by another, come by another and leave by its way, neither.
  const auto crosses_few = [&](const StatePath& path) {
    for (std::size_t i = 1; i + 1 < path.nodes.size(); ++i) {
      const double in = disclosed.at({path.nodes[i - 1], path.nodes[i]}),
                   out = disclosed.at({path.nodes[i], path.nodes[i + 1]});
      if (!disclosure.allows(in - path.students) || !disclosure.allows(out - path.students) ||
          !disclosure.allows(size.at(path.nodes[i]) - in - out + path.students))
        return true;
    }
    return false;
  };
  for (const auto& [nodes, count] : along) {
    StatePath path{nodes, count};
    const bool open = std::ranges::all_of(links(path), [&](const auto& link) { return disclosed.contains(link); });
    if (!open || !disclosure.rests(count) || crosses_few(path)) continue;
    // Were its nodes as small as they are told, so many would take it at least: fewer would tell that a node is larger.
    double least = 0;
    for (const auto& link : links(path))
      least += disclosed.at(link);
    for (std::size_t i = 1; i + 1 < nodes.size(); ++i)
      least -= flows.nodes[nodes[i]].students;
    if (count >= least) flows.paths.push_back(std::move(path));
  }
  std::ranges::stable_sort(flows.paths, std::ranges::greater(), &StatePath::students);
  for (bool changed = true; changed;) {
    changed = false;
    Links rest = disclosed;
    for (const StatePath& path : flows.paths) {
      for (const auto& link : links(path))
        rest[link] -= path.students;
    }
    for (std::size_t p = flows.paths.size(); p-- > 0 && !changed;) {
      const bool tells = std::ranges::any_of(links(flows.paths[p]), [&](const auto& link) {
        constexpr double rounding = 1e-6;
        return rest[link] > rounding && !disclosure.allows(rest[link]);
      });
      if (!tells) continue;
      flows.paths.erase(flows.paths.begin() + static_cast<std::ptrdiff_t>(p));
      changed = true;
    }
  }
}

/// Students in states by step: exact where how many are in no state is told.
std::vector<StepStudents> enrolled_in_steps(const StateFlows& flows) {
  std::vector<StepStudents> steps;
  for (const PathNode& node : flows.nodes) {
    steps.resize(std::max(steps.size(), static_cast<std::size_t>(node.step) + 1), {flows.students});
    StepStudents& step = steps[static_cast<std::size_t>(node.step)];
    if (node.kind == NodeKind::not_enrolled) step.enrolled -= node.students;
    if (node.kind == NodeKind::either || (node.kind == NodeKind::not_enrolled && !node.is_exact)) step.is_exact = false;
  }
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (steps[step].is_exact) continue;
    steps[step].enrolled = 0;
    for (const PathNode& node : flows.nodes) {
      const bool counts = node.step == static_cast<Id>(step) && node.kind == NodeKind::states;
      steps[step].enrolled += counts ? node.students : 0;
    }
  }
  return steps;
}

/// All that a choice of nodes says, told or not.
struct CountedFlows {
  std::vector<PathNode> nodes;
  Links between;
  std::map<std::vector<std::size_t>, double> along;
};
CountedFlows count_flows(const NodeChoice& choice, const FlowTask& task) {
  Nodes nodes = nodes_of(choice, task);
  CountedFlows result{std::move(nodes.nodes), {}, {}};
  for (const auto& [path, count] : task.counts) {
    std::vector<std::size_t> through;
    for (std::size_t step = 0; step < path.size(); ++step)
      through.push_back(nodes.of_state[step][static_cast<std::size_t>(path[step])]);
    for (std::size_t i = 1; i < through.size(); ++i)
      result.between[{through[i - 1], through[i]}] += count;
    result.along[std::move(through)] += count;
  }
  return result;
}

/// The sizes of nodes are told as the nodes say.
StateFlows disclosed_flows(CountedFlows counted, const HiddenLinks& hidden, const Disclosure& disclosure) {
  StateFlows flows;
  flows.exact_sizes = std::ranges::all_of(counted.nodes, &PathNode::is_exact);
  for (const auto& [nodes, count] : counted.along)
    flows.students += count;
  flows.nodes = std::move(counted.nodes);
  Links disclosed;
  for (const auto& [link, count] : counted.between) {
    if (hidden.contains(link))
      flows.withheld += count;
    else
      disclosed.insert({link, count});
  }
  std::vector<double> in(flows.nodes.size(), 0), out(flows.nodes.size(), 0);
  for (const auto& [link, count] : disclosed) {
    out[link.first] += count;
    in[link.second] += count;
  }
  constexpr double rounding = 1e-6;
  for (const auto& [link, count] : disclosed) {
    const PathNode& from = flows.nodes[link.first];  // its students not yet overwritten by what is told
    const double of = from.is_exact ? from.students : out[link.first];
    flows.flows.push_back({link.first, link.second, count, count / of, std::abs(of - from.students) < rounding});
  }
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    if (!flows.nodes[n].is_exact) flows.nodes[n].students = std::max(in[n], out[n]);
  }
  flows.steps = enrolled_in_steps(flows);
  std::ranges::stable_sort(flows.flows, std::ranges::greater(), &PathFlow::students);
  disclose_paths(counted.along, disclosed, disclosure, flows);
  return flows;
}

/// Where the sizes of nodes are told.
StateFlows flows_with_sizes(NodeChoice choice, const FlowTask& task) {
  for (;;) {
    CountedFlows counted = count_flows(choice, task);
    HiddenLinks hidden;
    bool again = false;
    for (Id step = 0; step + 1 < task.model.hidden_states()->step_count() && !again; ++step) {
      auto here = hidden_links(counted.nodes, counted.between, step, task);
      again = !here;
      if (here)
        hidden.merge(*here);
      else if (can_disclose_reasons(counted.nodes, counted.between, step, task) || !choice.merge_reasons(step))
        choice.merge_more(step);
    }
    if (!again) return disclosed_flows(std::move(counted), hidden, task.disclosure);
  }
}

/// Where those of states are not; nothing where that would tell too much all the same.
std::optional<StateFlows> flows_without_sizes(const NodeChoice& choice, const FlowTask& task) {
  CountedFlows counted = count_flows(choice, task);
  const Id steps = task.model.hidden_states()->step_count();
  const std::size_t count = counted.nodes.size(), source = 2 * count, sink = source + 1;
  // A node's students go in at one end and out at the other: what goes through is its size. How many were not enrolled
  // is known of every cohort (describe), whatever the model says of their states.
  std::vector<StudentFlow> flows;
  for (std::size_t from = 0; from < count; ++from) {
    const PathNode& node = counted.nodes[from];
    if (node.step == 0) flows.push_back({source, from, node.students, true});
    const bool is_enrolled = node.kind != NodeKind::not_enrolled;
    flows.push_back({from, count + from, node.students, is_enrolled, false, !is_enrolled});
    if (node.step + 1 == steps) flows.push_back({count + from, sink, node.students, true});
    for (std::size_t to = from + 1; to < count; ++to) {
      if (counted.nodes[to].step != node.step + 1) continue;
      const auto found = counted.between.find({from, to});
      const double students = found != counted.between.end() ? found->second : 0;
      if (can_flow(node, counted.nodes[to], students, task.state_count()))
        flows.push_back({count + from, to, students});
    }
  }
  const std::optional<Hidden> flags = hide_in_network(sink + 1, flows, task.disclosure);
  if (!flags) return std::nullopt;
  HiddenLinks hidden;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const StudentFlow& flow = flows[f];
    const bool is_size = flow.from < count;
    if (is_size) counted.nodes[flow.from].is_exact = !flow.is_never_disclosed && (*flags)[f] == 0;
    if (!is_size && (*flags)[f] != 0) hidden.insert({flow.from - count, flow.to});
  }
  return disclosed_flows(std::move(counted), hidden, task.disclosure);
}

/// With sizes, every step adds up to the same students. More nodes, or many more flows, are worth more.
StateFlows best_flows(const FlowTask& task) {
  const HiddenStates& states = *task.model.hidden_states();
  const NodeChoice choice(task.counts, states.step_count(), states.state_count(), task.disclosure);
  StateFlows exact = flows_with_sizes(choice, task);
  const bool is_merged = exact.nodes.size() < nodes_of(choice, task).nodes.size();
  if (exact.withheld <= 0 && !is_merged) return exact;
  std::optional<StateFlows> disclosed = flows_without_sizes(choice, task);
  constexpr double much = 0.25;
  const double all = exact.students * static_cast<double>(states.step_count() - 1);
  const bool is_better =
      disclosed &&
      (disclosed->nodes.size() > exact.nodes.size() ||
       (disclosed->nodes.size() == exact.nodes.size() && disclosed->withheld + much * all < exact.withheld));
  return is_better ? std::move(*disclosed) : exact;
}

}  // namespace

StateFlows flows_of(const PathCounts& counts, const Model& model, const Disclosure& disclosure,
                    const std::map<std::pair<Id, Id>, std::string>& names) {
  const HiddenStates& states = *model.hidden_states();
  StateFlows flows = best_flows({counts, model, disclosure, names});
  for (Id step = 0; step < states.step_count(); ++step)
    flows.periods.push_back(period_of(states, model.schema(), step));
  for (PathNode& node : flows.nodes)
    node.period = flows.periods[static_cast<std::size_t>(node.step)];
  for (std::size_t step = 0; step < flows.steps.size(); ++step)
    flows.steps[step].period = flows.periods[step];
  for (PathFlow& flow : flows.flows) {
    const PathNode &from = flows.nodes[flow.from], &to = flows.nodes[flow.to];
    flow.period = from.period, flow.state = from.name, flow.next_period = to.period, flow.next_state = to.name;
  }
  for (StatePath& path : flows.paths) {
    path.share = path.students / flows.students;
    path.words = path_words(flows, path.nodes, " → ");
  }
  for (const auto& [path, count] : counts) {
    const bool is_enrolled = std::ranges::all_of(path, [&](Id place) { return place < states.state_count(); });
    if (is_enrolled) flows.largest_path = std::max(flows.largest_path, count);
  }
  return flows;
}

}  // namespace desirepath::inline queries
