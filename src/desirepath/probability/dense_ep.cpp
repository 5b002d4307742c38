#include "desirepath/probability/dense_ep.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <Eigen/Dense>

#include "desirepath/core/error.h"
#include "desirepath/probability/gaussian_ep.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline probability {

namespace {

using Array = Eigen::ArrayXd;

// A site becomes active when its precision should change by this share of its course's.
constexpr double active_share = 0.1;
// On the change of all means and variances in a pass, in posterior deviations. Coarse for a student: what is left to
// match is part of the correction.
constexpr double start_tolerance = 1e-4, student_tolerance = 0.1;
constexpr int pass_limit = 40, turn_limit = 3;
// The correction leaves a share of itself (docs/models/orthant.md), and a little where it is nothing.
constexpr double share_left = 0.15, least_error = 0.005;

std::span<double> span_of(Array& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

/// f = xbar - mu as the other sites see it (the cavity), and what the sign makes of that.
struct Tilted {
  Array variance, deviation, mean;  // of the cavity
  Array argument;                   // s (mu + mean) / deviation
  Array mills;                      // phi / Phi of it
  Array shrink;                     // share of the variance that the sign takes away

  Tilted(const Array& sign, const Array& offset, const Array& posterior_variance, const Array& posterior_mean,
         const Array& precision, const Array& shift)
      : mills(sign.size()) {
    const Array kept = (1 - precision * posterior_variance).max(1e-12);
    variance = posterior_variance / kept;
    deviation = variance.sqrt();
    mean = (posterior_mean - shift * posterior_variance) / kept;
    argument = sign * (offset + mean) / deviation;
    inverse_mills_ratio(span_of(argument), span_of(mills));
    mills *= sign.abs();  // an unknown sign says nothing
    shrink = (mills * (argument + mills)).max(0.0).min(1 - 1e-12);
  }
  Array true_mean(const Array& sign) const { return mean + sign * deviation * mills; }
  Array true_variance() const { return variance * (1 - shrink); }
};

}  // namespace

/// Sites exp(nu f - tau f^2/2) of one student, and the posterior of f they make.
struct DenseEp::Student {
  Array sign, precision, shift;  // s (0: unknown), tau, nu
  Array variance, mean;
  std::vector<Index> active;
  std::vector<std::uint8_t> is_active;
  Matrix columns;              // V0_A: courses by active
  Matrix gains;                // Y: active by courses
  double log_determinant = 0;  // of I + D V0_AA

