// Who is in a state: shares of the states within groups of students, and of the groups within states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

/// So many of a whole, with an interval.
struct ShareOf {
  ShareOf(std::int64_t count, std::int64_t whole);
  double share, low, high;
};

struct StateGroupCell {
  std::size_t node = 0;  // of StateFlows
  std::string group;
  bool hidden = false;         // few, or telling of a cell that is
  bool has_share = true;       // where how many of the group were enrolled in the step may be told
  bool is_of_enrolled = true;  // else the share is of all students of the group, nearly all of whom were
  std::int64_t students = 0, group_students = 0, state_students = 0;
  // Of so large a difference from the other groups by chance; nothing where that may not be told.
  std::optional<double> q = std::nullopt;
  bool is_more = false;                            // the share within the group than that within the others
  std::string period = {}, state = {}, name = {};  // of the node; its number, or "other"

  /// Nothing where it may not be told.
  std::optional<ShareOf> of_group() const;
  std::optional<ShareOf> of_state() const;
};

struct StateGroups {
  std::vector<StateGroupCell> cells;
  ChanceOfFindings chance;  // of the differences between groups that may be told
};

/// Every state by every group, small groups merged, node by node; students who were not enrolled are in none. Cells of
/// few students are hidden, and as many more as keep them from following from the totals; all are where the flows
/// withhold the sizes of nodes.
StateGroups states_by_group(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                            const StudentGroups& groups, const Disclosure& disclosure, const LabelNull& null);

/// `by`: an attribute, or entry. Throws OptionError without a cohort, PrivacyError where no group is large enough.
Answer answer_state_groups(const QueryInput& input, const std::string& by, const StateNameSettings& names,
                           const ChanceSettings& chance, const Disclosure& disclosure);

}  // namespace desirepath::inline queries
