#include "desirepath/emissions/tree_sums.h"

#include <algorithm>

#include "desirepath/emissions/pack_kernels.h"

namespace desirepath::inline emissions {

void TreeSums::begin(const HiddenTree& tree) {
  tree_ = &tree;
  values_.setZero(size_for(tree));
}

Index TreeSums::size_for(const HiddenTree& tree) {
  const Index nodes = tree.node_count(), periods = tree.period_count();
  return nodes * (tree.state_count() + tree.width()) * tree.stride() + tree.stride() + 2 * nodes * periods;
}

void TreeSums::add(const CourseTiming& known, const double* posterior, const double* own) {
  const Index stride = tree_->stride(), periods = tree_->period_count(), values = tree_->width();
  if (known.course == tree_->root())
    values_.segment(root_begin(), stride) += Eigen::Map<const Vector>(posterior, stride);
  double weights[most_node_values], first[most_node_values] = {};
  tree_->weights(known, {weights, static_cast<std::size_t>(values)});
  double* sums = values_.data() + timing_begin() + known.course * values * stride;
  const double* shares = tree_->timing(known.course);
  for (Index z = 0; z < stride; z += pack_width) {
    // The padding has neither posterior nor likelihood.
    const Pack likelihood = load(own + z), mass = likelihood > 0 ? load(posterior + z) / likelihood : broadcast(0);
    for (Index v = 0; v < values; ++v) {
      if (weights[v] == 0) continue;
      double* target = sums + v * stride + z;
      const Pack part = weights[v] * mass;
      store(target, load(target) + part);
      first[v] += sum(part * load(shares + v * stride + z));
    }
  }
  if (known.course >= tree_->course_count()) return;  // a trait
  double* risk = values_.data() + risk_begin() + known.course * periods;
  double* retaken = risk + tree_->node_count() * periods;
  TimingCode code = known.code;
  double before = 0;  // first enrollment before the period at hand
  for (Index t = 0; t < periods; ++t, code /= 3) {
    if (code % 3 != 2) {
      risk[t] += before;
      if (code % 3 == 1) retaken[t] += before;
    }
    before += first[t + 1];
  }
}

HiddenTreeCounts TreeSums::counts() const {
  const Index nodes = tree_->node_count(), states = tree_->state_count(), stride = tree_->stride(),
              periods = tree_->period_count(), values = tree_->width();
  HiddenTreeCounts result(nodes, states, periods, values);
  result.root() = values_.segment(root_begin(), states).transpose();
  const Eigen::Map<const RowMatrix> pairs(values_.data(), nodes * states, stride);
  result.pairs() = pairs.leftCols(states).cwiseProduct(tree_->parameters().transition);
  auto timing = result.timing();
  for (Index c = 0; c < nodes; ++c) {
    const Eigen::Map<const RowMatrix> sums(values_.data() + timing_begin() + c * values * stride, values, stride);
    timing.middleRows(c * states, states) =
        sums.leftCols(states).transpose().cwiseProduct(tree_->parameters().timing.middleRows(c * states, states));
  }
  const double* risk = values_.data() + risk_begin();
  result.risk() = Eigen::Map<const RowMatrix>(risk, nodes, periods);
  result.retaken() = Eigen::Map<const RowMatrix>(risk + nodes * periods, nodes, periods);
  return result;
}

}  // namespace desirepath::inline emissions
