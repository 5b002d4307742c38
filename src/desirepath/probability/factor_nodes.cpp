#include "desirepath/probability/factor_nodes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/packs.h"
#include "desirepath/probability/quasi_random.h"

namespace desirepath::inline probability {

namespace {

constexpr Index padding = 8;
/// Below this a product of table entries may have lost nodes that matter.
constexpr double smallest_product = 1e-200;

std::span<double> span_of(Vector& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

}  // namespace

NodeSet prior_nodes(Index factor_count, std::int64_t node_count, const RandomStream& stream, double spread) {
  const QuasiRandomPoints points(factor_count, node_count, stream);
  NodeSet nodes{Matrix(node_count, factor_count), Vector(node_count)};
  for (Index k = 0; k < factor_count; ++k)
    points.normal(k, 0, {nodes.points.col(k).data(), static_cast<std::size_t>(node_count)});
  LogWeightSum sum;
  for (Index s = 0; s < node_count; ++s) {
    nodes.log_weights[s] = 0.5 * (1 - spread * spread) * nodes.points.row(s).squaredNorm();
    sum.add(nodes.log_weights[s]);
  }
  nodes.log_weights.array() -= sum.log_sum();
  nodes.points *= spread;
  return nodes;
}

NodeCounts NodeCounts::zero(Index course_count, Index node_count, bool with_unknown) {
  return {Vector::Zero(node_count), RowMatrix::Zero(course_count, node_count),
          with_unknown ? RowMatrix::Zero(course_count, node_count) : RowMatrix()};
}

FactorNodes::FactorNodes(const ThresholdedFactors& factors, NodeSet nodes)
    : thresholds_(factors.thresholds()), slopes_(factors.slopes()), nodes_(std::move(nodes)) {
  const Index count = node_count();
  if (nodes_.points.cols() != factors.factor_count() || nodes_.log_weights.size() != count || count < 1) {
    throw InputError(concat("nodes: ", count, " of ", nodes_.points.cols(), " factors with ", nodes_.log_weights.size(),
                            " weights; the model has ", factors.factor_count(), " factors"));
  }
  stride_ = (count + padding - 1) / padding * padding;
  const Index courses = course_count();
  base_.assign(static_cast<std::size_t>(stride_), 0);
  taken_.assign(static_cast<std::size_t>(courses * stride_), 0);
  unknown_.assign(static_cast<std::size_t>(courses * stride_), 0);
  log_taken_scale_.resize(courses);
  log_unknown_scale_.resize(courses);
  log_base_ = nodes_.log_weights;
  Vector log_taken(count), log_not_taken(count);
  for (Index j = 0; j < courses; ++j) {
    arguments(static_cast<Id>(j), span_of(log_taken));
    log_not_taken = -log_taken;
    log_normal_cdf(span_of(log_taken), span_of(log_taken));
    log_normal_cdf(span_of(log_not_taken), span_of(log_not_taken));
    log_base_ += log_not_taken;
    const Vector log_ratio = log_taken - log_not_taken;
    log_taken_scale_[j] = log_ratio.maxCoeff();
    log_unknown_scale_[j] = -log_not_taken.minCoeff();
    double* taken = taken_.data() + j * stride_;
    double* unknown = unknown_.data() + j * stride_;
    for (Index s = 0; s < count; ++s) {
      taken[s] = std::exp(log_ratio[s] - log_taken_scale_[j]);
      unknown[s] = std::exp(-log_not_taken[s] - log_unknown_scale_[j]);
    }
  }
  log_base_scale_ = log_base_.maxCoeff();
  for (Index s = 0; s < count; ++s)
    base_[static_cast<std::size_t>(s)] = std::exp(log_base_[s] - log_base_scale_);
}

void FactorNodes::arguments(Id course, std::span<double> eta) const {
  Eigen::Map<Vector>(eta.data(), node_count()) =
      (nodes_.points * slopes_.row(course).transpose()).array() + thresholds_[course];
}

/// Leaves weights that sum to one; returns the logarithm of what they summed to.
double FactorNodes::weigh(const KnownSigns& signs, std::span<double> weights) const {
  // Rows of the tables to multiply, two at a time: half the traffic on the weights.
  constexpr std::size_t rows_at_once = 64;
  const double* rows[rows_at_once];
  double log_scale = log_base_scale_;
  std::size_t row_count = 0;
  const auto list = [&](std::span<const Id> courses, const std::vector<double>& table, const Vector& log_scales) {
    for (const Id course : courses) {
      if (row_count < rows_at_once) rows[row_count] = table.data() + course * stride_;
      ++row_count;
      log_scale += log_scales[course];
    }
  };
  list(signs.taken, taken_, log_taken_scale_);
  list(signs.unknown, unknown_, log_unknown_scale_);
  if (row_count > rows_at_once) return weigh_in_log_space(signs, weights);
  const Index count = node_count();
  const Index whole = count / pack_width * pack_width;
  Pack totals = broadcast(0);
  const auto product = [&](Index s) {
    Pack value = load(base_.data() + s);
    for (std::size_t row = 0; row < row_count; ++row)
      value *= load(rows[row] + s);
    return value;
  };
  for (Index s = 0; s < whole; s += pack_width) {
    const Pack value = product(s);
    totals += value;
    store(weights.data() + s, value);
  }
  double total = sum(totals);
  if (whole < count) {
    const Pack value = product(whole);  // the tables are filled up with zeros
    for (Index s = whole; s < count; ++s) {
      weights[static_cast<std::size_t>(s)] = value[s - whole];
      total += value[s - whole];
    }
  }
  if (!(total > smallest_product)) return weigh_in_log_space(signs, weights);
  const double inverse = 1 / total;
  for (Index s = 0; s < count; ++s)
    weights[static_cast<std::size_t>(s)] *= inverse;
  return log_scale + std::log(total);
}

double FactorNodes::weigh_in_log_space(const KnownSigns& signs, std::span<double> weights) const {
  const Index count = node_count();
  Vector log_weights = log_base_;
  Vector eta(count), opposite(count);
  const auto add = [&](std::span<const Id> courses, double taken) {
    for (const Id course : courses) {
      arguments(course, span_of(eta));
      opposite = -eta;
      log_normal_cdf(span_of(eta), span_of(eta));
      log_normal_cdf(span_of(opposite), span_of(opposite));
      log_weights += taken * eta - opposite;
    }
  };
  add(signs.taken, 1);
  add(signs.unknown, 0);
  LogWeightSum sum;
  for (Index s = 0; s < count; ++s)
    sum.add(log_weights[s]);
  const double log_total = sum.log_sum();
  for (Index s = 0; s < count; ++s)
    weights[static_cast<std::size_t>(s)] =
        log_total == -infinity ? std::exp(nodes_.log_weights[s]) : std::exp(log_weights[s] - log_total);
  return log_total;
}

double FactorNodes::log_probability(const KnownSigns& signs, std::span<double> work) const {
  return std::min(0.0, weigh(signs, work));
}

double FactorNodes::posterior(const KnownSigns& signs, std::span<double> node_probabilities) const {
  return std::min(0.0, weigh(signs, node_probabilities));
}

void FactorNodes::add_counts(const KnownSigns& signs, double weight, std::span<const double> node_probabilities,
                             NodeCounts& counts) const {
  const Eigen::Map<const Vector> probabilities(node_probabilities.data(), node_count());
  counts.all += weight * probabilities;
  for (const Id course : signs.taken)
    counts.taken.row(course) += weight * probabilities.transpose();
  for (const Id course : signs.unknown)
    counts.unknown.row(course) += weight * probabilities.transpose();
}

FactorGradient FactorNodes::gradient(const NodeCounts& counts) const {
  FactorGradient gradient{Vector(course_count()), RowMatrix(course_count(), nodes_.points.cols())};
  Vector up(node_count()), down(node_count());
  for (Index j = 0; j < course_count(); ++j) {
    arguments(static_cast<Id>(j), span_of(up));
    down = -up;
    inverse_mills_ratio(span_of(up), span_of(up));
    inverse_mills_ratio(span_of(down), span_of(down));
    Vector not_taken = counts.all - counts.taken.row(j).transpose();
    if (counts.unknown.size() > 0) not_taken -= counts.unknown.row(j).transpose();
    const Vector slope = counts.taken.row(j).transpose().cwiseProduct(up) - not_taken.cwiseProduct(down);
    gradient.thresholds[j] = slope.sum();
    gradient.slopes.row(j) = slope.transpose() * nodes_.points;
  }
  return gradient;
}

void FactorNodes::taken_given_node(Id course, std::span<double> probabilities) const {
  arguments(course, probabilities);
  for (double& value : probabilities)
    value = normal_cdf(value);
}

}  // namespace desirepath::inline probability
