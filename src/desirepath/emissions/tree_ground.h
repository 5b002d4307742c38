// What every hidden tree of the same students begins from, whatever is drawn for it: how much the timings of courses
// say of each other, and their shares with all students together.
#pragma once

#include <optional>

#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/start_rows.h"
#include "desirepath/emissions/timing_pairs.h"

namespace desirepath::inline emissions {

/// Expected first enrollments of a kind's course, or values of its trait, of weight one, by v, under shares of all.
void expected_first(const CourseTiming& kind, Id courses, const RowMatrix& shares, const RowMatrix& retake,
                    Eigen::Ref<Eigen::RowVectorXd> out);

/// Found in rounds of counting; then only read.
class TreeGround {
 public:
  TreeGround(const HiddenTreeOptions& options, const StepShape& shape);

  Statistics count(const StartRows& rows, const Executor& executor) const;
  /// Takes the sums of a round over all rows; false where another one is to be counted.
  bool take(const Statistics& sums, const Executor& executor);

  const StepShape& shape() const { return shape_; }
  double students() const { return students_; }
  /// The shape of a tree.
  DependencyTree tree(double noise, const RandomStream& stream) const { return pairs_->tree(noise, stream); }
  /// Expected first enrollments of every course and mean retakes, as if courses were independent; of the states there
  /// are none.
  const HiddenTreeCentres& centres() const { return centres_; }

 private:
  /// Of a course or trait.
  Id values(Id node) const {
    return node < shape_.courses ? shape_.periods + 1
                                 : shape_.trait_values[static_cast<std::size_t>(node - shape_.courses)];
  }
  enum class Phase { totals, pairs, pooling };
  Statistics count_pooled(const StartRows& rows) const;
  void take_totals(const RowMatrix& totals);
  void take_pooled(const Statistics& sums);

  Retakes retakes_;
  double retake_prior_;
  StepShape shape_;
  Phase phase_ = Phase::totals;
  int step_ = 0;  // of the phase
  double students_ = 0;
  std::optional<TimingPairs> pairs_;
  HiddenTreeCentres centres_;
  RowMatrix retake_;  // pooled: nodes by periods
};

}  // namespace desirepath::inline emissions
