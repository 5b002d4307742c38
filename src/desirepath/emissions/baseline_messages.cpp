#include "desirepath/emissions/baseline_messages.h"

#include <cmath>

#include "desirepath/emissions/plan_kernels.h"

namespace desirepath::inline emissions {

double root_sum(const HiddenTree& tree, const double* belief) {
  double sum = 0;
  for (Index z = 0; z < tree.state_count(); ++z)
    sum += tree.initial()[z] * belief[z];
  return sum;
}

BaselineMessages::BaselineMessages(const HiddenTree& tree, TimingCode baseline) : code(baseline) {
  const Index nodes = tree.node_count(), stride = tree.stride(), states = tree.state_count();
  own.resize(nodes, stride);
  log_below = RowMatrix::Zero(nodes, stride);
  log_below.rightCols(stride - states).setConstant(nowhere);
  below.resize(nodes, stride);
  belief = message = inverse_message = log_message = RowMatrix::Zero(nodes, stride);
  lost.resize(static_cast<std::size_t>(nodes));
  const auto order = tree.shape().order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const Id c = order[i], parent = tree.shape().parent(c);
    tree.own(tree.unmentioned(c, baseline), own.row(c).data());
    below.row(c) = log_below.row(c);
    const double shift = exponentiate(below.row(c).data(), states, stride);
    lost[static_cast<std::size_t>(c)] = (below.row(c).head(states).array() == 0).any();
    belief.row(c) = own.row(c).cwiseProduct(below.row(c));
    const double peak = largest_of(belief.row(c).data(), stride);
    belief.row(c) /= peak;
    const double log_peak = std::log(peak);
    if (parent < 0) {
      const double sum = root_sum(tree, belief.row(c).data());
      log_scale = shift;
      log_probability = shift + log_peak + std::log(sum);
      root = belief.row(c).transpose().cwiseProduct(Eigen::Map<const Vector>(tree.initial(), stride)) / sum;
      continue;
    }
    multiply_rows(tree.up(c), states, stride, 1, belief.row(c).data(), tree.padding(), tree.ones(),
                  message.row(c).data());
    inverse_message.row(c) = (peak * message.row(c)).cwiseInverse();
    inverse_message.row(c).tail(stride - states).setOnes();  // products of the padding stay numbers
    double *logs = log_message.row(c).data(), *sum = log_below.row(parent).data();
    for (Index z = 0; z < stride; z += pack_width) {
      store(logs + z, logarithm(load(message.row(c).data() + z)) + (shift + log_peak));
      store(sum + z, load(sum + z) + load(logs + z));
    }
    std::fill(logs + states, logs + stride, 0.0);
    std::fill(sum + states, sum + stride, nowhere);
  }
}

}  // namespace desirepath::inline emissions
