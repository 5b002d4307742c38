#include "desirepath/probability/gaussian_ep.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "desirepath/core/error.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline probability {

namespace {

constexpr int ep_sweep_limit = 200;
constexpr double ep_tolerance = 1e-7;  // on the change of means and variances in a sweep, in posterior deviations
constexpr Index updates_kept = 32;     // rank-one updates gathered before they are applied to the covariance

/// What the others say of f without its own site.
struct CourseCavity {
  double variance;
  double mean;
  double argument;  // s (mu + mean) / sqrt(variance): log Phi of it is the probability of the sign
};

CourseCavity course_cavity(double sign, double offset, double variance, double mean, double site_precision,
                           double site_shift) {
  const double kept = std::max(1 - site_precision * variance, 1e-12);
  CourseCavity cavity{variance / kept, (mean - site_shift * variance) / kept, 0};
  cavity.argument = sign * (offset + cavity.mean) / std::sqrt(cavity.variance);
  return cavity;
}

class Solver {
 public:
  explicit Solver(const OrthantProblem& problem) : prior_(dense_covariance(problem)), offset_(problem.mean) {
    const Index size = problem.course_count();
    sign_.resize(size);
    for (Index j = 0; j < size; ++j)
      sign_[j] = problem.taken[static_cast<std::size_t>(j)] != 0 ? 1 : -1;
    if (prior_.llt().info() != Eigen::Success) throw InputError("the covariance is not positive definite");
    ep_.site_precision = Vector::Zero(size);
    ep_.site_shift = Vector::Zero(size);
    ep_.covariance = prior_;
    ep_.mean = Vector::Zero(size);
  }

  GaussianEp solve() && {
    while (!ep_.converged && ep_.sweeps < ep_sweep_limit) {
      const Vector mean = ep_.mean;
      const Vector variance = ep_.covariance.diagonal();
      sweep();
      refresh();
      ++ep_.sweeps;
      const Vector new_variance = ep_.covariance.diagonal();
      const double moved = ((ep_.mean - mean).array().abs() / new_variance.array().sqrt()).maxCoeff();
      const double resized = (new_variance.array() / variance.array() - 1).abs().maxCoeff();
      ep_.converged = std::max(moved, resized) < ep_tolerance;
    }
    ep_.log_probability = std::min(0.0, log_evidence());
    ep_.correction = correction();
    return std::move(ep_);
  }

 private:
  /// Every site once, each seeing those before it. The covariance is V - updates diag(scales) updates' until the kept
  /// updates are applied.
  void sweep() {
    const Index size = offset_.size();
    Matrix updates(size, updates_kept);
    Vector scales(updates_kept);
    Index kept = 0;
    for (Index j = 0; j < size; ++j) {
      Vector column = ep_.covariance.col(j);
      column.noalias() -=
          updates.leftCols(kept) * (scales.head(kept).array() * updates.row(j).head(kept).transpose().array()).matrix();
      const double variance = column[j];
      const double mean = ep_.mean[j];
      const CourseCavity cavity =
          course_cavity(sign_[j], offset_[j], variance, mean, ep_.site_precision[j], ep_.site_shift[j]);
      const double mills = inverse_mills_ratio(cavity.argument);
      const double shrink = std::clamp(mills * (cavity.argument + mills), 0.0, 1 - 1e-12);
      const double scale = 1 / (cavity.variance * (1 - shrink));
      const double precision = shrink * scale;
      const double shift = (sign_[j] * std::sqrt(cavity.variance) * mills + shrink * cavity.mean) * scale;
      const double precision_change = precision - ep_.site_precision[j];
      const double shift_change = shift - ep_.site_shift[j];
      ep_.site_precision[j] = precision;
      ep_.site_shift[j] = shift;
      const double factor = precision_change / (1 + precision_change * variance);
      ep_.mean += column * (shift_change * (1 - factor * variance) - factor * mean);
      updates.col(kept) = column;
      scales[kept] = factor;
      if (++kept == updates_kept || j + 1 == size) {
        ep_.covariance.noalias() -=
            updates.leftCols(kept) * scales.head(kept).asDiagonal() * updates.leftCols(kept).transpose();
        kept = 0;
      }
    }
  }

  /// The posterior from the sites afresh: the updates of a sweep gather rounding.
  void refresh() {
    const Vector root = ep_.site_precision.cwiseSqrt();
    Matrix system = root.asDiagonal() * prior_ * root.asDiagonal();
    system.diagonal().array() += 1;
    const Eigen::LLT<Matrix> cholesky(system);
    const Matrix half = cholesky.matrixL().solve(root.asDiagonal() * prior_);
    ep_.covariance = prior_;
    ep_.covariance.selfadjointView<Eigen::Lower>().rankUpdate(half.transpose(), -1);
    ep_.covariance.triangularView<Eigen::StrictlyUpper>() = ep_.covariance.transpose();
    ep_.mean = ep_.covariance * ep_.site_shift;
    log_determinant_ = 2 * cholesky.matrixLLT().diagonal().array().log().sum();
  }

  double log_evidence() const {
    double total = -0.5 * log_determinant_ + 0.5 * ep_.site_shift.dot(ep_.mean);
    for (Index j = 0; j < offset_.size(); ++j) {
      const double precision = ep_.site_precision[j];
      const double shift = ep_.site_shift[j];
      const CourseCavity cavity =
          course_cavity(sign_[j], offset_[j], ep_.covariance(j, j), ep_.mean[j], precision, shift);
      const double spread = 1 + precision * cavity.variance;
      total += log_normal_cdf(cavity.argument) + 0.5 * std::log(spread) -
               (shift * shift * cavity.variance + (2 * shift - precision * cavity.mean) * cavity.mean) / (2 * spread);
    }
    return total;
  }

  /// Sum over pairs of courses of c_m c_n V_mn^l / l!, l = 3 and half of 4, c the cumulants over the variances to the
  /// l (see FactorEp::correction).
  double correction() const {
    const Index size = offset_.size();
    Vector third(size), fourth(size);
    for (Index j = 0; j < size; ++j) {
      const double variance = ep_.covariance(j, j);
      const CourseCavity cavity =
          course_cavity(sign_[j], offset_[j], variance, ep_.mean[j], ep_.site_precision[j], ep_.site_shift[j]);
      const double u = cavity.argument;
      const double r = inverse_mills_ratio(u);
      const double slope = -r * (u + r);
      const double g = (u + r) * (u + 2 * r) - 1;
      const double scale = sign_[j] * std::sqrt(cavity.variance) / variance;
      third[j] = std::pow(scale, 3) * r * g;
      fourth[j] = std::pow(scale, 4) * (slope * g + r * (2 * u + 3 * r + slope * (3 * u + 4 * r)));
    }
    double total = 0;
    for (Index j = 1; j < size; ++j) {
      const auto v = ep_.covariance.col(j).head(j).array();
      total += third[j] / 6 * (third.head(j).array() * v.cube()).sum() +
               fourth[j] / 48 * (fourth.head(j).array() * v.square().square()).sum();
    }
    return total;
  }

  Matrix prior_;
  Vector offset_;
  Vector sign_;
  double log_determinant_ = 0;
  GaussianEp ep_;
};

}  // namespace

GaussianEp gaussian_ep(const OrthantProblem& problem) {
  return Solver(problem).solve();
}

}  // namespace desirepath::inline probability
