// Many students under the same few factors, on nodes they share: the integral over the factors becomes a weighted sum
// over fixed nodes z_s, and a student costs one product of table rows a course taken, whatever the number of courses.
//
// P(x) = sum_s w_s prod_j Phi(s_j eta_js) = sum_s base_s prod_{j taken} [Phi(eta_js) / Phi(-eta_js)], with
// base_s = w_s prod_j Phi(-eta_js) the same for every student. Right while some nodes lie where the student's factors
// do: for few factors; beyond, centre the points on the student (FactorSampler).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline probability {

/// Nodes and weights that stand for the prior N(0, I) of the factors.
struct NodeSet {
  Matrix points;       // nodes by factors
  Vector log_weights;  // of weights that sum to one
};

/// One scramble of quasi-random normal points, spread wider than the prior by this factor and weighted back: students
/// out in the tail then find nodes too. Measured (q = 2 to 4, 400 courses), a spread of 1.5 has a third to a tenth of
/// the error that the prior's own points (1) have.
NodeSet prior_nodes(Index factor_count, std::int64_t node_count, const RandomStream& stream, double spread = 1.5);

/// Sums over students of posterior weights on the nodes: all that the gradient, and a step of EM, need to know.
struct NodeCounts {
  Vector all;         // one a node: of every student
  RowMatrix taken;    // courses by nodes: of those who took the course
  RowMatrix unknown;  // courses by nodes: of those whose course is unknown; empty where every course is known

  static NodeCounts zero(Index course_count, Index node_count, bool with_unknown);
};

/// Immutable; const members may be called from any thread.
class FactorNodes {
 public:
  FactorNodes(const ThresholdedFactors& factors, NodeSet nodes);

  Index node_count() const { return nodes_.points.rows(); }
  Index course_count() const { return thresholds_.size(); }
  const NodeSet& nodes() const { return nodes_; }

  /// log P of what is known. The signs must be valid (check_signs). `work` holds node_count() doubles.
  double log_probability(const KnownSigns& signs, std::span<double> work) const;
  /// The same, leaving behind each node's probability given what is known of the student.
  double posterior(const KnownSigns& signs, std::span<double> node_probabilities) const;

  /// Adds weight times a student's node probabilities (from posterior) to the counts.
  void add_counts(const KnownSigns& signs, double weight, std::span<const double> node_probabilities,
                  NodeCounts& counts) const;
  /// Gradient of the sum of the counted students' log-probabilities, exact for these nodes.
  FactorGradient gradient(const NodeCounts& counts) const;

  /// P(x_j = 1 | node), one a node, for averages over node probabilities.
  void taken_given_node(Id course, std::span<double> probabilities) const;

 private:
  double weigh(const KnownSigns& signs, std::span<double> weights) const;
  double weigh_in_log_space(const KnownSigns& signs, std::span<double> weights) const;
  void arguments(Id course, std::span<double> eta) const;

  Vector thresholds_;
  RowMatrix slopes_;
  NodeSet nodes_;
  Index stride_;     // nodes, filled up to whole packs
  Vector log_base_;  // log of base_s
  double log_base_scale_ = 0;
  std::vector<double> base_;  // base_s over its largest
  // Courses by nodes, each row over its largest: Phi(eta)/Phi(-eta), and 1/Phi(-eta) for courses unknown.
  std::vector<double> taken_;
  std::vector<double> unknown_;
  Vector log_taken_scale_;
  Vector log_unknown_scale_;
};

}  // namespace desirepath::inline probability
