// The messages of a hidden tree in a row that takes nothing: what every row of its pattern has wherever it changes
// nothing. docs/models/hidden_tree.md.
#pragma once

#include "desirepath/emissions/hidden_tree_parameters.h"

namespace desirepath::inline emissions {

/// Rows of states are stride() wide.
struct BaselineMessages {
  BaselineMessages(const HiddenTree& tree, TimingCode baseline);

  TimingCode code;            // of every course; of traits nothing is known
  RowMatrix own;              // nodes by states: l
  RowMatrix log_below;        // sum of the children's log messages; padding far below anything
  RowMatrix below;            // the same over its largest, not in logs; padding 0
  RowMatrix belief;           // l * below over its largest
  RowMatrix message;          // A belief; padding 1
  RowMatrix inverse_message;  // one over it and over what belief was divided by
  RowMatrix log_message;      // unscaled
  std::vector<bool> lost;     // by node: below is 0 for some state
  double log_scale;           // of the root's product below
  double log_probability;     // of the pattern
  Vector root;                // posterior of the root's state
};

/// sum_z pi(z) x(z), first to last.
double root_sum(const HiddenTree& tree, const double* belief);

}  // namespace desirepath::inline emissions
