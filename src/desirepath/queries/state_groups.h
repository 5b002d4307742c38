// Who is in a state: shares of the states within groups of students, and of the groups within states.
#pragma once

#include <string>
#include <vector>

#include "desirepath/queries/min_cell.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/state_names.h"

namespace desirepath::inline queries {

struct Interval {
  double low = 0, high = 0;
};
/// Wilson's, 95 %.
Interval share_interval(std::int64_t count, std::int64_t of);

struct StateGroupCell {
  std::size_t node = 0;  // of StateFlows
  std::string group;
  bool hidden = false;  // few, or telling of a cell that is
  std::int64_t students = 0, group_students = 0, state_students = 0;

  double share() const { return static_cast<double>(students) / static_cast<double>(group_students); }
  double share_of_state() const { return static_cast<double>(students) / static_cast<double>(state_students); }
};

/// Every node by every group of at least min_cell students, node by node. Cells of 1 .. min_cell - 1 are hidden, and as
/// many more in their row and column as keep them from following from the totals.
std::vector<StateGroupCell> states_by_group(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                                            const StudentGroups& groups, std::int64_t min_cell);

/// Which cells of a table of counts with known totals may not be shown: in every row and column with a hidden cell
/// there are two or more, `least` or more together.
std::vector<std::vector<std::uint8_t>> hidden_cells(const std::vector<std::vector<std::int64_t>>& counts,
                                                    std::int64_t least);

/// `by`: an attribute, or entry. Throws OptionError without a cohort, PrivacyError where no group is large enough.
std::unique_ptr<Answer> answer_state_groups(const QueryInput& input, const std::string& by,
                                            const StateNameSettings& names, const MinCell& min_cell);

}  // namespace desirepath::inline queries
