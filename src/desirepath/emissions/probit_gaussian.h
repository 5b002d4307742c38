// The thresholded factors under the normal distribution itself, for more factors than shared nodes can stand for: what
// is known of a row centres the integral on that row, by expectation propagation.
#pragma once

#include "desirepath/emissions/probit_parameters.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline emissions {

/// Scores carry the bias of corrected expectation propagation (mostly below 0.005 nats, docs/models/orthant.md), so
/// they sum to one over all worlds to that precision only.
class ProbitGaussianEmission : public ProbitParameters {
 public:
  /// Throws ArchiveError where intercepts and slopes do not fit.
  ProbitGaussianEmission(RowMatrix intercepts, RowMatrix slopes);

  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Executor& executor) const override;
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  RowMatrix bit_probabilities() const override;
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;

 private:
  std::vector<ThresholdedFactors> states_;
};

}  // namespace desirepath::inline emissions
