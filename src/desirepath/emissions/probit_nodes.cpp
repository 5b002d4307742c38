#include "desirepath/emissions/probit_nodes.h"

#include <algorithm>
#include <cmath>

#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/packs.h"

namespace desirepath::inline emissions {

namespace {

/// Beyond this a course is certain to the last bit, and its odds still are a double.
constexpr double farthest_eta = 37;
/// Below this a sum of products may have lost nodes that matter.
constexpr double smallest_total = 1e-200;
constexpr Index packs_a_block = nodes_a_block / pack_width;

struct BlockProduct {
  Pack packs[packs_a_block];
};

/// base times the odds of the courses taken, in one block of nodes.
inline BlockProduct product_of(const double* base, const double* block_odds, std::span<const Id> taken) {
  BlockProduct product;
  for (Index i = 0; i < packs_a_block; ++i)
    product.packs[i] = load(base + i * pack_width);
  for (const Id bit : taken) {
    const double* row = block_odds + bit * nodes_a_block;
    for (Index i = 0; i < packs_a_block; ++i)
      product.packs[i] *= load(row + i * pack_width);
  }
  return product;
}

inline double sum_of(const BlockProduct& product) {
  Pack total = product.packs[0];
  for (Index i = 1; i < packs_a_block; ++i)
    total += product.packs[i];
  return sum(total);
}

std::span<double> span_of(Vector& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

}  // namespace

NodeTable::NodeTable(Vector intercepts, RowMatrix slopes, NodeSet nodes)
    : intercepts_(std::move(intercepts)),
      slopes_(std::move(slopes)),
      nodes_(std::move(nodes)),
      log_base_(nodes_.log_weights) {
  const Index bits = bit_count(), count = node_count();
  odds_.resize(block_count() * bits, nodes_a_block);
  log_odds_scale_.resize(bits);
  odds_scale_.resize(bits);
  const Vector weights = nodes_.log_weights.array().exp();
  Vector log_taken(count), log_not_taken(count);
  for (Index j = 0; j < bits; ++j) {
    log_taken =
        ((nodes_.points * slopes_.row(j).transpose()).array() + intercepts_[j]).max(-farthest_eta).min(farthest_eta);
    log_not_taken = -log_taken;
    log_normal_cdf(span_of(log_taken), span_of(log_taken));
    log_normal_cdf(span_of(log_not_taken), span_of(log_not_taken));
    log_base_ += log_not_taken;
    log_balance_ += weights.dot(log_taken + log_not_taken);
    log_taken -= log_not_taken;
    log_odds_scale_[j] = log_taken.maxCoeff();
    odds_scale_[j] = std::exp(log_odds_scale_[j]);
    for (Index s = 0; s < count; ++s)
      odds_((s / nodes_a_block) * bits + j, s % nodes_a_block) = std::exp(log_taken[s] - log_odds_scale_[j]);
  }
}

NodeBase NodeTable::base(const UnknownBits& unknown) const {
  NodeBase base{log_base_, {}, 0};
  for (const Id bit : unknown.bits) {
    for (Index b = 0; b < block_count(); ++b) {
      const Eigen::Map<const Eigen::Array<double, nodes_a_block, 1>, Eigen::Aligned64> row(odds(b, bit));
      base.log_value.segment<nodes_a_block>(b * nodes_a_block).array() += (1 + odds_scale_[bit] * row).log();
    }
  }
  base.log_scale = base.log_value.maxCoeff();
  base.value = (base.log_value.array() - base.log_scale).exp();
  return base;
}

void NodeTable::totals(const NodeBase& base, const StepRows& rows, std::span<const std::int64_t> numbers,
                       std::span<double> sums) const {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (Index b = 0; b < block_count(); ++b) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      sums[i] += sum_of(product_of(base.value.data() + b * nodes_a_block, odds(b, 0), rows.taken(numbers[i])));
  }
  for (double& sum : sums) {
    if (!(sum > smallest_total)) sum = 0;
  }
}

double NodeTable::log_probability(const NodeBase& base, std::span<const Id> taken, double total) const {
  double log_total = base.log_scale;
  if (total > 0) {
    for (const Id bit : taken)
      log_total += log_odds_scale_[bit];
    log_total += std::log(total);
  } else {
    Vector log_weights;
    weigh_in_logarithms(base, taken, log_weights);
    LogWeightSum sum;
    for (const double value : log_weights)
      sum.add(value);
    log_total = sum.log_sum();
  }
  return std::min(0.0, log_total);
}

void NodeTable::add_products(const NodeBase& base, std::span<const Id> taken, Index block, double factor, double* all,
                             double* counts) const {
  BlockProduct product = product_of(base.value.data() + block * nodes_a_block, odds(block, 0), taken);
  for (Index i = 0; i < packs_a_block; ++i) {
    product.packs[i] *= factor;
    store(all + i * pack_width, load(all + i * pack_width) + product.packs[i]);
  }
  for (const Id bit : taken) {
    double* row = counts + bit * nodes_a_block;
    for (Index i = 0; i < packs_a_block; ++i)
      store(row + i * pack_width, load(row + i * pack_width) + product.packs[i]);
  }
}

double NodeTable::weigh(const NodeBase& base, std::span<const Id> taken, std::span<double> node_probabilities) const {
  double total = 0;
  for (Index b = 0; b < block_count(); ++b) {
    const BlockProduct product = product_of(base.value.data() + b * nodes_a_block, odds(b, 0), taken);
    for (Index i = 0; i < packs_a_block; ++i)
      store(node_probabilities.data() + b * nodes_a_block + i * pack_width, product.packs[i]);
    total += sum_of(product);
  }
  const double log_total = log_probability(base, taken, total > smallest_total ? total : 0);
  if (total > smallest_total) {
    for (double& value : node_probabilities)
      value /= total;
    return log_total;
  }
  Vector log_weights;
  weigh_in_logarithms(base, taken, log_weights);
  const double largest = log_weights.maxCoeff();
  double sum = 0;
  for (std::size_t s = 0; s < node_probabilities.size(); ++s)
    sum += node_probabilities[s] = std::exp(log_weights[static_cast<Index>(s)] - largest);
  for (double& value : node_probabilities)
    value /= sum;
  return log_total;
}

void NodeTable::weigh_in_logarithms(const NodeBase& base, std::span<const Id> taken, Vector& log_weights) const {
  log_weights = base.log_value;
  Vector up, down;
  for (const Id bit : taken) {
    up = ((nodes_.points * slopes_.row(bit).transpose()).array() + intercepts_[bit])
             .max(-farthest_eta)
             .min(farthest_eta);
    down = -up;
    log_normal_cdf(span_of(up), span_of(up));
    log_normal_cdf(span_of(down), span_of(down));
    log_weights += up - down;
  }
}

void NodeTable::probabilities(Id bit, std::span<double> by_node) const {
  for (Index b = 0; b < block_count(); ++b) {
    const double* row = odds(b, bit);
    for (Index i = 0; i < nodes_a_block; ++i) {
      const double ratio = odds_scale_[bit] * row[i];
      by_node[static_cast<std::size_t>(b * nodes_a_block + i)] = ratio / (1 + ratio);
    }
  }
}

double NodeTable::probability(Id bit, Index node) const {
  const double ratio = odds_scale_[bit] * odds(node / nodes_a_block, bit)[node % nodes_a_block];
  return ratio / (1 + ratio);
}

}  // namespace desirepath::inline emissions
