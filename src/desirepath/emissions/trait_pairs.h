// Mutual information between the traits of students and the first enrollments of courses, and between traits.
//
// Of departure plain information would be mechanical: who leaves early cannot have taken what is taken late. So it is
// what leaving after a period says of courses up to that period, among students who were enrolled in it and of whom it
// is known whether they came back, summed over periods. docs/models/hidden_tree.md.
#pragma once

#include <span>
#include <vector>

#include "desirepath/compute/statistics.h"
#include "desirepath/emissions/course_timings.h"

namespace desirepath::inline emissions {

class TraitPairs {
 public:
  explicit TraitPairs(const StepShape& shape) : shape_(shape) {}

  /// weights: one for each row.
  Statistics count(const TimingRows& timings, std::span<const double> weights) const;
  /// Nats for each student that a trait and an earlier node say of each other: a row for each trait, courses and
  /// traits in order; from the sums over all rows. total: their weight.
  RowMatrix information(const Statistics& sums, double total) const;

 private:
  /// What a row may say of a trait: of departure that the student left in a period, or was there in it and may have
  /// stayed on; of others the value.
  Index observations(Id trait) const {
    const Index values = shape_.trait_values[static_cast<std::size_t>(trait)];
    return trait == shape_.departure ? 2 * values : values;
  }
  /// -1: nothing.
  Index observation(Id trait, TimingCode possible) const;
  double information_of_departure(const RowMatrix& together, double total) const;

  StepShape shape_;
};

/// Of two things from the weights by both, `cell` added to each, for each unit of `total` weight.
double information_in(const RowMatrix& together, double cell, double total);

}  // namespace desirepath::inline emissions
