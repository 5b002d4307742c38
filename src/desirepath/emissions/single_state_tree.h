// Hidden trees whose variables have one value: courses are independent, and the shape does not matter. What learning
// asks of them needs no messages (nb --carry-over).
#pragma once

#include <span>

#include "desirepath/emissions/hidden_tree_counts.h"
#include "desirepath/emissions/row_lanes.h"

namespace desirepath::inline emissions {

/// log P of every row. own: l of every kind.
Vector score_single_state(const HiddenTree& tree, const TimingRows& timings, const RowLanes& rows, const RowMatrix& own,
                          const Executor& executor);
/// weights: one a row.
HiddenTreeCounts count_single_state(const HiddenTree& tree, const TimingRows& timings, const RowLanes& rows,
                                    const RowMatrix& own, std::span<const double> weights, const Executor& executor);

}  // namespace desirepath::inline emissions
