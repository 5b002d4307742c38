// The passes of EM over the rows of a hidden tree: expected counts, log-likelihoods. docs/models/hidden_tree.md.
#pragma once

#include <memory>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/hidden_tree_counts.h"
#include "desirepath/emissions/tree_plan.h"

namespace desirepath::inline emissions {

class TreeSums;

/// What one pass over the rows gives.
struct HiddenTreeExpectation {
  Vector log_probability;  // of every row
  HiddenTreeCounts counts;
};

/// Passes over the same rows again and again. With a plan, which trees must have the shape of; without, one is made
/// anew in every pass, segment by segment. The memory of a pass serves the next one too.
class HiddenTreePasses {
 public:
  /// The timings must outlive it.
  explicit HiddenTreePasses(const TimingRows& timings, std::shared_ptr<const TreePlan> plan = nullptr);
  ~HiddenTreePasses();

  /// The counts of all rows, each times its weight, and log P of each: one pass up and one down. One call at a time.
  HiddenTreeExpectation expect(const HiddenTree& tree, std::span<const double> weights, const Executor& executor);
  /// log P of every row: the pass up alone.
  Vector score(const HiddenTree& tree, const Executor& executor) const;

 private:
  struct Work;
  class WorkPool;
  const PlanSegment& segment(std::size_t number, const HiddenTree& tree, PlanSegment& made) const;
  template <class Task>
  void with_work(const Task& task) const;

  const TimingRows& timings_;
  RowLanes rows_;
  std::shared_ptr<const TreePlan> plan_;
  std::vector<TreeSums> sums_;
  std::unique_ptr<WorkPool> pool_;
};

}  // namespace desirepath::inline emissions
