// The probability of an enrollment vector under a thresholded Gaussian: course j is taken iff xbar_j > 0,
// xbar ~ N(mu, Sigma), so P(x) is the mass of an orthant (the paper's Gaussian mixture model and the estimator of its
// appendix). Several estimators behind one function, all in log space, reproducible and independent of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"

namespace desirepath::inline probability {

struct FullCovariance {
  Matrix covariance;
};

/// Sigma = Lambda Lambda' + diag(D).
struct FactorCovariance {
  RowMatrix loadings;  // Lambda, courses by factors
  Vector noise;        // D, variances
};

/// Unit variances, every pair of courses correlated alike.
struct Equicorrelation {
  double correlation = 0;
};

/// Unit variances, neighbours correlated alike, all other pairs not at all.
struct NeighbourCorrelation {
  double correlation = 0;
};

using OrthantCovariance = std::variant<FullCovariance, FactorCovariance, Equicorrelation, NeighbourCorrelation>;

struct OrthantProblem {
  Vector mean;
  OrthantCovariance covariance;
  std::vector<std::uint8_t> taken;  // x: 1 or 0, one a course

  Index course_count() const { return mean.size(); }
  /// Throws InputError that names what is wrong: lengths, numbers that are not finite, a covariance that is none.
  /// Whether a full covariance is positive definite shows when it is factored; that error is an InputError too.
  void validate() const;
};

/// The courses taken, in ascending order.
std::vector<Id> courses_taken(const OrthantProblem& problem);
/// The covariance in full, courses by courses.
Matrix dense_covariance(const OrthantProblem& problem);
/// The covariance by factors, where the structure has them: given so, or equicorrelated at 0 or above (one factor).
std::optional<FactorCovariance> factor_covariance(const OrthantProblem& problem);

enum class OrthantEstimator {
  /// The paper's: draws the courses taken, and where all of them are, the probability of the others by one
  /// sequential path. Unbiased; almost never a hit for a student with many courses.
  paper,
  /// Separation of variables (Genz; GHK), ordered, quasi-random.
  sov,
  /// The same after minimax exponential tilting (Botev), with a certified upper bound.
  tilted,
  /// Expectation propagation with a correction: deterministic, no standard error, a bias of mostly 0.0001 to 0.005
  /// nats (0.03 with twenty factors or where one course of ten thousand is taken).
  ep,
  /// Importance sampling of the factors, centred by expectation propagation.
  factor,
};

std::string_view to_string(OrthantEstimator estimator);
/// Throws OptionError that names the nearest estimator.
OrthantEstimator parse_orthant_estimator(std::string_view name);

struct OrthantOptions {
  std::optional<OrthantEstimator> estimator;  // none: chosen by structure
  std::optional<std::int64_t> samples;        // points in each scramble; none: default_samples of the estimator
  int scrambles = 8;
};

struct OrthantEstimate {
  OrthantEstimator estimator = OrthantEstimator::factor;
  /// At most 0; -inf where no sample hit the orthant or the value is below what a double can hold.
  double log_probability = 0;
  /// Of log_probability, from the scrambles; none for `ep`. Infinite where log_probability is -inf by lack of hits.
  std::optional<double> standard_error;
  /// No log-probability can be larger (`tilted`).
  std::optional<double> log_upper_bound;
  std::int64_t samples = 0;  // in each scramble; 0 for `ep`
  int scrambles = 0;
  /// What a reader of the number should know: clamped at 0, no hits, not converged. Empty: nothing.
  std::string note;
};

/// The best estimator for the structure: `factor` where there are few factors, else `tilted`.
OrthantEstimator choose_orthant_estimator(const OrthantProblem& problem);
std::int64_t default_samples(OrthantEstimator estimator);

/// log P(x). Throws InputError for a problem that is none, OptionError for an estimator that does not apply to it.
OrthantEstimate estimate_orthant(const OrthantProblem& problem, const OrthantOptions& options,
                                 const RandomStream& stream, const Executor& executor = Executor(1));

}  // namespace desirepath::inline probability
