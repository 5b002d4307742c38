// Expectation propagation with its correction by third and fourth cumulants, on the factors where there are few, else
// on the courses.
#include "desirepath/probability/factor_ep.h"
#include "desirepath/probability/gaussian_ep.h"
#include "desirepath/probability/orthant_estimators.h"

namespace desirepath::inline probability {

OrthantEstimate estimate_by_ep(const OrthantProblem& problem) {
  OrthantEstimate estimate;
  bool converged = false;
  if (const std::optional<FactorCovariance> covariance = factor_covariance(problem)) {
    const ThresholdedFactors factors =
        ThresholdedFactors::from_loadings(problem.mean, covariance->loadings, covariance->noise);
    FactorEp ep(factors);
    const std::vector<Id> taken = courses_taken(problem);
    const FactorPosterior& posterior = ep.solve({taken});
    estimate.log_probability = posterior.log_probability + ep.correction();
    converged = posterior.converged;
  } else {
    const GaussianEp ep = gaussian_ep(problem);
    estimate.log_probability = ep.log_probability + ep.correction;
    converged = ep.converged;
  }
  if (!converged) estimate.note = "expectation propagation did not converge; its last iterate is given";
  return estimate;
}

}  // namespace desirepath::inline probability
