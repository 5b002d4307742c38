// What every pass over a hidden tree does with the rows of a step, worked out once for the tree's shape.
//
// A row changes the courses of which it knows something else than its pattern's baseline, and their ancestors. The
// message that goes up from a changed course depends only on what is known of that course and on the changes below
// it, so rows that agree on those share one node: a message is computed once for all of them, and what comes down to
// them is added up before it goes further. All of it is numbers in flat arrays; the parameters of the tree may change
// from pass to pass, its shape may not. docs/models/hidden_tree.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "desirepath/emissions/row_lanes.h"
#include "desirepath/probability/dependency_tree.h"

namespace desirepath::inline emissions {

/// Rows of one pattern, as a pass takes them. Courses are numbered by rank: their place in the tree's order, parents
/// first. A node's slot is where a pass keeps its messages: shared nodes have the first slots; the nodes of each block
/// come after these and take turns there.
struct PlanSegment {
  std::int32_t group = 0;          // of TimingRows
  std::int32_t first_row = 0;      // among the rows of the group
  std::vector<std::int32_t> root;  // by row: slot of its node of the root; none where it changes nothing
  static constexpr std::int32_t none = -1;

  /// Kinds of knowledge, as numbers of TimingRows::kinds(). First the baseline's of every course, by rank.
  std::vector<std::int32_t> kinds;

  /// Block 0 holds the nodes that many rows share, each further one those of some rows.
  struct Block {
    std::int32_t first_row = 0;    // into root
    std::int32_t first_batch = 0;  // into batches
    std::int32_t first_node = 0;   // into node_kind and child_begin
  };
  std::vector<Block> blocks;  // and one past the last
  /// Nodes of one course within a block, in ascending order of ranks.
  struct Batch {
    std::int32_t rank = 0;
    std::int32_t first_node = 0;
  };
  std::vector<Batch> batches;             // and one past the last
  std::vector<std::int32_t> node_kind;    // by node: into kinds
  std::vector<std::int32_t> child_begin;  // by node: into children; and one past the last
  std::vector<std::int32_t> children;     // slots
  std::int32_t slot_count = 0;

  std::int32_t row_count() const { return static_cast<std::int32_t>(root.size()); }
  std::size_t block_count() const { return blocks.size() - 1; }
  std::int32_t shared_count() const { return blocks[1].first_node; }
  /// What is added to the number of a block's node for its slot.
  std::int32_t slot_offset(std::size_t block) const {
    return block == 0 ? 0 : shared_count() - blocks[block].first_node;
  }
  std::int64_t byte_count() const;
};

PlanSegment plan_segment(const DependencyTree& shape, const TimingRows& timings, const PlannedRows& rows);

struct TreePlan {
  std::vector<PlanSegment> segments;
  TreePlan(const DependencyTree& shape, const TimingRows& timings, const RowLanes& rows, const Executor& executor);
  std::int64_t byte_count() const;
};

}  // namespace desirepath::inline emissions
