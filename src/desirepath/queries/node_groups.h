// Students by node and group, as they may be told.
#pragma once

#include "desirepath/disclosure/disclosed_table.h"
#include "desirepath/queries/label_permutation.h"
#include "desirepath/queries/pathways.h"

namespace desirepath::inline queries {

/// Of whom shares within groups are: students enrolled in the step; all students, where too few were not enrolled to
/// say so; or nobody.
enum class StepShares : std::uint8_t { of_enrolled, of_all, none };

struct NodeGroups {
  StudentGroups groups;       // as they may be told
  std::vector<double> sizes;  // of the groups
  CountTable counts;          // nodes by groups
  HiddenTable hidden;         // nodes of students who were not enrolled are told together, as those who were
  CountTable enrolled;        // steps by groups: in a state, or in a node that may be either
  HiddenTable hidden_enrolled;
  std::vector<StepShares> shares;  // what shares of a step are of
};

/// Groups are merged until, in every step, what is told of nodes and groups keeps each small number hidden, given the
/// sizes of nodes and groups. Where the flows withhold the sizes of nodes, all cells are hidden: two of them would tell
/// a size. Throws PrivacyError where that leaves one group.
NodeGroups count_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths, const StudentGroups& groups,
                        const Disclosure& disclosure);

/// Who of the students enrolled in a step is in each node: measure n is that of node n.
GroupDifferences node_differences(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                                  const StudentGroups& groups, const std::vector<Id>& strata);

}  // namespace desirepath::inline queries
