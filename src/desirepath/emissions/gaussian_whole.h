// Gaussian states with whole covariances read as the paper means them, thresholded at zero (2.1.2): the probability of
// a binary row is the mass of an orthant, and evidence conditions by truncation instead of linearly.
#pragma once

#include "desirepath/emissions/gaussian.h"

namespace desirepath::inline emissions {

/// Unit variances.
Matrix correlation_of(const Matrix& covariance);

/// log P of the known bits in every state: by expectation propagation, or sampled by tilted paths in the states near a
/// row's best. States far below it keep a rough value, with an error of nats.
RowScores whole_mass_scores(const GaussianEmission& emission, const StepRows& rows, Precision precision,
                            const Executor& executor);

/// The few factors fitted to the covariances (GaussianEmission::thresholded) against the covariances themselves, on
/// some rows of every pattern in their best states.
ScoreError gap_of_fit(const GaussianEmission& emission, const StepRows& rows, const Executor& executor);

/// p(bit | known bits) by truncation, sampled, with standard errors.
std::unique_ptr<GivenPattern> truncated_given(const GaussianEmission& emission, const UnknownBits& unknown);

}  // namespace desirepath::inline emissions
