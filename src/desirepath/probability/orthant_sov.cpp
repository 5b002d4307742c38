// Separation of variables, ordered, on quasi-random points.
#include "desirepath/probability/orthant_estimators.h"
#include "desirepath/probability/orthant_paths.h"

namespace desirepath::inline probability {

OrthantEstimate estimate_by_sov(const OrthantProblem& problem, const SampleOptions& options,
                                const RandomStream& stream) {
  const OrderedRegion region = OrderedRegion::least_probable_first(problem);
  const PathPlan plan(region, Vector::Zero(region.size()));
  return estimate_of_scrambles(path_log_means(plan, options.samples, options.scrambles, stream, options.executor),
                               region.size());
}

}  // namespace desirepath::inline probability
