// The latent Gaussian given all its signs, drawn by tilted paths: what exact conditioning averages over.
#pragma once

#include "desirepath/probability/orthant.h"

namespace desirepath::inline probability {

struct TruncatedSample {
  Matrix latent;   // courses by draws: xbar - mu; a scramble's draws lie together
  Vector weights;  // of the draws; sum to one
  int scrambles = 0;

  Index draws_a_scramble() const { return weights.size() / scrambles; }
};

/// A mean over the draws, and its standard error from the scrambles.
struct SampleMean {
  double value = 0;
  double standard_error = 0;
};
SampleMean mean_of(const TruncatedSample& sample, const Eigen::Ref<const Eigen::RowVectorXd>& values);

/// `samples` draws in each scramble.
TruncatedSample truncated_sample(const OrthantProblem& problem, std::int64_t samples, int scrambles,
                                 const RandomStream& stream);

}  // namespace desirepath::inline probability
