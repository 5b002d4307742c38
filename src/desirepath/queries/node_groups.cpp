#include "desirepath/queries/node_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosed_network.h"

namespace desirepath::inline queries {

namespace {

/// Of each node, the one of the step before that at least half of its students come from, by the flows that are told;
/// itself where there is none.
std::vector<std::size_t> main_sources(const StateFlows& flows) {
  std::vector<std::size_t> source(flows.nodes.size());
  std::iota(source.begin(), source.end(), std::size_t{0});
  for (const PathFlow& flow : flows.flows) {
    if (2 * flow.students >= flows.nodes[flow.to].students) source[flow.to] = flow.from;
  }
  return source;
}

/// What has been told of the steps before one, by nodes and by steps; below 0: withheld.
struct EarlierSteps {
  std::vector<std::size_t> source;  // main_sources
  CountTable counts, not_enrolled;

  /// Whether a number would stand beside one told of nearly the same students, a few apart: how few left, or came.
  bool is_near(std::size_t node, std::size_t group, double students, const Disclosure& disclosure) const {
    for (std::size_t at = node; source[at] != at; at = source[at]) {
      const double before = counts[source[at]][group];
      if (before >= 0 && !disclosure.allows(std::abs(before - students))) return true;
    }
    return false;
  }
  bool is_near(std::size_t group, double students, const Disclosure& disclosure) const {
    return std::ranges::any_of(not_enrolled, [&](const std::vector<double>& before) {
      return before[group] >= 0 && !disclosure.allows(std::abs(before[group] - students));
    });
  }
};

/// The nodes of one step by groups. Students who were not enrolled are told together.
class StepGroups {
 public:
  StepGroups(const StateFlows& flows, const CountTable& counts, std::size_t first, std::size_t groups)
      : groups_(groups), not_enrolled_(groups, 0) {
    for (std::size_t n = first; n < flows.nodes.size() && flows.nodes[n].step == flows.nodes[first].step; ++n) {
      const PathNode& node = flows.nodes[n];
      nodes_.push_back(n);
      are_enrolled_.push_back(node.kind != NodeKind::not_enrolled ? 1 : 0);
      counts_.push_back(counts[n]);
      if (node.kind == NodeKind::either) shares_ = node.all_but_few ? StepShares::of_all : StepShares::none;
      for (std::size_t g = 0; g < groups && node.kind == NodeKind::not_enrolled; ++g)
        not_enrolled_[g] += counts[n][g];
    }
  }

  std::size_t end() const { return nodes_.back() + 1; }

  /// False where no choice of cells will do. Adds what is told to `earlier`.
  bool hide(const StateFlows& disclosed, const Disclosure& disclosure, NodeGroups& result,
            EarlierSteps& earlier) const {
    std::vector<double> enrolled = result.sizes;
    for (std::size_t g = 0; g < groups_; ++g)
      enrolled[g] -= not_enrolled_[g];
    result.enrolled.push_back(std::move(enrolled));
    result.shares.push_back(shares_);
    if (!disclosed.exact_sizes) {
      result.hidden_enrolled.emplace_back(groups_, 1);
      return true;
    }
    // From nodes to groups: students who were not enrolled meet on the way, and only how many they are is told.
    const std::size_t rows = nodes_.size(), meet = rows, columns = rows + groups_;
    const auto room = static_cast<double>(disclosure.least());
    std::vector<StudentFlow> flows;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t g = 0; g < groups_; ++g) {
        const bool is_enrolled = are_enrolled_[r] != 0;
        flows.push_back({r, (is_enrolled ? columns : meet) + g, counts_[r][g], false, !is_enrolled, false,
                         earlier.is_near(nodes_[r], g, counts_[r][g], disclosure) ? room : 0});
      }
    }
    for (std::size_t g = 0; g < groups_; ++g)
      flows.push_back({meet + g, columns + g, not_enrolled_[g], false, false, false,
                       earlier.is_near(g, not_enrolled_[g], disclosure) ? room : 0});
    const std::optional<Hidden> hidden = hide_in_network(columns + groups_, flows, disclosure);
    if (!hidden) return false;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t g = 0; g < groups_; ++g) {
        result.hidden[nodes_[r]][g] = (*hidden)[r * groups_ + g];
        earlier.counts[nodes_[r]][g] = result.hidden[nodes_[r]][g] != 0 ? -1 : counts_[r][g];
      }
    }
    result.hidden_enrolled.emplace_back(hidden->end() - static_cast<std::ptrdiff_t>(groups_), hidden->end());
    earlier.not_enrolled.push_back(not_enrolled_);
    for (std::size_t g = 0; g < groups_; ++g) {
      if (result.hidden_enrolled.back()[g] != 0) earlier.not_enrolled.back()[g] = -1;
    }
    return true;
  }

 private:
  std::size_t groups_;
  std::vector<std::size_t> nodes_;
  Hidden are_enrolled_;
  CountTable counts_;
  std::vector<double> not_enrolled_;
  StepShares shares_ = StepShares::of_enrolled;
};

