// One row on its way through a hidden tree, for questions about it and for rows whose products leave the numbers there
// are: these are done in logarithms.
//
// A row changes the courses it takes and their ancestors; everywhere else its messages are the baseline's
// (docs/models/hidden_tree.md).
#pragma once

#include <span>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/baseline_messages.h"
#include "desirepath/emissions/tree_sums.h"

namespace desirepath::inline emissions {

/// A course that a row changes by what it knows of it.
struct TreeChange {
  CourseTiming known;
  const double* own = nullptr;  // l, stride() wide
};

class HiddenTreeRow {
 public:
  /// All of it must outlive the row.
  HiddenTreeRow(const HiddenTree& tree, const BaselineMessages& baseline, std::span<const TreeChange> changes);

  double log_probability() const { return log_probability_; }
  /// Posterior of every course's state: courses by stride().
  RowMatrix posterior() const;
  /// Adds weight times the posterior.
  void add_to(TreeSums& sums, double weight) const;
  /// A draw of every course's state.
  void draw(RandomStream& stream, std::vector<Id>& states) const;

 private:
  struct Entry {
    Id course;
    std::int32_t parent;  // entry, -1 at the root
    std::int32_t change;  // -1: the row changes only descendants
  };
  void find_entries();
  const double* own(const Entry& entry) const;
  bool up();
  void up_in_logarithms();
  /// visit(course, parent, g, belief, posterior) for every course, parents before their children. g: the parent's
  /// posterior over the course's message.
  template <class Visit>
  void down(const Visit& visit) const;

  const HiddenTree& tree_;
  const BaselineMessages& baseline_;
  std::span<const TreeChange> changes_;
  std::vector<Entry> entries_;       // parents first
  std::vector<std::int32_t> place_;  // by course: its entry, -1: unchanged
  /// Entries by states: L, rescaled where it is far from 1; A belief.
  RowMatrix belief_, message_;
  double log_probability_ = 0;
};

}  // namespace desirepath::inline emissions
