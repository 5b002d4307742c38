// Expected counts of a hidden tree over weighted rows: the E step of hidden course trees, at the cost of what was
// taken.
#pragma once

#include "desirepath/compute/statistics.h"
#include "desirepath/emissions/hidden_tree_parameters.h"

namespace desirepath::inline emissions {

/// One number after the other, so that whoever has several can add them up.
class HiddenTreeCounts {
 public:
  HiddenTreeCounts() = default;
  /// Nothing counted. width: values of the widest node.
  HiddenTreeCounts(Index nodes, Index states, Index periods, Index width);

  using View = Eigen::Map<const RowMatrix>;
  using Place = Eigen::Map<RowMatrix>;
  /// Of the root's states: one row.
  View root() const { return {values_.data(), 1, states_}; }
  Place root() { return {values_.data(), 1, states_}; }
  /// (node, z of the parent) by z.
  View pairs() const { return {values_.data() + pairs_begin(), nodes_ * states_, states_}; }
  Place pairs() { return {values_.data() + pairs_begin(), nodes_ * states_, states_}; }
  /// (node, z) by v.
  View timing() const { return {values_.data() + timing_begin(), nodes_ * states_, width_}; }
  Place timing() { return {values_.data() + timing_begin(), nodes_ * states_, width_}; }
  /// Nodes by periods, traits without any: first enrollment before the period, and the period known.
  View risk() const { return {values_.data() + risk_begin(), nodes_, periods_}; }
  Place risk() { return {values_.data() + risk_begin(), nodes_, periods_}; }
  /// Nodes by periods: of these, taken again.
  View retaken() const { return {values_.data() + risk_begin() + nodes_ * periods_, nodes_, periods_}; }
  Place retaken() { return {values_.data() + risk_begin() + nodes_ * periods_, nodes_, periods_}; }

  std::span<const double> values() const { return {values_.data(), static_cast<std::size_t>(values_.size())}; }
  std::span<double> values() { return {values_.data(), static_cast<std::size_t>(values_.size())}; }
  HiddenTreeCounts& operator+=(const HiddenTreeCounts& other);
  /// Where rounding would leave less than nothing, nothing is left.
  HiddenTreeCounts& operator-=(const HiddenTreeCounts& other);
  HiddenTreeCounts& operator*=(double factor);

 private:
  Index pairs_begin() const { return states_; }
  Index timing_begin() const { return pairs_begin() + nodes_ * states_ * states_; }
  Index risk_begin() const { return timing_begin() + nodes_ * states_ * width_; }

  Index nodes_ = 0, states_ = 0, periods_ = 0, width_ = 0;
  Vector values_;
};

/// As statistics, one table a tree after the other, and back.
void add_to_statistics(const HiddenTreeCounts& counts, Statistics& sums);
HiddenTreeCounts take_counts(const Statistics& sums, std::size_t number, const HiddenTree& tree);

/// Counts and log P of one row of weight one, by itself.
HiddenTreeCounts count_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row);
double score_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row);

}  // namespace desirepath::inline emissions
