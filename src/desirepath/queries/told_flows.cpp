// Flows between states as they may be told: nodes, flows and paths together.
#include <algorithm>
#include <set>

#include "desirepath/disclosure/safe_network.h"
#include "desirepath/disclosure/safe_table.h"
#include "desirepath/queries/pathways.h"

namespace desirepath::inline queries {

namespace {

/// Which states of a step are one node, "other": small ones, others until they are enough together, and more until the
/// flows to and from them can be told.
class NodeChoice {
 public:
  NodeChoice(const PathCounts& counts, Id steps, Id states, const Disclosure& disclosure)
      : students_(RowMatrix::Zero(steps, states)) {
    for (const auto& [path, count] : counts) {
      for (Id step = 0; step < steps; ++step)
        students_(step, path[static_cast<std::size_t>(step)]) += count;
    }
    for (Id step = 0; step < steps; ++step) {
      const std::vector<double> here(students_.row(step).begin(), students_.row(step).end());
      merged_.push_back(disclosure.hide(here));
      for (std::size_t k = 0; k < here.size(); ++k) {
        if (here[k] <= 0) merged_.back()[k] = 1;
      }
    }
  }

  double students(Id step, Id state) const { return students_(step, state); }
  bool is_merged(Id step, Id state) const {
    return merged_[static_cast<std::size_t>(step)][static_cast<std::size_t>(state)] != 0;
  }
  /// Of a step and the next, in the one with more nodes: the smallest state joins the others.
  void merge_more(Id step) {
    const auto named = [&](Id at) { return std::ranges::count(merged_[static_cast<std::size_t>(at)], 0); };
    const Id at = named(step) >= named(step + 1) ? step : step + 1;
    double others = 0;
    for (Id k = 0; k < students_.cols(); ++k)
      others += is_merged(at, k) ? students(at, k) : 0;
    for (int more = others > 0 ? 1 : 2; more > 0; --more) {  // one alone would be as it was
      Id smallest = -1;
      for (Id k = 0; k < students_.cols(); ++k) {
        if (!is_merged(at, k) && (smallest < 0 || students(at, k) < students(at, smallest))) smallest = k;
      }
      if (smallest >= 0) merged_[static_cast<std::size_t>(at)][static_cast<std::size_t>(smallest)] = 1;
    }
  }

 private:
  RowMatrix students_;
  std::vector<Hidden> merged_;
};

/// What flows are made of, for every choice of nodes.
struct FlowTask {
  const PathCounts& counts;
  const Model& model;
  const Disclosure& disclosure;
  const std::map<std::pair<Id, Id>, std::string>& names;
  std::vector<StateProfile> profiles = profile_states(model, tried_for_a_name);
};

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
    PathNode other{step, {}, "other", 0};
    for (Id k = 0; k < states.state_count(); ++k) {
      of_state.push_back(result.nodes.size());
      if (choice.is_merged(step, k)) {
        other.states.push_back(k);
        other.students += choice.students(step, k);
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
    for (const Id k : other.states)
      of_state[static_cast<std::size_t>(k)] = result.nodes.size();
    if (other.students > 0) result.nodes.push_back(std::move(other));
  }
  return result;
}

using Links = std::map<std::pair<std::size_t, std::size_t>, double>;
using HiddenLinks = std::set<std::pair<std::size_t, std::size_t>>;

/// Flows out of a step, and which of them may not be told; none where nodes must be merged first.
std::optional<HiddenLinks> hidden_links(const std::vector<PathNode>& nodes, const Links& between, Id step,
                                        const Disclosure& disclosure) {
  std::vector<std::size_t> rows, columns;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].step == step) rows.push_back(n);
    if (nodes[n].step == step + 1) columns.push_back(n);
  }
  CountTable counts(rows.size(), std::vector<double>(columns.size(), 0));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto found = between.find({rows[r], columns[c]});
      if (found != between.end()) counts[r][c] = found->second;
    }
  }
  const std::optional<HiddenTable> hidden = hide_in_table(counts, disclosure);
  if (!hidden) return std::nullopt;
  HiddenLinks links;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if ((*hidden)[r][c] != 0) links.insert({rows[r], columns[c]});
    }
  }
  return links;
}

