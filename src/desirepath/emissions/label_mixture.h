// The mixture of independent courses that the learning of a hidden tree begins from: labels are drawn at random, row by
// row, and made better by some steps of EM on a mixture of Bernoullis over the bits. Labels are never kept: a step
// finds them and adds them up.
#pragma once

#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/start_rows.h"

namespace desirepath::inline emissions {

class LabelMixture {
 public:
  LabelMixture(Id labels, const RandomStream& stream);

  Statistics count(const StartRows& rows, const Executor& executor) const;
  /// Takes the sums of a round over all rows; false where another one is to be counted.
  bool take(const Statistics& sums);

  /// After the last round, of some rows: the weight of each kind of knowledge with each label, kinds by labels, and
  /// below it that of all rows.
  RowMatrix weights_of_kinds(const StartRows& rows, const Executor& executor) const;

 private:
  class Labels;

  Index labels_, stride_;
  RandomStream stream_;
  int step_ = 0;
  // What the steps so far came to; rows of labels are stride wide.
  RowMatrix taken_, not_taken_;  // bits by labels: what a taken bit adds; log of not taken
  Vector log_size_;
};

}  // namespace desirepath::inline emissions
