// Where the learning of a hidden tree begins: its shape, and first parameters.
#pragma once

#include "desirepath/compute/statistics.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/label_mixture.h"
#include "desirepath/emissions/tree_ground.h"

namespace desirepath::inline emissions {

/// Finds the start of one tree in rounds of counting: states that are those of a mixture of independent courses, nearly
/// the same in every course. The shape and what parameters are drawn towards follow from the ground.
class HiddenTreeStart {
 public:
  /// The ground must outlive the start.
  HiddenTreeStart(const TreeGround& ground, const HiddenTreeOptions& options, const RandomStream& stream);

  Statistics count(const StartRows& rows, const Executor& executor) const;
  /// Takes the sums of a round over all rows; false where another one is to be counted.
  bool take(const Statistics& sums);
  HiddenTreeParameters take_parameters() { return std::move(parameters_); }

 private:
  void finish(const Statistics& sums);

  RandomStream stream_;
  LabelMixture mixture_;
  bool is_mixed_ = false;
  HiddenTreeParameters parameters_;
};

}  // namespace desirepath::inline emissions
