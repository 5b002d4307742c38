// What passes over rows add up for the counts of a hidden tree, before what is the same for all rows is multiplied in.
#pragma once

#include "desirepath/emissions/hidden_tree_counts.h"

namespace desirepath::inline emissions {

/// Rows of states are stride() wide. Refers to the tree it was begun for.
class TreeSums {
 public:
  /// Nothing added up yet.
  void begin(const HiddenTree& tree);
  /// Numbers of one.
  static Index size_for(const HiddenTree& tree);

  /// Posterior pairs over A of a node: z of its parent by z.
  double* pairs(Id node) { return values_.data() + Index{node} * tree_->state_count() * tree_->stride(); }
  /// Adds the posterior of a node's state, summed over rows that know the same of it. own: l of what they know.
  void add(const CourseTiming& known, const double* posterior, const double* own);

  Vector& values() { return values_; }
  HiddenTreeCounts counts() const;

 private:
  Index timing_begin() const { return Index{tree_->node_count()} * tree_->state_count() * tree_->stride(); }
  Index root_begin() const { return timing_begin() + tree_->node_count() * Index{tree_->width()} * tree_->stride(); }
  Index risk_begin() const { return root_begin() + tree_->stride(); }

  const HiddenTree* tree_ = nullptr;
  Vector values_;
};

}  // namespace desirepath::inline emissions
