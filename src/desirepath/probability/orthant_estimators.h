// The estimators of orthant.h, one file each; estimate_orthant() there is the way in.
#pragma once

#include <span>

#include "desirepath/probability/orthant.h"

namespace desirepath::inline probability {

struct SampleOptions {
  std::int64_t samples;  // in each scramble
  int scrambles;
  const Executor& executor;
};

// Each takes a valid problem and fills log_probability, standard_error, log_upper_bound and note.
OrthantEstimate estimate_by_paper(const OrthantProblem& problem, const SampleOptions& options,
                                  const RandomStream& stream);
OrthantEstimate estimate_by_sov(const OrthantProblem& problem, const SampleOptions& options,
                                const RandomStream& stream);
OrthantEstimate estimate_by_tilting(const OrthantProblem& problem, const SampleOptions& options,
                                    const RandomStream& stream);
OrthantEstimate estimate_by_ep(const OrthantProblem& problem);
/// Throws OptionError where the covariance has no factors.
OrthantEstimate estimate_by_factors(const OrthantProblem& problem, const SampleOptions& options,
                                    const RandomStream& stream);

/// What rounding alone may do to a log-probability: no standard error is below it.
double rounding_error(Index course_count, double log_probability);
/// The mean of scrambles as an estimate, its standard error never below the rounding.
OrthantEstimate estimate_of_scrambles(std::span<const double> log_means, Index course_count);

}  // namespace desirepath::inline probability