/// Paths are parts of flows: one of a hidden flow would tell of it, and what is left of a flow beside the paths that
/// are told must be nobody or enough.
void tell_paths(const std::map<std::vector<std::size_t>, double>& along, const Links& shown,
                const Disclosure& disclosure, StateFlows& flows) {
  const auto links = [](const StatePath& path) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 1; i < path.nodes.size(); ++i)
      pairs.emplace_back(path.nodes[i - 1], path.nodes[i]);
    return pairs;
  };
  for (const auto& [nodes, count] : along) {
    StatePath path{nodes, count};
    const bool open = std::ranges::all_of(links(path), [&](const auto& link) { return shown.contains(link); });
    if (open && disclosure.rests(count)) flows.paths.push_back(std::move(path));
  }
  std::ranges::stable_sort(flows.paths, std::ranges::greater(), &StatePath::students);
  for (bool changed = true; changed;) {
    changed = false;
    Links rest = shown;
    for (const StatePath& path : flows.paths) {
      for (const auto& link : links(path))
        rest[link] -= path.students;
    }
    for (std::size_t p = flows.paths.size(); p-- > 0 && !changed;) {
      const bool tells = std::ranges::any_of(links(flows.paths[p]), [&](const auto& link) {
        constexpr double rounding = 1e-6;
        return rest[link] > rounding && !disclosure.tells(rest[link]);
      });
      if (!tells) continue;
      flows.paths.erase(flows.paths.begin() + static_cast<std::ptrdiff_t>(p));
      changed = true;
    }
  }
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

StateFlows told_flows(CountedFlows counted, const HiddenLinks& hidden, bool exact_sizes, const Disclosure& disclosure) {
  StateFlows flows;
  flows.exact_sizes = exact_sizes;
  for (const auto& [nodes, count] : counted.along)
    flows.students += count;
  flows.nodes = std::move(counted.nodes);
  Links shown;
  for (const auto& [link, count] : counted.between) {
    if (hidden.contains(link))
      flows.withheld += count;
    else
      shown.insert({link, count});
  }
  std::vector<double> in(flows.nodes.size(), 0), out(flows.nodes.size(), 0);
  for (const auto& [link, count] : shown) {
    out[link.first] += count;
    in[link.second] += count;
  }
  for (std::size_t n = 0; n < flows.nodes.size() && !exact_sizes; ++n)
    flows.nodes[n].students = std::max(in[n], out[n]);
  for (const auto& [link, count] : shown) {
    const double of = exact_sizes ? flows.nodes[link.first].students : out[link.first];
    flows.flows.push_back({link.first, link.second, count, count / of});
  }
  std::ranges::stable_sort(flows.flows, std::ranges::greater(), &PathFlow::students);
  tell_paths(counted.along, shown, disclosure, flows);
  return flows;
}

/// Where the sizes of nodes are told.
StateFlows flows_with_sizes(NodeChoice choice, const FlowTask& task) {
  for (;;) {
    CountedFlows counted = count_flows(choice, task);
    HiddenLinks hidden;
    bool again = false;
    for (Id step = 0; step + 1 < task.model.hidden_states()->step_count() && !again; ++step) {
      auto here = hidden_links(counted.nodes, counted.between, step, task.disclosure);
      again = !here;
      if (here)
        hidden.merge(*here);
      else
        choice.merge_more(step);
    }
    if (!again) return told_flows(std::move(counted), hidden, true, task.disclosure);
  }
}

/// Where they are not; nothing where that would tell too much all the same.
std::optional<StateFlows> flows_without_sizes(const NodeChoice& choice, const FlowTask& task) {
  CountedFlows counted = count_flows(choice, task);
  const Id steps = task.model.hidden_states()->step_count();
  const std::size_t source = counted.nodes.size(), sink = source + 1;
  std::vector<StudentFlow> flows;
  for (std::size_t from = 0; from < counted.nodes.size(); ++from) {
    const PathNode& node = counted.nodes[from];
    if (node.step == 0) flows.push_back({source, from, node.students, true});
    if (node.step + 1 == steps) flows.push_back({from, sink, node.students, true});
    for (std::size_t to = from + 1; to < counted.nodes.size(); ++to) {
      if (counted.nodes[to].step != node.step + 1) continue;
      const auto found = counted.between.find({from, to});
      flows.push_back({from, to, found != counted.between.end() ? found->second : 0});
    }
  }
  const std::optional<Hidden> flags = hide_in_network(sink + 1, flows, task.disclosure);
  if (!flags) return std::nullopt;
  HiddenLinks hidden;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if ((*flags)[f] != 0) hidden.insert({flows[f].from, flows[f].to});
  }
  return told_flows(std::move(counted), hidden, false, task.disclosure);
}

}  // namespace

StateFlows flows_of(const PathCounts& counts, const Model& model, const Disclosure& disclosure,
                    const std::map<std::pair<Id, Id>, std::string>& names, NodeSizes sizes) {
  const HiddenStates& states = *model.hidden_states();
  const NodeChoice choice(counts, states.step_count(), states.state_count(), disclosure);
  const FlowTask task{counts, model, disclosure, names};
  StateFlows exact = flows_with_sizes(choice, task);
  if (sizes == NodeSizes::exact || exact.withheld <= 0) return exact;
  std::optional<StateFlows> told = flows_without_sizes(choice, task);
  // More nodes and more flows are worth more than their sizes.
  const bool is_better = told && (told->withheld < exact.withheld || told->nodes.size() > exact.nodes.size());
  return is_better ? std::move(*told) : exact;
}

}  // namespace desirepath::inline queries
