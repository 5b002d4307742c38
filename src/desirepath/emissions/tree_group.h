// States that share one dependency tree: probabilities along it, and exact inference with any bits unknown.
//
// A row costs its taken bits only: its score is that of "nothing taken" plus a change for each taken bit and one for
// each pair of parent and child taken together. Unknown bits form connected pieces of the tree, summed out by messages;
// a piece none of whose neighbours is taken has the same sum in every row of the pattern.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/log_score_table.h"
#include "desirepath/emissions/step_rows.h"
#include "desirepath/probability/dependency_tree.h"

namespace desirepath::inline emissions {

/// What a pattern of unknown bits means for the tree; made once a pattern.
class TreePattern;

class TreeGroup {
 public:
  /// first_state: number of the group's first state in the emission. Probabilities are bits by states of the group:
  /// p(bit = 1 | parent not taken), p(bit = 1 | parent taken); equal for a bit without parent.
  TreeGroup(DependencyTree tree, Id first_state, RowMatrix given_not_taken, RowMatrix given_taken);

  const DependencyTree& tree() const { return tree_; }
  Id first_state() const { return first_state_; }
  Index state_count() const { return given_not_taken_.cols(); }
  const RowMatrix& given_not_taken() const { return given_not_taken_; }
  const RowMatrix& given_taken() const { return given_taken_; }

  /// log p(bit = value | parent = given).
  LogScore log_probability(Id bit, bool given, bool value, Index state) const {
    return log_[(given ? 2 : 0) + (value ? 1 : 0)].get(bit, state);
  }

 private:
  friend class TreePattern;
  DependencyTree tree_;
  Id first_state_;
  RowMatrix given_not_taken_, given_taken_;
  std::array<LogScoreTable, 4> log_;  // by (parent value, value)
};

/// Posterior of the unknown bits of one piece, for all states of the group.
struct PieceBeliefs {
  RowMatrix taken;     // places of the piece by states: p(bit = 1)
  RowMatrix together;  // p(bit = 1, parent = 1), for bits with a parent
};

class TreePattern {
 public:
  TreePattern(const TreeGroup& group, const UnknownBits& unknown);

  /// Scores of a row with this pattern, one a state of the group.
  void score(std::span<const Id> taken, double* out) const;

  /// Connected pieces of unknown bits.
  std::size_t piece_count() const { return pieces_.size(); }
  /// Bits of a piece, parents first.
  std::span<const Id> piece(std::size_t number) const { return pieces_[number].bits; }
  /// Pieces with a taken neighbour, ascending.
  std::vector<std::size_t> touched(std::span<const Id> taken) const;
  /// Posterior of a piece given the row's taken bits.
  PieceBeliefs beliefs(std::size_t piece, std::span<const Id> taken) const;
  /// Draws a piece's bits in one state of the group; appends those taken.
  void sample(std::size_t piece, std::span<const Id> taken, Index state, RandomStream& stream,
              std::vector<Id>& drawn) const;

 private:
  struct Piece {
    std::vector<Id> bits;  // parents first
    /// Product of p(child not taken | bit = v) over known children, by place and state, and the log of what was divided
    /// out.
    RowMatrix below[2];
    Eigen::RowVectorXd log_scale;
    std::vector<bool> exact;  // by place: a known child is taken for certain, so that a ratio would not do
  };
  struct Messages;
  bool is_unknown(Id bit) const { return !piece_of_.empty() && piece_of_[static_cast<std::size_t>(bit)] >= 0; }
  /// log of the sum over a piece's bits, one a state.
  void piece_sum(std::size_t piece, std::span<const Id> taken, double* out) const;
  void upward(std::size_t piece, std::span<const Id> taken, Messages& messages) const;

  const TreeGroup& group_;
  std::vector<Piece> pieces_;
  std::vector<Id> piece_of_;  // by bit; -1 = known; empty where nothing is unknown
  std::vector<Id> place_of_;  // by bit, within its piece
  LogScoreTable base_;        // nothing taken
  LogScoreTable change_;      // by bit: taken, parent and children not (known ones only)
  LogScoreTable together_;    // by bit: correction when its parent is taken too
  RowMatrix default_sum_;     // pieces by states: log sum with no neighbour taken
};

}  // namespace desirepath::inline emissions
