// Where the learning of a hidden tree begins: its shape, and first parameters.
#pragma once

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/timing_information.h"

namespace desirepath::inline emissions {

/// Expected first enrollments of every course and mean retakes, as if courses were independent.
HiddenTreeCentres pooled_timings(const TimingRows& timings, std::span<const double> weights,
                                 const HiddenTreeOptions& options);

/// What every tree of the same students starts from, whatever is drawn for it.
struct TreeGround {
  TreeGround(const TimingRows& timings, std::span<const double> weights, const HiddenTreeOptions& options,
             const Executor& executor);
  TimingInformation information;
  HiddenTreeCentres centres;  // but for those of the states
};

/// A tree whose states are those of a mixture of independent courses, nearly the same in every course.
HiddenTreeParameters start_hidden_tree(const StepRows& rows, const TimingRows& timings, std::span<const double> weights,
                                       const TreeGround& ground, const HiddenTreeOptions& options,
                                       const RandomStream& stream, const Executor& executor);

}  // namespace desirepath::inline emissions
