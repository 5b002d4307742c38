// Plans of trees that rows are counted with again and again, kept as long as the rows.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "desirepath/emissions/tree_plan.h"

namespace desirepath::inline emissions {

/// From any thread. Those used last stay, within 512 MB; what is in use stays alive beyond that.
class KeptPlans {
 public:
  explicit KeptPlans(const TimingRows& timings) : timings_(timings), rows_(timings) {}

  /// Null where there is none of this shape.
  std::shared_ptr<const TreePlan> find(const DependencyTree& shape) const;
  /// Made where there is none.
  std::shared_ptr<const TreePlan> get(const DependencyTree& shape, const Executor& executor) const;

 private:
  struct Kept {
    std::vector<Id> parents;
    std::shared_ptr<const TreePlan> plan;
  };

  const TimingRows& timings_;
  RowLanes rows_;
  mutable std::mutex mutex_;
  mutable std::list<Kept> plans_;  // the one used last first
};

/// Kept with the timings.
const KeptPlans& plans_of(const TimingRows& timings);

}  // namespace desirepath::inline emissions
