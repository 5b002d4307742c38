// Transitions that a user has fixed or forbidden.
#pragma once

#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline models {

/// Transitions that training may not touch: (step, from, to) -> probability; 0 = forbidden.
class FixedTransitions {
 public:
  void fix(Id step, Id from, Id to, double probability) { entries_.push_back({step, from, to, probability}); }
  /// Nobody moves between the first `states` states; what comes after them stays open.
  void keep_states(Id states) { kept_states_ = states; }
  bool empty() const { return entries_.empty() && kept_states_ == 0; }
  /// Throws InputError when a row's fixed probabilities exceed one, or sum to less with nothing left free.
  void check(Id states) const;
  /// A row with its fixed entries as they are and the rest shared out in proportion to `weights` (evenly if all are 0).
  Eigen::RowVectorXd row(Id step, Id from, Eigen::RowVectorXd weights) const;
  /// Entries of a row that are free.
  std::vector<Id> free_entries(Id step, Id from, Id states) const;

 private:
  struct Entry {
    Id step, from, to;
    double probability;
  };
  std::vector<Entry> entries_;
  Id kept_states_ = 0;
};

}  // namespace desirepath::inline models
