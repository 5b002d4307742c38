// Minimax exponential tilting of the separated variables.
#include "desirepath/probability/orthant_estimators.h"
#include "desirepath/probability/orthant_paths.h"
#include "desirepath/probability/orthant_tilt.h"

namespace desirepath::inline probability {

OrthantEstimate estimate_by_tilting(const OrthantProblem& problem, const SampleOptions& options,
                                    const RandomStream& stream) {
  const OrderedRegion region = OrderedRegion::least_probable_first(problem);
  const OrthantTilt tilt = solve_tilt(region);
  const PathPlan plan(region, tilt.shift);
  OrthantEstimate estimate = estimate_of_scrambles(
      path_log_means(plan, options.samples, options.scrambles, stream, options.executor), region.size());
  estimate.log_upper_bound = std::min(tilt.log_upper_bound, 0.0);
  return estimate;
}

}  // namespace desirepath::inline probability
