// Students by node and group, as they may be told.
#pragma once

#include "desirepath/disclosure/safe_table.h"
#include "desirepath/queries/pathways.h"

namespace desirepath::inline queries {

struct NodeGroups {
  StudentGroups groups;       // as they may be told
  std::vector<double> sizes;  // of the groups
  CountTable counts;          // nodes by groups
  HiddenTable hidden;
};

/// Groups are merged until, in every step, what is told of nodes and groups keeps each small number hidden. Throws
/// PrivacyError where that leaves one group.
NodeGroups count_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths, const StudentGroups& groups,
                        const Disclosure& disclosure);

}  // namespace desirepath::inline queries
