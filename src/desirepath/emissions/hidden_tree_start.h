// Where the learning of a hidden tree begins: its shape, and first parameters.
#pragma once

#include "desirepath/compute/statistics.h"
#include "desirepath/emissions/hidden_tree.h"

namespace desirepath::inline emissions {

class TimingPairs;

/// Finds the start of one tree in rounds of counting: the spanning tree of the largest mutual information between first
/// enrollments, rooted at its centre; the pooled timings that parameters are drawn towards; and states that are those
/// of a mixture of independent courses, nearly the same in every course.
class HiddenTreeStart {
 public:
  HiddenTreeStart(const HiddenTreeOptions& options, const StepShape& shape, const RandomStream& stream);
  ~HiddenTreeStart();
  HiddenTreeStart(HiddenTreeStart&&) noexcept;

  /// weights: one a row.
  Statistics count(const StepRows& rows, const TimingRows& timings, std::span<const double> weights,
                   const Executor& executor) const;
  /// Takes the sums of a round over all rows; false where another one is to be counted.
  bool take(Statistics sums, const Executor& executor);
  HiddenTreeParameters take_parameters() { return std::move(parameters_); }

 private:
  enum class Phase { totals, pairs, pooling, mixture, timings };
  Statistics count_pooled(const TimingRows& timings, std::span<const double> weights) const;
  RowMatrix labels_of(const StepRows& rows, std::span<const double> weights, const Executor& executor) const;
  Statistics count_labels(const StepRows& rows, const TimingRows& timings, std::span<const double> weights,
                          const Executor& executor) const;
  void take_totals(const RowMatrix& totals);
  void take_pooled(const Statistics& sums);
  void take_labels(Statistics sums);
  void finish(const Statistics& sums);

  HiddenTreeOptions options_;
  StepShape shape_;
  RandomStream stream_;
  Phase phase_ = Phase::totals;
  int step_ = 0;  // of the phase
  Id states_ = 0;
  std::unique_ptr<TimingPairs> pairs_;
  RowMatrix retake_;  // pooled: courses by periods
  std::unique_ptr<Emission> mixture_;
  Eigen::RowVectorXd log_size_;
  HiddenTreeParameters parameters_;
};

}  // namespace desirepath::inline emissions
