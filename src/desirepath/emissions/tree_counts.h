// Expected counts along a tree, all rows complete: what the M step of trees makes its tables of.
#pragma once

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/tree_group.h"

namespace desirepath::inline emissions {

/// Expected counts along a group's tree: all rows complete, unknown bits by their posterior.
struct EdgeCounts {
  RowMatrix taken;     // bits by states
  RowMatrix together;  // bit and its parent, bits by states
};

/// Complete rows: what is taken, is taken. States first_state .. first_state + states - 1.
EdgeCounts count_known_edges(const DependencyTree& tree, const StepRows& rows, const RowMatrix& responsibilities,
                             Id first_state, Index states, const Executor& executor);
/// Adds what the unknown bits are expected to be under the group's own probabilities.
void add_unknown_edges(const TreeGroup& group, const StepRows& rows, const RowMatrix& responsibilities,
                       EdgeCounts& counts, const Executor& executor);

}  // namespace desirepath::inline emissions
