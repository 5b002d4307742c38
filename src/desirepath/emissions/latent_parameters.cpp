#include "desirepath/emissions/latent_parameters.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

namespace desirepath::inline emissions {

LatentParameters::LatentParameters(const Matrix& standard_mean, const Matrix& lower)
    : bits_(standard_mean.rows()), states_(standard_mean.cols()), values_(bits_ * states_ + bits_ * (bits_ + 1) / 2) {
  Matrix factor = lower.triangularView<Eigen::Lower>();
  factor.rowwise().normalize();
  values_.head(bits_ * states_) = standard_mean.reshaped();
  pack(factor, factor.diagonal().array().log(), values_);
}

void LatentParameters::pack(const Matrix& matrix, const Vector& diagonal, Vector& target) const {
  double* out = target.data() + bits_ * states_;
  for (Index j = 0; j < bits_; ++j) {
    *out++ = diagonal[j];
    out = std::copy(matrix.col(j).data() + j + 1, matrix.col(j).data() + bits_, out);
  }
}

Matrix LatentParameters::lower() const {
  Matrix result = Matrix::Zero(bits_, bits_);
  const double* in = values_.data() + bits_ * states_;
  for (Index j = 0; j < bits_; ++j) {
    result(j, j) = std::exp(*in++);
    std::copy(in, in + (bits_ - j - 1), result.col(j).data() + j + 1);
    in += bits_ - j - 1;
  }
  return result;
}

Matrix LatentParameters::standard_mean() const {
  return values_.head(bits_ * states_).reshaped(bits_, states_);
}

Matrix LatentParameters::correlation_factor() const {
  Matrix result = lower();
  result.rowwise().normalize();
  return result;
}

std::vector<LatentGaussian> LatentParameters::latent() const {
  const Matrix factor = lower(), means = standard_mean();
  const Matrix covariance = factor * factor.transpose();
  const Vector deviation = covariance.diagonal().cwiseSqrt();
  std::vector<LatentGaussian> result;
  for (Index k = 0; k < states_; ++k)
    result.push_back({means.col(k).cwiseProduct(deviation), covariance});
  return result;
}

Vector LatentParameters::gradient(const std::vector<LatentGradient>& by_state) const {
  const Matrix factor = lower(), means = standard_mean();
  const Vector deviation = factor.rowwise().norm();
  Vector result(values_.size());
  Matrix sum = Matrix::Zero(bits_, bits_);
  for (Index k = 0; k < states_; ++k) {
    const LatentGradient& own = by_state[static_cast<std::size_t>(k)];
    result.segment(k * bits_, bits_) = own.mean.cwiseProduct(deviation);
    sum += own.covariance;
    sum.diagonal().array() +=
        0.5 * own.mean.array() * means.col(k).array() / deviation.array();  // through mu = h sigma
  }
  const Matrix slope = 2 * (Matrix(sum.selfadjointView<Eigen::Lower>()) * factor);
  pack(slope, slope.diagonal().cwiseProduct(factor.diagonal()), result);
  return result;
}

}  // namespace desirepath::inline emissions
