// Importance sampling of the factors given a student's courses, centred by expectation propagation, on quasi-random
// points: the probability of an enrollment vector under few factors, as exactly as wanted, however many the courses.
//
// The proposal is the posterior's Gaussian with two amendments: its tails are made exponential, while the integrand's
// are no heavier than the normal prior's, so the weights are bounded; and along the direction in which the posterior is
// most skewed one side is stretched and the other shrunk. What the heavy tails add to the variance a control variate
// takes away again.
#pragma once

#include <cstdint>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/probability/factor_ep.h"
#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/quasi_random.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline probability {

struct FactorSamplerOptions {
  /// Points in each scramble; best a power of two.
  std::int64_t points = 256;
  int scrambles = 8;
};

struct FactorEstimate {
  double log_probability = 0;
  double standard_error = 0;  // from the scrambles
  /// Share of the points that equally weighted ones would need to be as good.
  double effective_share = 1;
};

/// Weighted points that stand for the factors given a student's courses.
struct FactorSample {
  FactorEstimate estimate;
  Matrix points;       // points by factors
  Vector log_weights;  // normalised: the weights sum to one
};

/// Samples one student after another under the same factors, all on the same quasi-random points. Immutable.
class FactorSampler {
 public:
  /// The factors must outlive this object.
  FactorSampler(const ThresholdedFactors& factors, const FactorSamplerOptions& options, const RandomStream& stream);

  FactorEstimate estimate(const KnownSigns& signs, const FactorPosterior& centre,
                          const Executor& executor = Executor(1)) const;
  FactorSample sample(const KnownSigns& signs, const FactorPosterior& centre) const;

 private:
  struct Target;
  struct Sums;
  class Block;
  Target target_of(const KnownSigns& signs, const FactorPosterior& centre) const;
  FactorEstimate estimate_of(const std::vector<Sums>& by_scramble, double log_approximation) const;

  const ThresholdedFactors& factors_;
  std::int64_t point_count_;  // in a scramble
  std::vector<QuasiRandomPoints> scrambles_;
};

}  // namespace desirepath::inline probability
