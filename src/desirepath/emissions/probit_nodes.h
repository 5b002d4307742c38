// One state's thresholded factors on the nodes that stand for the factors' distribution: given a node the courses are
// independent, so a row costs one product of table rows a course taken, whatever the number of courses.
//
// P(row) = sum_s w_s prod_j Phi(+-eta_js) = sum_s base_s prod_{j taken} odds_js, odds = Phi(eta)/Phi(-eta) and
// base_s = w_s prod_{j known} Phi(-eta_js), the same for all rows of a pattern. An unknown course leaves the base:
// 1/Phi(-eta) = 1 + odds. Products are taken of odds over their largest, without logarithms; where one falls so low
// that nodes may be lost, in logarithms.
#pragma once

#include <span>
#include <vector>

#include "desirepath/core/types.h"
#include "desirepath/emissions/step_rows.h"
#include "desirepath/probability/factor_nodes.h"

namespace desirepath::inline emissions {

/// Nodes walked together: their products stay in registers, and their part of a table in the cache.
inline constexpr Index nodes_a_block = 32;

/// What all rows of a pattern begin with.
struct NodeBase {
  Vector log_value;  // by node
  Vector value;      // the same over its largest
  double log_scale = 0;
};

/// Immutable; const members may be called from any thread.
class NodeTable {
 public:
  /// slopes: bits by factors. As many nodes as fill whole blocks.
  NodeTable(Vector intercepts, RowMatrix slopes, NodeSet nodes);
  Index bit_count() const { return intercepts_.size(); }
  Index node_count() const { return nodes_.log_weights.size(); }
  Index block_count() const { return node_count() / nodes_a_block; }
  const NodeSet& nodes() const { return nodes_; }
  const Vector& intercepts() const { return intercepts_; }
  const RowMatrix& slopes() const { return slopes_; }

  NodeBase base(const UnknownBits& unknown) const;
  /// Of the rows given, which share a base: the sum of each row's products, on its own scale. Zero where that is lost:
  /// weigh() then has the answer.
  void totals(const NodeBase& base, const StepRows& rows, std::span<const std::int64_t> numbers,
              std::span<double> sums) const;
  /// log P of a row from its total, or in logarithms where the total is zero.
  double log_probability(const NodeBase& base, std::span<const Id> taken, double total) const;
  /// Adds factor times a row's products in one block of nodes to all of the targets (nodes_a_block numbers each).
  void add_products(const NodeBase& base, std::span<const Id> taken, Index block, double factor, double* all,
                    double* counts) const;
  /// p(node | taken), one a node; returns log P of what is known.
  double weigh(const NodeBase& base, std::span<const Id> taken, std::span<double> node_probabilities) const;

  /// p(bit = 1 | node), one a node.
  void probabilities(Id bit, std::span<double> by_node) const;
  double probability(Id bit, Index node) const;
  /// Sum over the nodes by their weights, and over the bits, of log Phi(eta) + log Phi(-eta).
  double log_balance() const { return log_balance_; }

 private:
  void weigh_in_logarithms(const NodeBase& base, std::span<const Id> taken, Vector& log_weights) const;
  const double* odds(Index block, Id bit) const { return odds_.data() + (block * bit_count() + bit) * nodes_a_block; }

  Vector intercepts_;
  RowMatrix slopes_;
  NodeSet nodes_;
  RowMatrix odds_;  // (block, bit) by nodes of the block: each bit's odds over its largest
  Vector log_odds_scale_, odds_scale_;
  Vector log_base_;  // everything known
  double log_balance_ = 0;
};

}  // namespace desirepath::inline emissions
