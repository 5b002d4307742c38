#include "desirepath/queries/node_groups.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

/// Hides in the rows of each step, of which students who were not enrolled are one; false where no choice of cells will
/// do.
bool hide_steps(const StateFlows& flows, const Disclosure& disclosure, NodeGroups& result) {
  const std::size_t groups = result.sizes.size();
  result.hidden.assign(flows.nodes.size(), Hidden(groups, 1));
  result.enrolled.clear();
  result.hidden_enrolled.clear();
  result.shares.clear();
  for (std::size_t first = 0; first < flows.nodes.size();) {
    CountTable rows;
    std::vector<std::size_t> node_of_row;
    std::vector<double> not_enrolled(groups, 0), enrolled = result.sizes;
    StepShares shares = StepShares::of_enrolled;
    std::size_t n = first;
    for (; n < flows.nodes.size() && flows.nodes[n].step == flows.nodes[first].step; ++n) {
      if (flows.nodes[n].kind == NodeKind::not_enrolled) {
        for (std::size_t g = 0; g < groups; ++g)
          not_enrolled[g] += result.counts[n][g];
      } else {
        if (flows.nodes[n].kind == NodeKind::either)
          shares = flows.nodes[n].all_but_few ? StepShares::of_all : StepShares::none;
        rows.push_back(result.counts[n]);
        node_of_row.push_back(n);
      }
    }
    for (std::size_t g = 0; g < groups; ++g)
      enrolled[g] -= not_enrolled[g];
    rows.push_back(std::move(not_enrolled));
    const std::optional<HiddenTable> hidden = hide_in_table(rows, disclosure);
    if (!hidden) return false;
    for (std::size_t r = 0; r < node_of_row.size(); ++r)
      result.hidden[node_of_row[r]] = (*hidden)[r];
    result.enrolled.push_back(std::move(enrolled));
    result.hidden_enrolled.push_back(hidden->back());
    result.shares.push_back(shares);
    first = n;
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
  NodeGroups result{told_groups(groups, disclosure), {}, {}, {}};
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
