// What every form of the probit emission keeps: intercepts and slopes, as files hold them.
#pragma once

#include "desirepath/emissions/emission.h"

namespace desirepath::inline emissions {

class ProbitParameters : public Emission {
 public:
  /// intercepts: bits by states; slopes: (state, bit) by factors.
  ProbitParameters(RowMatrix intercepts, RowMatrix slopes)
      : intercepts_(std::move(intercepts)), slopes_(std::move(slopes)) {}

  const RowMatrix& intercepts() const { return intercepts_; }
  const RowMatrix& slopes() const { return slopes_; }
  Id factor_count() const { return static_cast<Id>(slopes_.cols()); }
  std::string_view family() const override { return "probit"; }
  Id state_count() const override { return static_cast<Id>(intercepts_.cols()); }
  Id bit_count() const override { return static_cast<Id>(intercepts_.rows()); }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  /// Free ones: an intercept and slopes for each state and bit, less the ways to turn the factors.
  std::int64_t parameter_count() const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;
  std::int64_t byte_count() const override { return (intercepts_.size() + slopes_.size()) * 8; }

 private:
  RowMatrix intercepts_, slopes_;
};

}  // namespace desirepath::inline emissions
