#include "desirepath/emissions/latent_reward.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/gaussian.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

namespace {

void require_reward_factor(bool found) {
  if (!found) throw NumericalError("refinement: a covariance is not positive definite");
}

/// From d/dL to the symmetric d/d(LL'), L lower triangular.
Matrix slope_of_covariance(const Matrix& lower, const Matrix& slope_of_lower) {
  Matrix middle = (lower.triangularView<Eigen::Lower>().transpose() * slope_of_lower).eval();
  middle.triangularView<Eigen::StrictlyUpper>().setZero();
  middle.diagonal() *= 0.5;
  lower.triangularView<Eigen::Lower>().transpose().solveInPlace(middle);
  Matrix result = middle.transpose();
  lower.triangularView<Eigen::Lower>().transpose().solveInPlace(result);
  return 0.5 * (result + result.transpose());
}

}  // namespace

void RewardSampler::set_row(std::span<const Id> taken, const UnknownBits& unknown) {
  taken_.assign(taken.begin(), taken.end());
  others_.clear();
  for (Id bit = 0; bit < latent_.mean.size(); ++bit) {
    if (!unknown.contains(bit) && !std::ranges::binary_search(taken, bit)) others_.push_back(bit);
  }
  root_ = latent_.covariance(taken_, taken_);
  require_reward_factor(factorise(root_));
  root_.triangularView<Eigen::StrictlyUpper>().setZero();
  Matrix cross = latent_.covariance(taken_, others_);
  root_.triangularView<Eigen::Lower>().solveInPlace(cross);
  whitened_gain_ = cross.transpose();
  root_.triangularView<Eigen::Lower>().transpose().solveInPlace(cross);
  gain_ = cross.transpose();
}

void RewardSampler::draw(int samples, RandomStream stream) {
  const auto taken_count = static_cast<Index>(taken_.size()), other_count = static_cast<Index>(others_.size());
  Matrix noise(taken_count, samples), uniforms;
  for (double& value : noise.reshaped())
    value = stream.normal();
  if (reward_ == Reward::exact) {
    uniforms.resize(other_count, samples);
    for (double& value : uniforms.reshaped())
      value = stream.uniform_open();
  }
  Matrix y = noise;
  if (taken_count > 0) {
    y = root_.triangularView<Eigen::Lower>() * noise;
    y.colwise() += Vector(latent_.mean(taken_));
  }
  evaluate(y, uniforms);
}

void RewardSampler::evaluate(const Matrix& y, const Matrix& uniforms) {
  const Index samples = y.cols();
  whitened_ = y.colwise() - Vector(latent_.mean(taken_));
  if (y.rows() > 0) root_.triangularView<Eigen::Lower>().solveInPlace(whitened_);
  log_rewards_.resize(samples);
  for (Index s = 0; s < samples; ++s) {
    const auto above = static_cast<double>((y.col(s).array() > 0).count());
    const auto count = static_cast<double>(y.rows());
    if (reward_ == Reward::surrogate)
      log_rewards_[s] = y.rows() == 0 ? 0 : std::log(above / count);
    else
      log_rewards_[s] = above == count ? 0 : -infinity;
  }
  if (reward_ == Reward::surrogate)
    evaluate_surrogate();
  else
    evaluate_exact(uniforms);
}

void RewardSampler::weigh() {
  const double largest = log_rewards_.maxCoeff();
  if (largest == -infinity) {
    log_mean_reward_ = -infinity;
    weights_.setZero(log_rewards_.size());
    return;
  }
  weights_ = (log_rewards_.array() - largest).unaryExpr([](double t) { return std::exp(t); });
  const double sum = weights_.sum();
  weights_ /= sum;
  log_mean_reward_ = largest + std::log(sum / static_cast<double>(weights_.size()));
}

void RewardSampler::evaluate_surrogate() {
  const Vector variance = Vector(latent_.covariance.diagonal()(others_)) - whitened_gain_.rowwise().squaredNorm();
  if (!(variance.array() > 0).all()) require_reward_factor(false);
  const Vector deviation = variance.cwiseSqrt();
  // Upper ends of the normal variables that must stay below: -E[x_j | y] / sd.
  Matrix bounds = whitened_gain_ * whitened_;
  bounds.colwise() += Vector(latent_.mean(others_));
  bounds = -(deviation.cwiseInverse().asDiagonal() * bounds);
  const auto size = static_cast<std::size_t>(bounds.size());
  Matrix log_cdf(bounds.rows(), bounds.cols());
  mean_slopes_.resize(bounds.rows(), bounds.cols());
  log_normal_cdf_and_mills({bounds.data(), size}, {log_cdf.data(), size}, {mean_slopes_.data(), size});
  log_rewards_ += log_cdf.colwise().sum().transpose();
  weigh();
  variance_slopes_ = -0.5 * (variance.cwiseInverse().asDiagonal() * bounds.cwiseProduct(mean_slopes_));
  mean_slopes_ = -(deviation.cwiseInverse().asDiagonal() * mean_slopes_);
}

