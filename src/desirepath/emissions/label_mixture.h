// The mixture of independent courses that the learning of a hidden tree begins from.
#pragma once

#include <span>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/course_timings.h"
#include "desirepath/emissions/row_lanes.h"

namespace desirepath::inline emissions {

/// What a start needs of the labels of all rows, which are not kept.
struct LabelShares {
  Vector size;        // weight of each label
  RowMatrix by_kind;  // weight of each kind of knowledge with each label: kinds by labels
};

/// Labels drawn at random, row by row, then made better by some steps of EM on a mixture of Bernoullis over the bits.
/// weights: one a row.
LabelShares mix_labels(const StepRows& rows, const TimingRows& timings, std::span<const double> weights, Id labels,
                       const RandomStream& stream, const Executor& executor);

}  // namespace desirepath::inline emissions
