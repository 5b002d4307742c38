#include "desirepath/probability/orthant_tilt.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline probability {

namespace {

std::span<double> span_of(Vector& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

/// The a with a + r(a) = h, h > 0, for each element: where psi is lowest in mu = a - b for given x. The left side
/// climbs from 0 to infinity.
Vector balance_points(const Vector& h) {
  Vector a = h.array() - h.array().inverse();
  Vector mills(h.size());
  for (int step = 0; step < 50; ++step) {
    inverse_mills_ratio(span_of(a), span_of(mills));
    double largest = 0;
    for (Index k = 0; k < h.size(); ++k) {
      const double value = a[k] + mills[k];
      const double slope = 1 - std::min(mills[k] * value, 1 - 1e-16);
      // Newton, never more than halving the distance that 1/a has to 0 from below.
      const double change = std::clamp((h[k] - value) / slope, -1 - std::abs(a[k]) / 2, 1 + std::abs(a[k]) / 2);
      a[k] += change;
      largest = std::max(largest, std::abs(change) / (1 + std::abs(a[k])));
    }
    if (largest < 1e-15) break;
  }
  return a;
}

/// g(x) = psi at the lowest mu: concave, with second derivatives of at most -1 (in every direction).
class Objective {
 public:
  explicit Objective(const OrderedRegion& region) : region_(&region) {}

  /// False where x is outside the region, where there is no lowest mu.
  bool move_to(const Vector& x) {
    const Index last = region_->size() - 1;
    const Vector offset = region_->conditional_means(x) - region_->lower();  // A x - c
    const Vector distance = (x + offset).head(last);
    if (last > 0 && !(distance.minCoeff() > 0)) return false;
    argument_ = offset;
    argument_.head(last) = balance_points(distance);
    shift_ = argument_ - offset;
    mills_.resize(region_->size());
    Vector log_phi(region_->size());
    log_normal_cdf_and_mills(span_of(argument_), span_of(log_phi), span_of(mills_));
    terms_ = shift_.array() * (0.5 * shift_.array() - x.array()) + log_phi.array();
    value_ = terms_.sum();
    x_ = x;
    gradient_ = region_->transposed_means(mills_) - shift_;
    gradient_[last] = 0;
    return std::isfinite(value_);
  }

  /// -H^-1 gradient, H = -(I + L^' W L^), L^ = I + A without its last column, W = w / (1 - w), w in the last place.
  Vector newton_step() const {
    const Index last = region_->size() - 1;
    const Vector curvature = (mills_.array() * (argument_ + mills_).array()).max(0).min(1 - 1e-15);
    Vector root = (curvature.array() / (1 - curvature.array())).sqrt();
    root[last] = std::sqrt(curvature[last]);
    Vector forward = gradient_ + region_->conditional_means(gradient_);
    const Vector solved = root.cwiseProduct(region_->solve_newton(root, root.cwiseProduct(forward)));
    Vector step = gradient_ - solved - region_->transposed_means(solved);
    step[last] = 0;
    return step;
  }

  const Vector& x() const { return x_; }
  const Vector& shift() const { return shift_; }
  const Vector& gradient() const { return gradient_; }
  double value() const { return value_; }
  /// Norm of the gradient in x and mu.
  double residual() const {
    Vector in_shift = shift_ - x_ + mills_;
    in_shift[region_->size() - 1] = 0;
    return std::sqrt(gradient_.squaredNorm() + in_shift.squaredNorm());
  }
  /// A bound on the rounding of value().
  double rounding() const { return 1e-14 * (1 + terms_.cwiseAbs().sum()); }

 private:
  const OrderedRegion* region_;
  Vector x_, argument_, shift_, mills_, terms_, gradient_;
  double value_ = 0;
};

}  // namespace

OrthantTilt solve_tilt(const OrderedRegion& region) {
  Objective here(region);
  Vector start = region.centre();
  start[region.size() - 1] = 0;
  if (!here.move_to(start)) throw NumericalError("exponential tilting: the starting point is outside the region");
  OrthantTilt tilt;
  Objective there = here;
  constexpr int limit = 200;
  for (; tilt.steps < limit; ++tilt.steps) {
    const Vector step = here.newton_step();
    const double rise = here.gradient().dot(step);  // twice what is left to gain, where psi is nearly quadratic
    if (!(rise > 4 * here.rounding())) break;
    double length = 1;
    while (!there.move_to(here.x() + length * step) || there.value() < here.value() + 0.01 * length * rise) {
      length /= 2;
      if (length < 1e-10) break;
    }
    if (length < 1e-10) break;
    std::swap(here, there);
  }
  // One last full step: at this distance it squares the error, which the comparison of values no longer sees.
  if (there.move_to(here.x() + here.newton_step()) && there.residual() < here.residual()) std::swap(here, there);
  tilt.shift = here.shift();
  tilt.centre = here.x();
  tilt.residual = here.residual();
  // Curvature of at least one bounds the distance to the top by half the squared gradient.
  tilt.log_upper_bound = here.value() + 0.5 * here.gradient().squaredNorm() + here.rounding();
  if (!(tilt.residual < 1e-4 * (1 + tilt.shift.norm()))) {
    throw NumericalError(concat("exponential tilting: no saddle point after ", tilt.steps, " steps (residual ",
                                tilt.residual, "); is the covariance nearly singular?"));
  }
  return tilt;
}

}  // namespace desirepath::inline probability
