// Rows under thresholded factors, state by state: what Gaussian states read as a mass and probit states with many
// factors have in common.
#pragma once

#include <span>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/step_rows.h"
#include "desirepath/probability/factor_sampler.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline emissions {

/// Of expectation propagation when probabilities are asked for: good to about its square.
inline constexpr double score_tolerance = 1e-2;

inline KnownSigns signs_of(const StepRows& rows, std::int64_t row) {
  return {rows.taken(row), rows.unknown(rows.pattern_of(row)).bits};
}

/// log P of the known bits by expectation propagation with its correction: rows by states.
RowMatrix scores_by_ep(std::span<const ThresholdedFactors> states, const StepRows& rows, const Executor& executor);

/// The taken bits and, at one of the sample's points drawn by its weight, the unknown ones; ascending.
void complete_at_sample(const ThresholdedFactors& factors, const FactorSample& sample, std::span<const Id> taken,
                        const UnknownBits& unknown, RandomStream& stream, std::vector<Id>& result);

}  // namespace desirepath::inline emissions
