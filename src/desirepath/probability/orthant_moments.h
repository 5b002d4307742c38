// What the signs say of the latent Gaussian: moments of xbar given x, the gradient of log P(x) in mu and Sigma that
// follows from them, and the probabilities of courses that are not known given those that are.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "desirepath/probability/orthant.h"

namespace desirepath::inline probability {

struct OrthantMoments {
  double log_probability = 0;
  std::optional<double> standard_error;  // none for expectation propagation
  Vector mean;                           // E[xbar - mu | x]
  Matrix second;                         // E[(xbar - mu)(xbar - mu)' | x]
};

/// By expectation propagation: deterministic, slightly biased.
OrthantMoments orthant_moments_by_ep(const OrthantProblem& problem);
/// By the weights of tilted paths, samples in each scramble.
OrthantMoments orthant_moments_by_tilting(const OrthantProblem& problem, const OrthantOptions& options,
                                          const RandomStream& stream);

struct OrthantGradient {
  Vector mean;        // d log P / d mu
  Matrix covariance;  // d log P / d Sigma, of a symmetric matrix whose two triangles are separate variables
};

/// d/dmu = Sigma^-1 E[xbar - mu], d/dSigma = (1/2) Sigma^-1 (E[(xbar - mu)(xbar - mu)'] - Sigma) Sigma^-1.
OrthantGradient orthant_gradient(const OrthantProblem& problem, const OrthantMoments& moments);

/// P(x_j = 1 | known signs) of the courses asked for.
struct ConditionalMarginals {
  Vector probability;
  Vector standard_error;  // from the scrambles; zeros for expectation propagation, which is biased instead
};

/// A Gaussian over all courses; the signs of some of them are known.
struct PartialOrthant {
  Vector mean;
  Matrix covariance;
  std::vector<Id> known;
  std::vector<std::uint8_t> taken;  // of the known
};

ConditionalMarginals conditional_marginals_by_ep(const PartialOrthant& evidence, std::span<const Id> asked);
ConditionalMarginals conditional_marginals_by_tilting(const PartialOrthant& evidence, std::span<const Id> asked,
                                                      const OrthantOptions& options, const RandomStream& stream);

}  // namespace desirepath::inline probability
