// Probabilities to hand out: those that rest on few students are pooled, all are rounded (docs/models/publication.md).
#pragma once

#include <memory>
#include <vector>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/tree.h"

namespace desirepath::inline models {

/// Students behind each row of a pool and state, by the step of the pool in which they have it: a student counts once
/// in a step, and may count in several.
using StepWeights = std::vector<RowMatrix>;  // by place in the pool: rows by states

/// Cells (bit, state) of few takers, and of few who did not take the bit, take what such cells of their state have
/// together, spread by what all students do. Rounded.
std::unique_ptr<Emission> published_bernoulli(const BernoulliEmission& emission, const StepRows& rows,
                                              const StepWeights& weights, double least);
/// The same along a tree: of those whose parent is taken, and of those whose is not. Spread by what the state does.
std::unique_ptr<Emission> published_trees(const TreeEmission& emission, const StepRows& rows,
                                          const StepWeights& weights, double least);

/// Distributions, one a row, of different students. Outcomes of few of them (counts) share what they have together as
/// `usual` has them; where that is few, too, what they have in all such rows; a row in which all are few is `usual`.
/// What the model excludes stays excluded. Rounded, of sum one. Returns the number of rows that are `usual`.
Index publish_distributions(Eigen::Ref<RowMatrix> rows, const RowMatrix& counts, const Vector& usual, double least);
/// One of them, where nothing is usual: all that is possible alike.
Vector published_distribution(const Vector& distribution, const Vector& counts, double least);

}  // namespace desirepath::inline models
