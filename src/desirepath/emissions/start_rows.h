// Weighted rows as the start of a hidden tree counts them, with what its rounds read again and again.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "desirepath/emissions/row_blocks.h"

namespace desirepath::inline emissions {

/// Starts of several trees of the same students may share it, from any thread. Rows, timings and weights (one a row)
/// must outlive it.
class StartRows {
 public:
  StartRows(const StepRows& rows, const TimingRows& timings, std::span<const double> weights);

  const StepRows& rows() const { return rows_; }
  const TimingRows& timings() const { return timings_; }
  std::span<const double> weights() const { return weights_; }
  const RowLanes& cut() const { return cut_; }
  /// Weight of the rows by what they know of a course: kinds. Kept with the timings where the weights are the rows'
  /// own.
  const Vector& weights_of_kinds() const;
  /// Kept with the timings.
  const RowBlocks& blocks(const Executor& executor) const;

 private:
  const StepRows& rows_;
  const TimingRows& timings_;
  std::span<const double> weights_;
  RowLanes cut_;
  mutable std::once_flag weighed_;
  mutable Vector weights_of_kinds_;
};

}  // namespace desirepath::inline emissions
