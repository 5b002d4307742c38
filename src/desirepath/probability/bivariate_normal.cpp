#include "desirepath/probability/bivariate_normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <boost/math/quadrature/gauss.hpp>

#include "desirepath/core/types.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline probability {

namespace {

/// Integral of f over [from, to] by 30 Gauss-Legendre points.
template <class Function>
double integral(double from, double to, Function f) {
  return boost::math::quadrature::gauss<double, 30>::integrate(f, from, to);
}

/// P(X > h, Y > k) for 0.925 < correlation < 1 (Genz's form of Drezner and Wesolowsky): the limit of full correlation
/// less an integral over the distance from it, whose leading terms are taken out in closed form.
double highly_correlated_upper(double h, double k, double correlation) {
  const double product = h * k;
  const double rest = (1 - correlation) * (1 + correlation);
  const double a = std::sqrt(rest);
  const double distance2 = (h - k) * (h - k);
  const double distance = std::abs(h - k);
  const double c = (4 - product) / 8;
  const double d = (12 - product) / 16;
  double correction = 0;
  const double exponent = -(distance2 / rest + product) / 2;
  if (exponent > -700) {
    correction =
        a * std::exp(exponent) * (1 - c * (distance2 - rest) * (1 - d * distance2 / 5) / 3 + c * d * rest * rest / 5);
  }
  if (-product < 700) {
    correction -= std::exp(-product / 2) * std::sqrt(2 * std::numbers::pi) * normal_cdf(-distance / a) * distance *
                  (1 - c * distance2 * (1 - d * distance2 / 5) / 3);
  }
  correction += integral(0, a, [&](double x) {
    const double x2 = x * x;
    const double root = std::sqrt(1 - x2);
    const double exponent_x = -(distance2 / x2 + product) / 2;
    if (exponent_x < -700) return 0.0;
    return std::exp(exponent_x) *
           (std::exp(-product * x2 / (2 * (1 + root) * (1 + root))) / root - (1 + c * x2 * (1 + d * x2)));
  });
  return -correction / (2 * std::numbers::pi) + normal_cdf(-std::max(h, k));
}

}  // namespace

double bivariate_normal_density(double h, double k, double correlation) {
  const double rest = (1 - correlation) * (1 + correlation);
  return std::exp(-(h * h - 2 * correlation * h * k + k * k) / (2 * rest)) / (2 * std::numbers::pi * std::sqrt(rest));
}

double bivariate_normal_cdf(double h, double k, double correlation) {
  if (h == -infinity || k == -infinity) return 0;
  if (h == infinity) return normal_cdf(k);
  if (k == infinity) return normal_cdf(h);
  if (correlation >= 1) return normal_cdf(std::min(h, k));
  if (correlation <= -1) return std::max(0.0, normal_cdf(h) - normal_cdf(-k));
  double p = 0;
  if (std::abs(correlation) < 0.925) {
    // Phi2(h, k; rho) = Phi(h) Phi(k) + the integral of the density over the correlation, rho = sin(angle).
    const double squares = h * h + k * k;
    p = normal_cdf(h) * normal_cdf(k) + integral(0, std::asin(correlation), [&](double angle) {
                                          const double sine = std::sin(angle);
                                          return std::exp((sine * 2 * h * k - squares) / (2 * (1 - sine * sine)));
                                        }) / (2 * std::numbers::pi);
  } else if (correlation > 0) {
    p = highly_correlated_upper(-h, -k, correlation);
  } else {
    // P(X <= h, Y <= k) = P(X <= h) - P(X <= h, -Y < -k), the latter pair being positively correlated.
    p = normal_cdf(h) - highly_correlated_upper(-h, k, -correlation);
  }
  return std::clamp(p, 0.0, std::min(normal_cdf(h), normal_cdf(k)));
}

double tetrachoric_correlation(double h, double k, double both) {
  const double most = normal_cdf(std::min(h, k));
  const double least = std::max(0.0, normal_cdf(h) - normal_cdf(-k));
  if (both >= most) return 1;
  if (both <= least) return -1;
  // Newton on the angle, kept inside a shrinking bracket: the function rises with the correlation.
  double low = -std::numbers::pi / 2;
  double high = std::numbers::pi / 2;
  double angle = 0;
  for (int step = 0; step < 100; ++step) {
    const double correlation = std::sin(angle);
    const double excess = bivariate_normal_cdf(h, k, correlation) - both;
    if (std::abs(excess) <= 1e-15 * both) break;
    (excess > 0 ? high : low) = angle;
    const double slope = bivariate_normal_density(h, k, correlation) * std::cos(angle);
    double next = angle - excess / slope;
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::abs(next - angle) < 1e-15) break;
    angle = next;
  }
  return std::sin(angle);
}

}  // namespace desirepath::inline probability
