// Expected counts of a hidden tree over weighted rows: the E step of hidden course trees, at the cost of what was
// taken.
#pragma once

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/hidden_tree_pass.h"

namespace desirepath::inline emissions {

struct HiddenTreeCounts {
  Vector root;        // of the root's states
  RowMatrix pairs;    // (course, z of the parent) by z
  RowMatrix timing;   // (course, z) by v
  RowMatrix risk;     // courses by periods: first enrollment before the period, and the period known
  RowMatrix retaken;  // courses by periods: of these, taken again

  HiddenTreeCounts& operator-=(const HiddenTreeCounts& other);
  HiddenTreeCounts& operator*=(double factor);
};

/// As statistics: the tables of one tree after the other, and back.
void add_to_statistics(HiddenTreeCounts counts, Statistics& sums);
HiddenTreeCounts take_counts(Statistics& sums, std::size_t tree);

/// weights: one a row.
HiddenTreeCounts count_hidden_tree(const HiddenTree& tree, const TimingRows& timings, std::span<const double> weights,
                                   const Executor& executor);
/// log P of every row.
Vector score_hidden_tree(const HiddenTree& tree, const TimingRows& timings, const Executor& executor);

/// Counts and log P of one row of weight one, by itself.
HiddenTreeCounts count_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row);
double score_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row);

}  // namespace desirepath::inline emissions