  void activate(Index course) {
    active.push_back(course);
    is_active[static_cast<std::size_t>(course)] = 1;
  }
};

DenseEp::DenseEp(Vector mean, Matrix covariance)
    : offset_(std::move(mean)),
      prior_(std::move(covariance)),
      covariance_(prior_),
      mean_(Vector::Zero(offset_.size())),
      precision_(mean_),
      shift_(mean_) {
  const Index size = offset_.size();
  if (Eigen::LLT<Matrix>(prior_).info() != Eigen::Success) throw InputError("the covariance is not positive definite");
  Student nothing = with_signs({});
  for (Index j = 0; j < size; ++j)
    nothing.activate(j);
  const bool settled = settle(nothing, start_tolerance);
  if (settled) {
    covariance_.triangularView<Eigen::Lower>() -= nothing.columns * nothing.gains;
    covariance_.triangularView<Eigen::StrictlyUpper>() = covariance_.transpose();
    precision_ = nothing.precision;
    shift_ = nothing.shift;
    mean_ = nothing.mean;
    log_determinant_ = nothing.log_determinant;
    return;
  }
  // In turn, which is slower and surer.
  GaussianEp ep =
      gaussian_ep({offset_, FullCovariance{prior_}, std::vector<std::uint8_t>(static_cast<std::size_t>(size), 0)});
  covariance_ = std::move(ep.covariance);
  precision_ = std::move(ep.site_precision);
  shift_ = std::move(ep.site_shift);
  mean_ = std::move(ep.mean);
  Matrix system = prior_ * precision_.asDiagonal();
  system.diagonal().array() += 1;
  log_determinant_ = Eigen::PartialPivLU<Matrix>(system).matrixLU().diagonal().array().abs().log().sum();
}

/// The sites of the courses taken, matched in turn, and of the unknown, removed; all others as they were.
DenseEp::Student DenseEp::with_signs(const KnownSigns& signs) const {
  const Index size = offset_.size();
  Student student{Array::Constant(size, -1),
                  precision_.array(),
                  shift_.array(),
                  covariance_.diagonal().array(),
                  mean_.array(),
                  {},
                  std::vector<std::uint8_t>(static_cast<std::size_t>(size), 0),
                  {},
                  {},
                  0};
  const auto set = [&](std::span<const Id> courses, double sign) {
    for (const Id course : courses) {
      student.sign[course] = sign;
      student.activate(course);
    }
  };
  set(signs.taken, 1);
  set(signs.unknown, 0);
  student.columns = covariance_(Eigen::all, student.active);
  Matrix covariance = student.columns(student.active, Eigen::all);
  Vector mean = mean_(student.active);
  double moved = infinity;
  for (int turn = 0; turn < turn_limit && moved > student_tolerance; ++turn) {
    moved = 0;
    for (Index i = 0; i < mean.size(); ++i) {
      const Index course = student.active[static_cast<std::size_t>(i)];
      const Vector column = covariance.col(i);
      double& precision = student.precision[course];
      double& shift = student.shift[course];
      const double kept = std::max(1 - precision * column[i], 1e-12);
      const double variance = column[i] / kept, centre = (mean[i] - shift * column[i]) / kept;
      const double argument = (offset_[course] + centre) / std::sqrt(variance);
      const double mills = student.sign[course] * inverse_mills_ratio(argument);
      const double shrink = std::clamp(mills * (argument + mills), 0.0, 1 - 1e-12);
      const double scale = 1 / (variance * (1 - shrink));
      const double precision_change = shrink * scale - precision;
      const double shift_change = (std::sqrt(variance) * mills + shrink * centre) * scale - shift;
      precision += precision_change;
      shift += shift_change;
      const double factor = precision_change / (1 + precision_change * column[i]);
      const double step = shift_change * (1 - factor * column[i]) - factor * mean[i];
      moved = std::max(moved, std::abs(step) * std::sqrt(column[i]));
      mean += step * column;
      covariance.noalias() -= factor * column * column.transpose();
    }
  }
  update(student, student.columns * (student.shift.matrix()(student.active) - shift_(student.active)));
  return student;
}

/// The posterior from the sites, `shifted` being V0 times the change of the shifts; how far it moved.
double DenseEp::update(Student& student, const Vector& shifted) const {
  const auto& active = student.active;
  const Vector change = student.precision.matrix()(active) - precision_(active);
  Matrix system = change.asDiagonal() * student.columns(active, Eigen::all);
  system.diagonal().array() += 1;
  const Eigen::PartialPivLU<Matrix> factors(system);
  student.log_determinant = factors.matrixLU().diagonal().array().abs().log().sum();
  student.gains = factors.solve(change.asDiagonal() * student.columns.transpose());
  const Array variance =
      (covariance_.diagonal() - student.columns.transpose().cwiseProduct(student.gains).colwise().sum().transpose())
          .array()
          .max(1e-12 * prior_.diagonal().array());
  const Vector unchanged = mean_ + shifted;
  const Array mean = (unchanged - student.gains.transpose() * unchanged(active)).array();
  const double moved =
      std::sqrt((0.25 * (variance / student.variance - 1).square() + (mean - student.mean).square() / variance).sum());
  student.variance = variance;
  student.mean = mean;
  return moved;
}

/// All sites at once, again and again; false where that does not settle.
bool DenseEp::settle(Student& student, double tolerance) const {
  double damping = 1, previous = infinity;
  for (int pass = 0; pass < pass_limit; ++pass) {
    const Tilted tilted(student.sign, offset_.array(), student.variance, student.mean, student.precision,
                        student.shift);
    const Array scale = 1 / tilted.true_variance();
    Array precision = tilted.shrink * scale;
    Array shift = (student.sign * tilted.deviation * tilted.mills + tilted.shrink * tilted.mean) * scale;
    for (Index j = 0; j < precision.size(); ++j) {
      if (student.is_active[static_cast<std::size_t>(j)] != 0) continue;
      if (std::abs(precision[j] - student.precision[j]) * student.variance[j] > active_share) {
        student.activate(j);
        continue;
      }
      // The precision stays, the mean is matched.
      const double own = 1 / tilted.variance[j], wanted = (shift[j] + own * tilted.mean[j]) / (precision[j] + own);
      precision[j] = student.precision[j];
      shift[j] = wanted * (precision[j] + own) - own * tilted.mean[j];
    }
    student.precision += damping * (precision - student.precision);
    student.shift += damping * (shift - student.shift);
    student.columns = covariance_(Eigen::all, student.active);
    const double moved = update(student, covariance_ * (student.shift.matrix() - shift_));
    if (!(moved < infinity)) return false;
    if (moved < tolerance) return true;
    // Sites that overshoot together swing: walk slower.
    if (moved > 0.7 * previous) damping = std::max(0.25, 0.7 * damping);
    previous = moved;
  }
  return false;
}

double DenseEp::log_evidence(const Student& student) const {
  const Array& precision = student.precision;
  const Array& shift = student.shift;
  Tilted tilted(student.sign, offset_.array(), student.variance, student.mean, precision, shift);
  Array log_cdf(precision.size());
  log_normal_cdf(span_of(tilted.argument), span_of(log_cdf));
  const Array spread = 1 + precision * tilted.variance;
  const double sites =
      (student.sign.abs() * log_cdf + 0.5 * spread.log() -
       (shift.square() * tilted.variance + (2 * shift - precision * tilted.mean) * tilted.mean) / (2 * spread))
          .sum();
  return sites - 0.5 * (log_determinant_ + student.log_determinant) + 0.5 * (shift * student.mean).sum();
}

/// Sum over pairs of courses of c_m c_n V_mn^l / l!, l = 1 .. 3 and half of 4, c the difference of the cumulants of
/// the truth and the posterior at a course, over its variance to the l (see FactorEp::correction).
double DenseEp::pair_terms(const Student& student) const {
  const Tilted tilted(student.sign, offset_.array(), student.variance, student.mean, student.precision, student.shift);
  const Array& u = tilted.argument;
  const Array& r = tilted.mills;
  const Array slope = -r * (u + r), g = (u + r) * (u + 2 * r) - 1;
  const Array scale = student.sign * tilted.deviation / student.variance;
  const Array first = (tilted.true_mean(student.sign) - student.mean) / student.variance;
  const Array second = (tilted.true_variance() - student.variance) / student.variance.square();
  const Array third = scale.cube() * r * g;
  const Array fourth = scale.square().square() * (slope * g + r * (2 * u + 3 * r + slope * (3 * u + 4 * r)));
  constexpr Index block = 64;
  const Index size = u.size();
  double total = 0;
  for (Index begin = 0; begin < size; begin += block) {
    const Index columns = std::min(block, size - begin), rows = size - begin;
    Matrix covariance = covariance_.block(begin, begin, rows, columns);
    covariance.noalias() -= student.columns.bottomRows(rows) * student.gains.middleCols(begin, columns);
    for (Index i = 0; i < columns; ++i) {
      const Index j = begin + i, below = size - j - 1;
      const auto v = covariance.col(i).tail(below).array();
      total += (v * (first[j] * first.tail(below) +
                     v * (second[j] / 2 * second.tail(below) +
                          v * (third[j] / 6 * third.tail(below) + v * (fourth[j] / 48 * fourth.tail(below))))))
                   .sum();
    }
  }
  return total;
}

DenseEp::Estimate DenseEp::solve(const KnownSigns& signs) const {
  Student student = with_signs(signs);
  double value = -infinity, correction = 0;
  if (settle(student, student_tolerance)) {
    value = log_evidence(student);
    correction = pair_terms(student);
  }
  if (!std::isfinite(value + correction)) {
    OrthantProblem problem;
    std::vector<Index> known;
    for (Index j = 0; j < offset_.size(); ++j) {
      if (student.sign[j] == 0) continue;
      known.push_back(j);
      problem.taken.push_back(student.sign[j] > 0 ? 1 : 0);
    }
    problem.mean = offset_(known);
    problem.covariance = FullCovariance{prior_(known, known)};
    const GaussianEp ep = gaussian_ep(problem);
    value = ep.log_probability;
    correction = ep.correction;
  }
  return {std::min(0.0, value + correction), least_error + share_left * std::abs(correction)};
}

double DenseEp::rough(const KnownSigns& signs) const {
  return std::min(0.0, log_evidence(with_signs(signs)));
}

}  // namespace desirepath::inline probability
