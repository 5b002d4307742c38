// Importance sampling over the factors.
#include "desirepath/core/error.h"
#include "desirepath/probability/factor_sampler.h"
#include "desirepath/probability/orthant_estimators.h"

namespace desirepath::inline probability {

OrthantEstimate estimate_by_factors(const OrthantProblem& problem, const SampleOptions& options,
                                    const RandomStream& stream) {
  const std::optional<FactorCovariance> covariance = factor_covariance(problem);
  if (!covariance) {
    throw OptionError(
        "estimator 'factor' needs a covariance by factors (Lambda and D, or rho >= 0); 'tilted' takes any");
  }
  const ThresholdedFactors factors =
      ThresholdedFactors::from_loadings(problem.mean, covariance->loadings, covariance->noise);
  const std::vector<Id> taken = courses_taken(problem);
  FactorEp ep(factors);
  const FactorSampler sampler(factors, {options.samples, options.scrambles}, stream);
  const FactorEstimate found = sampler.estimate({taken}, ep.solve({taken}), options.executor);
  OrthantEstimate estimate;
  estimate.log_probability = found.log_probability;
  estimate.standard_error =
      std::max(found.standard_error, rounding_error(problem.course_count(), found.log_probability));
  return estimate;
}

}  // namespace desirepath::inline probability
