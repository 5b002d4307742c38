// The rewards of the paper's "less biased" learning (2.1.4, appendix) and the gradients of their means.
//
// A sample y ~ N(mu_G, Sigma_G) of the courses taken, G, earns R(y), which depends on the parameters too: what is said
// of the courses not taken, L, comes from their distribution given y. So with J = E[R]
//
//     grad J = E[R grad log p(y)] + E[grad R]
//
// and the first term, the score function, is exactly zero for every course not taken. docs/models/refinement.md.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"
#include "desirepath/emissions/step_rows.h"

namespace desirepath::inline emissions {

enum class Reward {
  /// Product of the univariate conditional probabilities of the courses not taken, times the share of the courses
  /// taken that exceed zero (1 when none is taken): never without a signal, but not the probability of the row.
  surrogate,
  /// 1 if all courses taken exceed zero, times the weight of one sequential path through the others: its mean is the
  /// probability of the row.
  exact
};
inline std::span<const std::string_view> value_names(Reward) {
  static constexpr std::array<std::string_view, 2> names = {"surrogate", "exact"};
  return names;
}

/// The distribution of a step's latent values in one state.
struct LatentGaussian {
  Vector mean;
  Matrix covariance;  // whole
};

/// d/dmu, and the lower triangle of the symmetric G with dJ = sum_ij G_ij dSigma_ij.
struct LatentGradient {
  Vector mean;
  Matrix covariance;
  explicit LatentGradient(Index bits) : mean(Vector::Zero(bits)), covariance(Matrix::Zero(bits, bits)) {}
};

/// Samples of one row after another in one state. Holds the working memory: each thread needs its own.
class RewardSampler {
 public:
  /// The Gaussian must outlive this object. Throws NumericalError where it is none.
  RewardSampler(const LatentGaussian& latent, Reward reward) : latent_(latent), reward_(reward) {}

  /// The row whose samples follow. Unknown bits are left out.
  void set_row(std::span<const Id> taken, const UnknownBits& unknown);
  void draw(int samples, RandomStream stream);
  /// What draw() draws: y, taken courses by samples; uniforms in (0, 1), other courses by samples (exact reward only).
  void evaluate(const Matrix& y, const Matrix& uniforms);

  /// log of the mean reward of the samples; -inf where none is rewarded.
  double log_mean_reward() const { return log_mean_reward_; }
  /// Adds weight times the estimate of grad log J, the gradient of J over its mean reward: times exp(log_mean_reward())
  /// it is an unbiased one of grad J. Nothing where no sample is rewarded: then there is no signal.
  void add_gradient(double weight, LatentGradient& gradient) const {
    add_score_term(weight, gradient);
    add_direct_term(weight, gradient);
  }
  /// E[(R - baseline) grad log p(y)], the baseline of a sample being the mean reward of the others.
  void add_score_term(double weight, LatentGradient& gradient) const;
  /// E[grad R].
  void add_direct_term(double weight, LatentGradient& gradient) const;

 private:
  void evaluate_surrogate();
  void evaluate_exact(const Matrix& uniforms);
  void weigh();

  const LatentGaussian& latent_;
  Reward reward_;
  // Of the row. V is the covariance of the others given the taken.
  std::vector<Id> taken_, others_;
  Matrix root_;           // lower factor of Sigma_G
  Matrix whitened_gain_;  // others by taken: B with E[x_L | y] = mu_L + B w, y = mu_G + root w
  Matrix gain_;           // others by taken: Sigma_LG Sigma_G^-1
  // Of the samples.
  Matrix whitened_;  // taken by samples: w
  Vector log_rewards_;
  Vector weights_;          // R over the sum of R
  Matrix mean_slopes_;      // others by samples: d log R / d E[x_L | y]
  Matrix variance_slopes_;  // surrogate: d log R / d V_jj
  double log_mean_reward_ = 0;
  // Weighted sums.
  Matrix covariance_slope_;  // exact: d log J / dV, symmetric
};

}  // namespace desirepath::inline emissions
