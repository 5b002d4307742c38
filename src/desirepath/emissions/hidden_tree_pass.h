// Messages through a hidden tree, only where a row changes them.
//
// A row changes the courses it takes and their ancestors; everywhere else the messages are those of a row of the same
// pattern that takes nothing (BaselineMessages). Costs: H^2 a changed course upwards, two more downwards with counts,
// whatever the number of other courses (docs/models/hidden_tree.md). Products are rescaled
// where they leave the ordinary; the rare row whose products vanish all the same is done again in logarithms.
#pragma once

#include <span>
#include <vector>

#include "desirepath/emissions/hidden_tree_parameters.h"

namespace desirepath::inline emissions {

/// One pattern with nothing taken. Rows of states are stride() wide.
struct BaselineMessages {
  BaselineMessages(const HiddenTree& tree, TimingCode baseline);

  RowMatrix own;              // courses by states: l
  RowMatrix log_below;        // sum of the children's log messages; padding far below anything
  RowMatrix below;            // the same over its largest, not in logs; padding 0
  RowMatrix belief;           // l * below over its largest
  RowMatrix message;          // A belief; padding 1
  RowMatrix inverse_message;  // one over it and over what belief was divided by
  RowMatrix log_message;      // unscaled
  double log_scale;           // of the root's product below
  double log_probability;     // of the pattern
  Vector root;                // posterior of the root's state
};

/// A course that a row changes by what it knows of it.
struct TreeChange {
  Id course = 0;
  const double* own = nullptr;  // l, stride() wide
  std::int32_t kind = -1;       // where the posterior is counted
};

/// Sums over rows, as far as changed courses go. Rows of states are stride() wide.
struct TreeSums {
  RowMatrix pairs;       // (course, z of the parent) by z: posterior pairs over A
  RowMatrix kinds;       // kinds by states: posterior of the course's state
  RowMatrix above;       // courses by states: posterior of the parent, over rows that change the course
  RowMatrix here;        // courses by states: posterior of the course, over rows that change it
  double untouched = 0;  // weight of rows that change nothing

  void resize(const HiddenTree& tree, Index kind_count);
  void clear_group();  // above, here, untouched
  void add(const TreeSums& other);
};

/// Some rows of one pattern; reused from block to block.
class HiddenTreePass {
 public:
  HiddenTreePass(const HiddenTree& tree, const BaselineMessages& baseline);

  void begin();
  void add_row(std::span<const TreeChange> changes);
  std::size_t row_count() const { return row_begin_.size() - 1; }
  /// log P of every row.
  void up(std::span<double> log_probability);
  /// After up(): adds weight times the posterior of every row. baseline_kinds: where courses are counted that a row
  /// changes only by their descendants.
  void down(std::span<const double> weights, std::span<const std::int32_t> baseline_kinds, TreeSums& sums);
  /// After up() of a single row: posterior of every course's state, courses by stride().
  void posterior(RowMatrix& states);
  /// After up() of a single row: a draw of every course's state.
  void draw(RandomStream& stream, std::vector<Id>& states);

 private:
  struct Entry {
    Id course;
    std::int32_t parent;  // entry of the same row, -1 at the root
    std::int32_t row;
    std::int32_t kind;
    const double* own;
  };
  void arrange();
  /// One row again in logarithms.
  double up_in_logs(std::int32_t row);
  double* belief(std::size_t entry) { return belief_.row(static_cast<Index>(entry)).data(); }
  double* message(std::size_t entry) { return message_.row(static_cast<Index>(entry)).data(); }
  double* state(std::size_t entry) { return state_.row(static_cast<Index>(entry)).data(); }
  void root_posterior(std::size_t entry);

  const HiddenTree& tree_;
  const BaselineMessages& baseline_;
  std::vector<Id> rank_;                   // by course: its place in the order, parents first
  std::vector<std::size_t> row_begin_;     // into touched_
  std::vector<Entry> touched_;             // row after row; parents are numbered as they stand here
  std::vector<Entry> entries_;             // the same by course in order, then by row
  std::vector<std::size_t> course_begin_;  // by rank, into entries_
  std::vector<std::int64_t> mark_;         // by course: the last row that changed it
  std::vector<std::int32_t> place_of_;     // by course, in touched_, of the row at hand
  std::vector<std::int32_t> moved_;        // from touched_ to entries_
  std::vector<std::size_t> next_;
  std::int64_t stamp_ = 0;
  /// Entries by states: L, rescaled where it is far from 1; A belief; what the children changed on the way up, the
  /// posterior downwards.
  RowMatrix belief_, message_, state_;
};

/// Adds the posterior of everything no row of a group changed: linear in what arrives from above, so done once for all
/// its rows. `sums` has `above` and `here` of the whole group.
void add_unchanged(const HiddenTree& tree, const BaselineMessages& baseline,
                   std::span<const std::int32_t> baseline_kinds, TreeSums& sums);

}  // namespace desirepath::inline emissions
