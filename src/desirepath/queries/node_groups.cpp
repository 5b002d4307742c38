#include "desirepath/queries/node_groups.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

/// Hides in the rows of each step; false where no choice of cells will do.
bool hide_steps(const StateFlows& flows, const Disclosure& disclosure, NodeGroups& result) {
  result.hidden.clear();
  for (std::size_t first = 0; first < flows.nodes.size();) {
    std::size_t last = first;
    while (last < flows.nodes.size() && flows.nodes[last].step == flows.nodes[first].step)
      ++last;
    const auto begin = result.counts.begin();
    const CountTable step(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last));
    const std::optional<HiddenTable> hidden = hide_in_table(step, disclosure);
    if (!hidden) return false;
    result.hidden.insert(result.hidden.end(), hidden->begin(), hidden->end());
    first = last;
  }
  return true;
}

}  // namespace

NodeGroups count_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths, const StudentGroups& groups,
                        const Disclosure& disclosure) {
  NodeGroups result{told_groups(groups, disclosure), {}, {}, {}};
  std::vector<std::vector<std::size_t>> node_of;  // by step and state
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const auto step = static_cast<std::size_t>(flows.nodes[n].step);
    node_of.resize(std::max(node_of.size(), step + 1));
    for (const Id state : flows.nodes[n].states) {
      node_of[step].resize(std::max(node_of[step].size(), static_cast<std::size_t>(state) + 1));
      node_of[step][static_cast<std::size_t>(state)] = n;
    }
  }
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

}  // namespace desirepath::inline queries
