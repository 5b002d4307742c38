// Which states, and which reasons for not being enrolled, are nodes of their own in flows that may be told.
#pragma once

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/pathways.h"

namespace desirepath::inline queries {

/// Which places of a step are one node: small states are "other", small reasons for not being enrolled "not enrolled",
/// each with more until they are enough together and the flows to and from them can be told. Where too few students
/// were enrolled, or were not, both are one.
class NodeChoice {
 public:
  NodeChoice(const PathCounts& counts, Id steps, Id states, const Disclosure& disclosure);

  Id state_count() const { return states_; }
  Id places() const { return static_cast<Id>(students_.cols()); }
  double students(Id step, Id place) const { return students_(step, place); }
  bool is_merged(Id step, Id place) const {
    return merged_[static_cast<std::size_t>(step)][static_cast<std::size_t>(place)] != 0;
  }
  /// Whether merged states and merged reasons are the same node.
  bool is_mixed(Id step) const { return mixed_[static_cast<std::size_t>(step)] != 0; }
  bool has_unknown() const { return students_.col(place_of(EnrollmentStatus::unknown, states_)).sum() > 0; }
  double not_enrolled(Id step) const { return students_.row(step).tail(places() - states_).sum(); }

  /// Of a step and the next, one gets fewer reasons; where it has one, it is shown with the smallest states. False
  /// where nothing is left to do so.
  bool merge_reasons(Id step);
  /// Of a step and the next, the one with more nodes gets one less: the smallest of its states, or of its reasons,
  /// joins the others of its sort.
  void merge_more(Id step);

 private:
  /// The states of a step, or its reasons.
  struct Sort {
    Id first = 0, last = 0;
    double merged = 0;         // students
    std::size_t unmerged = 0;  // places

    std::size_t nodes() const { return unmerged + (merged > 0 ? 1 : 0); }
  };
  Sort sort_at(Id step, bool is_state) const;
  std::size_t node_count(Id step) const;

  Id smallest_of(Id step, const Sort& sort) const;
  void merge_smallest(Id step, const Sort& sort);
  void merge(Id step, Id place) { merged_[static_cast<std::size_t>(step)][static_cast<std::size_t>(place)] = 1; }
  void mix(Id step);

  void choose(Id step, const Disclosure& disclosure);

  Id states_;
  RowMatrix students_;
  std::vector<Hidden> merged_;
  Hidden mixed_;
};

}  // namespace desirepath::inline queries
