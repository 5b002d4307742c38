// Numbers to hand out: those that rest on few students are pooled, all are rounded (docs/models/publication.md).
#pragma once

#include "desirepath/core/types.h"

namespace desirepath::inline emissions {

/// Students that stand for any number of few: half of the bound, where no more may be known than that they are few.
inline double standing_for_few(double least) {
  return least / 2;
}

/// A probability to as many digits as n students bear: the last is no larger than the standard error; one at least.
double rounded_probability(double probability, double students);
/// Each probability to what n students bear; the distribution is scaled to sum to one again.
void round_distribution(Eigen::Ref<Vector> distribution, double students);

/// Distributions, one a row, of different students. Outcomes of few of them (counts) share what they have together as
/// `usual` has them; where that is few, too, what they have in all such rows; a row in which all are few is `usual`.
/// What the model excludes stays excluded. Rounded, of sum one. Returns the number of rows that are `usual`.
Index publish_distributions(Eigen::Ref<RowMatrix> rows, const RowMatrix& counts, const Vector& usual, double least);
/// One of them, where nothing is usual: all that is possible alike.
Vector published_distribution(const Vector& distribution, const Vector& counts, double least);

}  // namespace desirepath::inline emissions
