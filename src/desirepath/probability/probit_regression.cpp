#include "desirepath/probability/probit_regression.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "desirepath/core/error.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/normal_kernels.h"

namespace desirepath::inline probability {

namespace {

constexpr int most_halvings = 40;

double dot(const double* a, const double* b, Index size) {
  Pack total = broadcast(0);
  for (Index s = 0; s < size; s += pack_width)
    total += load(a + s) * load(b + s);
  return sum(total);
}

}  // namespace

ProbitRegression::ProbitRegression(const Matrix& points) : design_(points.rows(), points.cols() + 1) {
  if (points.rows() % 8 != 0) throw InputError("probit regression: the nodes are not a multiple of 8");
  design_.col(0).setOnes();
  design_.rightCols(points.cols()) = points;
}

ProbitRegression::Derivatives ProbitRegression::at(const Vector& coefficients, const NodeTally& tally,
                                                   const SlopePrior& prior) const {
  const Index nodes = node_count(), size = coefficient_count();
  Vector eta = design_ * coefficients;
  Vector weighted(nodes);
  // d/d eta into eta, minus its derivative into `curving`; both hazards share what normal_parts finds.
  Vector curving(nodes);
  Pack value = broadcast(0);
  for (Index s = 0; s < nodes; s += pack_width) {
    const Pack t = load(eta.data() + s), n1 = load(tally.taken.data() + s), n0 = load(tally.not_taken.data() + s);
    const NormalParts up = normal_parts(t);
    NormalParts down = up;
    down.negative = t > 0.0;
    const Pack hazard = packed_inverse_mills_ratio(up), opposite = packed_inverse_mills_ratio(down);
    value += n1 * packed_log_normal_cdf(up) + n0 * packed_log_normal_cdf(down);
    store(eta.data() + s, n1 * hazard - n0 * opposite);
    store(curving.data() + s, n1 * hazard * (hazard + t) + n0 * opposite * (opposite - t));
  }
  Derivatives found{sum(value), Vector(size), Matrix(size, size)};
  for (Index i = 0; i < size; ++i) {
    const double* column = design_.col(i).data();
    found.gradient[i] = dot(column, eta.data(), nodes);
    for (Index s = 0; s < nodes; s += pack_width)
      store(weighted.data() + s, load(column + s) * load(curving.data() + s));
    for (Index k = 0; k <= i; ++k)
      found.curvature(i, k) = found.curvature(k, i) = dot(weighted.data(), design_.col(k).data(), nodes);
  }
  const Vector distance = coefficients.tail(size - 1) - prior.mean;
  found.value -= 0.5 * prior.precision * distance.squaredNorm();
  found.gradient.tail(size - 1) -= prior.precision * distance;
  found.curvature.diagonal().tail(size - 1).array() += prior.precision;
  return found;
}

double ProbitRegression::climb(const NodeTally& tally, const SlopePrior& prior, Vector& coefficients, int steps,
                               double tolerance) const {
  Derivatives here = at(coefficients, tally, prior);
  for (int step = 0; step < steps; ++step) {
    const Eigen::LLT<Matrix> factor(here.curvature);
    if (factor.info() != Eigen::Success) break;  // flat to the last bit: nothing is known of the course
    const Vector direction = factor.solve(here.gradient);
    if (!(0.5 * direction.dot(here.gradient) > tolerance)) break;
    double length = 1;
    bool climbed = false;
    for (int halving = 0; halving < most_halvings && !climbed; ++halving, length /= 2) {
      const Vector candidate = coefficients + length * direction;
      Derivatives there = at(candidate, tally, prior);
      climbed = there.value > here.value;  // false for NaN
      if (!climbed) continue;
      coefficients = candidate;
      here = std::move(there);
    }
    if (!climbed) break;
  }
  return here.value;
}

double intercept_of_share(std::span<const double> offsets, std::span<const double> weights, double share) {
  if (!(share > 0 && share < 1)) throw InputError("a share must lie between 0 and 1");
  if (offsets.size() % 8 != 0) throw InputError("probit intercept: the nodes are not a multiple of 8");
  // The rarer side is solved for, on the scale of its logarithm: no digits are lost near 1.
  const double sign = share <= 0.5 ? 1 : -1;
  const double target = std::log(std::min(share, 1 - share));
  const double quantile = normal_quantile(std::min(share, 1 - share));
  const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  double low = quantile - (sign > 0 ? *most : -*least), high = quantile - (sign > 0 ? *least : -*most);
  double a = 0.5 * (low + high);  // of sign * intercept
  for (int step = 0; step < 100; ++step) {
    Pack totals = broadcast(0), slopes = broadcast(0);
    for (std::size_t s = 0; s < offsets.size(); s += pack_width) {
      const Pack t = a + sign * load(offsets.data() + s), weight = load(weights.data() + s);
      const NormalParts parts = normal_parts(t);
      totals += weight * (parts.negative ? parts.far_side : 1.0 - parts.far_side);
      slopes += weight * inverse_sqrt_2_pi * parts.bell;
    }
    const double total = sum(totals), excess = std::log(total) - target;
    (excess > 0 ? high : low) = a;
    const double newton = a - excess * total / sum(slopes);
    const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
    const bool done = std::abs(next - a) <= 1e-14 * (1 + std::abs(a));
    a = next;
    if (done) break;
  }
  return sign * a;
}

}  // namespace desirepath::inline probability
