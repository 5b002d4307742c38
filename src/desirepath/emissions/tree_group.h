// States that share one dependency tree: probabilities along it, and exact inference with any bits unknown.
//
// A row costs its taken bits only: its score is that of "nothing taken" plus a change for each taken bit and one for
// each pair of parent and child taken together. Unknown bits form connected pieces of the tree, summed out by messages;
// a piece none of whose neighbours is taken has the same sum in every row of the pattern, and in the others messages
// change only from the taken neighbours up.
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

  /// What a row changes in a piece; made by change(), reused from row to row.
  struct Changed {
    std::vector<Index> places;       // whose messages are not those at rest; parents first, with every place its parent
    std::vector<Id> bits;            // the bits of these places
    RowMatrix own[2], to_parent[2];  // as in Messages, in the order of `places`
    Eigen::RowVectorXd log_scale;    // against the messages at rest
    bool parent_taken = false;       // the value of the piece's known parent
    std::vector<Index> slot;         // by bit: number in `places`, -1 = at rest
    std::vector<bool> whole;         // by number in `places`: a product of its own, not a change of the one at rest
  };

  /// Scores of a row with this pattern, one a state of the group.
  void score(std::span<const Id> taken, double* out, Changed& scratch) const;

  /// Connected pieces of unknown bits.
  std::size_t piece_count() const { return pieces_.size(); }
  /// Bits of a piece, parents first.
  std::span<const Id> piece(std::size_t number) const { return pieces_[number].bits; }
  /// Pieces with a taken neighbour, ascending.
  std::vector<std::size_t> touched(std::span<const Id> taken) const;
  void change(std::size_t piece, std::span<const Id> taken, Changed& changed) const;
  /// p(bit = 1 | parent = u, everything below), of a place of a piece, for all states.
  void given_parent(std::size_t piece, Index place, const Changed& changed, Eigen::Ref<Eigen::RowVectorXd> not_taken,
                    Eigen::Ref<Eigen::RowVectorXd> taken) const;
  /// Whether a place hangs below another of its piece; else below a known bit, or nothing.
  bool is_inside(Id bit) const { return group_.tree().parent(bit) >= 0 && is_unknown(group_.tree().parent(bit)); }
  Index place_of(Id bit) const { return place_of_[static_cast<std::size_t>(bit)]; }
  /// Posterior of a piece given the row's taken bits.
  PieceBeliefs beliefs(std::size_t piece, std::span<const Id> taken) const;
  /// Draws a piece's bits in one state of the group; appends those taken.
  void sample(std::size_t piece, std::span<const Id> taken, Index state, RandomStream& stream,
              std::vector<Id>& drawn) const;

 private:
  /// For each bit of a piece: what its subtree says of its own value, and of its parent's; rescaled as it goes.
  struct Messages {
    RowMatrix own[2];        // p(everything below | bit = v) up to scale, places by states
    RowMatrix to_parent[2];  // p(everything below and the bit itself | parent = u), the larger of the two 1
    RowMatrix scale;         // what to_parent was divided by
  };
  struct Piece {
    std::vector<Id> bits;  // parents first
    /// Product of p(child not taken | bit = v) over known children, by place and state, the larger of the two 1.
    RowMatrix below[2];
    std::vector<bool> exact;   // by place: a known child is taken for certain, so that a ratio would not do
    std::vector<bool> steady;  // by place: its message at rest may be divided by
    Messages rest;             // no neighbour taken
    Eigen::RowVectorXd log_scale;
  };
  bool is_unknown(Id bit) const { return !piece_of_.empty() && piece_of_[static_cast<std::size_t>(bit)] >= 0; }
  void settle(Piece& piece) const;
  /// log of the sum over a piece's bits, one a state.
  void piece_sum(std::size_t piece, const Changed& changed, double* out) const;
  /// `below` of a place where a ratio would not do, for a row's taken bits.
  void exact_below(const Piece& piece, Index place, std::span<const Id> taken, Eigen::Ref<Eigen::RowVectorXd> no,
                   Eigen::Ref<Eigen::RowVectorXd> yes) const;

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
