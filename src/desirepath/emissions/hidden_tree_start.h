// Where the learning of a hidden tree begins: its shape, and first parameters.
#pragma once

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/hidden_tree.h"

namespace desirepath::inline emissions {

/// The spanning tree of the largest mutual information between first enrollments, rooted at its centre. weights: one a
/// row. noise: the information of each pair times exp(noise * normal).
DependencyTree timing_tree(const TimingRows& timings, std::span<const double> weights, double noise,
                           const RandomStream& stream, const Executor& executor);

/// Expected first enrollments of every course and mean retakes, as if courses were independent.
HiddenTreeCentres pooled_timings(const TimingRows& timings, std::span<const double> weights,
                                 const HiddenTreeOptions& options);

/// A tree whose states are those of a mixture of independent courses, nearly the same in every course.
HiddenTreeParameters start_hidden_tree(const StepRows& rows, const TimingRows& timings, std::span<const double> weights,
                                       const HiddenTreeOptions& options, const RandomStream& stream,
                                       const Executor& executor);

}  // namespace desirepath::inline emissions
