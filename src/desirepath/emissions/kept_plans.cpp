#include "desirepath/emissions/kept_plans.h"

#include <algorithm>

namespace desirepath::inline emissions {

namespace {

constexpr std::int64_t most_kept_bytes = std::int64_t{512} << 20;

}  // namespace

std::shared_ptr<const TreePlan> KeptPlans::find(const DependencyTree& shape) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(plans_, shape.parents(), &Kept::parents);
  if (found == plans_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, found);
  return found->plan;
}

std::shared_ptr<const TreePlan> KeptPlans::get(const DependencyTree& shape, const Executor& executor) const {
  if (auto found = find(shape)) return found;
  // Whoever else makes the same one meanwhile makes the same numbers.
  auto made = std::make_shared<const TreePlan>(shape, timings_, rows_, executor);
  const std::lock_guard lock(mutex_);
  plans_.push_front({shape.parents(), made});
  std::int64_t bytes = 0;
  for (auto kept = plans_.begin(); kept != plans_.end();) {
    bytes += kept->plan->byte_count();
    kept = bytes > most_kept_bytes ? plans_.erase(kept) : std::next(kept);
  }
  return made;
}

const KeptPlans& plans_of(const TimingRows& timings) {
  return timings.kept<KeptPlans>("plans", [&] { return std::make_shared<const KeptPlans>(timings); });
}

}  // namespace desirepath::inline emissions