/// Hides in every step; false where no choice of cells will do.
bool hide_steps(const StateFlows& flows, const Disclosure& disclosure, NodeGroups& result) {
  result.hidden.assign(flows.nodes.size(), Hidden(result.sizes.size(), 1));
  result.enrolled.clear();
  result.hidden_enrolled.clear();
  result.shares.clear();
  EarlierSteps earlier{
      main_sources(flows), CountTable(flows.nodes.size(), std::vector<double>(result.sizes.size(), -1)), {}};
  for (std::size_t first = 0; first < flows.nodes.size();) {
    const StepGroups step(flows, result.counts, first, result.sizes.size());
    if (!step.hide(flows, disclosure, result, earlier)) return false;
    first = step.end();
  }
  return true;
}

/// By step and state.
std::vector<std::vector<std::size_t>> nodes_by_state(const StateFlows& flows) {
  std::vector<std::vector<std::size_t>> node_of;
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const auto step = static_cast<std::size_t>(flows.nodes[n].step);
    node_of.resize(std::max(node_of.size(), step + 1));
    for (const Id state : flows.nodes[n].states) {
      node_of[step].resize(std::max(node_of[step].size(), static_cast<std::size_t>(state) + 1));
      node_of[step][static_cast<std::size_t>(state)] = n;
    }
  }
  return node_of;
}

}  // namespace

NodeGroups count_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths, const StudentGroups& groups,
                        const Disclosure& disclosure) {
  NodeGroups result{disclosed_groups(groups, disclosure), {}, {}, {}};
  const std::vector<std::vector<std::size_t>> node_of = nodes_by_state(flows);
  for (;;) {
    const std::size_t count = result.groups.names.size();
    result.sizes.assign(count, 0);
    result.counts.assign(flows.nodes.size(), std::vector<double>(count, 0));
    for (std::size_t s = 0; s < paths.size(); ++s) {
      const auto group = static_cast<std::size_t>(result.groups.of_student[s]);
      ++result.sizes[group];
      for (std::size_t step = 0; step < paths[s].size(); ++step)
        ++result.counts[node_of[step][static_cast<std::size_t>(paths[s][step])]][group];
    }
    if (hide_steps(flows, disclosure, result)) return result;
    if (count <= 2)
      throw PrivacyError(concat(setting_name("by"), ": what could be told of the groups would tell of ",
                                disclosure.few(), " students"));
    result.groups = merge_smallest(result.groups);
  }
}

GroupDifferences node_differences(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                                  const StudentGroups& groups, const std::vector<Id>& strata) {
  const std::vector<std::vector<std::size_t>> node_of = nodes_by_state(flows);
  std::vector<std::vector<std::int64_t>> populations(node_of.size());
  std::vector<GroupMeasure> measures(flows.nodes.size());
  for (std::size_t n = 0; n < measures.size(); ++n) {
    measures[n].population = static_cast<std::size_t>(flows.nodes[n].step);
    measures[n].is_share = true;
  }
  for (std::size_t s = 0; s < paths.size(); ++s) {
    for (std::size_t step = 0; step < paths[s].size(); ++step) {
      const std::size_t node = node_of[step][static_cast<std::size_t>(paths[s][step])];
      if (flows.nodes[node].kind == NodeKind::not_enrolled) continue;
      populations[step].push_back(static_cast<std::int64_t>(s));
      measures[node].values.push_back({static_cast<std::int64_t>(s), 1});
    }
  }
  return {{groups.of_student, strata, groups.names}, std::move(populations), std::move(measures)};
}

}  // namespace desirepath::inline queries