void RewardSampler::evaluate_exact(const Matrix& uniforms) {
  const auto others = static_cast<Index>(others_.size()), samples = log_rewards_.size();
  mean_slopes_ = Matrix::Zero(others, samples);
  covariance_slope_ = Matrix::Zero(others, others);
  if (log_rewards_.maxCoeff() == -infinity) return weigh();
  Matrix lower = Matrix(latent_.covariance(others_, others_)) - whitened_gain_ * whitened_gain_.transpose();
  require_reward_factor(factorise(lower));
  lower.triangularView<Eigen::StrictlyUpper>().setZero();
  // The path goes through the courses in their order: z_i is normal below its bound t_i, given those before.
  Matrix z(others, samples), bounds(others, samples);
  for (Index s = 0; s < samples; ++s) {
    if (log_rewards_[s] == -infinity) continue;
    Vector pull = Vector(latent_.mean(others_)) + whitened_gain_ * whitened_.col(s);
    for (Index i = 0; i < others; ++i) {
      const double bound = -pull[i] / lower(i, i), log_share = log_normal_cdf(bound);
      bounds(i, s) = bound;
      log_rewards_[s] += log_share;
      z(i, s) = normal_quantile_of_log(log_share + std::log(uniforms(i, s)));
      pull.tail(others - i - 1) += z(i, s) * lower.col(i).tail(others - i - 1);
    }
  }
  weigh();
  // And back: d log R / dt_i, directly and through z_i; dz/dt = r(t)/r(z), r the inverse Mills ratio.
  Matrix slope_of_lower = Matrix::Zero(others, others);
  Vector pull_slope(others);
  for (Index s = 0; s < samples; ++s) {
    if (!(weights_[s] > 0)) continue;
    for (Index i = others - 1; i >= 0; --i) {
      const Index after = others - i - 1;
      const double mills = inverse_mills_ratio(bounds(i, s));
      const double z_slope = lower.col(i).tail(after).dot(pull_slope.tail(after));
      const double bound_slope = mills + z_slope * mills / inverse_mills_ratio(z(i, s));
      pull_slope[i] = -bound_slope / lower(i, i);
      slope_of_lower.col(i).tail(after) += weights_[s] * z(i, s) * pull_slope.tail(after);
      slope_of_lower(i, i) -= weights_[s] * bound_slope * bounds(i, s) / lower(i, i);
    }
    mean_slopes_.col(s) = pull_slope;
  }
  covariance_slope_ = slope_of_covariance(lower, slope_of_lower);
}

void RewardSampler::add_score_term(double weight, LatentGradient& gradient) const {
  if (log_mean_reward_ == -infinity || taken_.empty()) return;
  const auto samples = static_cast<double>(weights_.size());
  // (R_s - mean of the others) / (samples * mean) = (weight_s - 1/samples) samples / (samples - 1).
  const Vector centred =
      weights_.size() == 1 ? weights_ : Vector((weights_.array() - 1 / samples) * (samples / (samples - 1)));
  Vector first = whitened_ * centred;
  Matrix second = whitened_ * centred.asDiagonal() * whitened_.transpose();
  second.diagonal().array() -= centred.sum();
  const auto upper = root_.triangularView<Eigen::Lower>().transpose();
  upper.solveInPlace(first);
  upper.solveInPlace(second);
  second.transposeInPlace();
  upper.solveInPlace(second);
  for (std::size_t j = 0; j < taken_.size(); ++j) {
    const auto column = static_cast<Index>(j);
    gradient.mean[taken_[j]] += weight * first[column];
    for (std::size_t i = j; i < taken_.size(); ++i)
      gradient.covariance(taken_[i], taken_[j]) += 0.5 * weight * second(static_cast<Index>(i), column);
  }
}

void RewardSampler::add_direct_term(double weight, LatentGradient& gradient) const {
  if (log_mean_reward_ == -infinity || others_.empty()) return;
  const auto taken_count = static_cast<Index>(taken_.size()), other_count = static_cast<Index>(others_.size());
  const Vector mean_slope = mean_slopes_ * weights_;
  // E[x_L | y] = mu_L + Sigma_LG Sigma_G^-1 (y - mu_G), V = Sigma_L - Sigma_LG Sigma_G^-1 Sigma_GL.
  Matrix cross = (mean_slopes_ * weights_.asDiagonal() * whitened_.transpose()).transpose();
  root_.triangularView<Eigen::Lower>().transpose().solveInPlace(cross);  // taken by others
  Matrix pulled;                                                         // others by taken: dV gain
  const bool diagonal = reward_ == Reward::surrogate;
  const Vector variance_slope = diagonal ? Vector(variance_slopes_ * weights_) : Vector();
  if (diagonal)
    pulled = variance_slope.asDiagonal() * gain_;
  else
    pulled.noalias() = covariance_slope_ * gain_;
  Matrix own = gain_.transpose() * (pulled - cross.transpose());
  own = (0.5 * (own + own.transpose())).eval();
  const Vector mean_pull = gain_.transpose() * mean_slope;

  const auto add = [&](Id a, Id b, double value) {
    gradient.covariance(std::max(a, b), std::min(a, b)) += weight * value;
  };
  for (Index j = 0; j < taken_count; ++j) {
    const Id course = taken_[static_cast<std::size_t>(j)];
    gradient.mean[course] -= weight * mean_pull[j];
    for (Index i = j; i < taken_count; ++i)
      add(taken_[static_cast<std::size_t>(i)], course, own(i, j));
    for (Index i = 0; i < other_count; ++i)
      add(others_[static_cast<std::size_t>(i)], course, 0.5 * cross(j, i) - pulled(i, j));
  }
  for (Index j = 0; j < other_count; ++j) {
    const Id course = others_[static_cast<std::size_t>(j)];
    gradient.mean[course] += weight * mean_slope[j];
    if (diagonal) {
      gradient.covariance(course, course) += weight * variance_slope[j];
      continue;
    }
    for (Index i = j; i < other_count; ++i)
      add(others_[static_cast<std::size_t>(i)], course, covariance_slope_(i, j));
  }
}

}  // namespace desirepath::inline emissions
