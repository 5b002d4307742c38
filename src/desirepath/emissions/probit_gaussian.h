// The thresholded factors under the normal distribution itself, for more factors than shared nodes can stand for: what
// is known of a row centres the integral on that row, by expectation propagation.
#pragma once

#include "desirepath/emissions/emission.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline emissions {

/// Scores carry the bias of corrected expectation propagation (mostly below 0.005 nats, docs/models/orthant.md), so
/// they sum to one over all worlds to that precision only.
class ProbitGaussianEmission : public Emission {
 public:
  /// intercepts: bits by states; slopes: (state, bit) by factors. Throws ArchiveError where they do not fit.
  ProbitGaussianEmission(RowMatrix intercepts, RowMatrix slopes);

  const RowMatrix& intercepts() const { return intercepts_; }
  const RowMatrix& slopes() const { return slopes_; }
  std::string_view family() const override { return "probit"; }
  Id state_count() const override { return static_cast<Id>(intercepts_.cols()); }
  Id bit_count() const override { return static_cast<Id>(intercepts_.rows()); }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Compute& compute) const override;
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  RowMatrix bit_probabilities() const override;
  std::int64_t parameter_count() const override;
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;
  std::int64_t byte_count() const override { return (intercepts_.size() + slopes_.size()) * 8; }

 private:
  RowMatrix intercepts_, slopes_;
  std::vector<ThresholdedFactors> states_;
};

}  // namespace desirepath::inline emissions
