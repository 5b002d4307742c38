// Mutual information between the first enrollments of courses, and with traits, counted in slabs: some courses with all
// later ones at a time, so that sums stay small however many courses there are.
#pragma once

#include <span>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/course_timings.h"
#include "desirepath/emissions/trait_pairs.h"
#include "desirepath/probability/dependency_tree.h"

namespace desirepath::inline emissions {

class TimingPairs {
 public:
  /// only_whole: rows that know every period suffice; else all count by their first known enrollment. total: their
  /// weight; all: that of all rows.
  TimingPairs(const StepShape& shape, bool only_whole, double total, double all);

  /// weights: one a row.
  Statistics count(const TimingRows& timings, std::span<const double> weights, const Executor& executor) const;
  /// Takes the sums of a round over all rows; false where another one is to be counted.
  bool take(const Statistics& sums, const Executor& executor);
  /// Nats that two nodes say of each other, first < second; after the last round.
  double information(Id first, Id second) const {
    return information_[static_cast<std::size_t>(first)][static_cast<std::size_t>(second - first - 1)];
  }
  /// The spanning tree of the largest information, rooted at its centre; noise: the information of each pair times
  /// exp(noise * normal).
  DependencyTree tree(double noise, const RandomStream& stream) const;

 private:
  Index values() const { return Index{shape_.periods} + 1; }
  void begin_slab(Id first);
  void inform(const RowMatrix& together, const Executor& executor);

  StepShape shape_;
  bool only_whole_;
  double total_, all_;
  TraitPairs traits_;
  RowMatrix single_;                              // courses by first enrollment: weight
  Id first_ = 0, end_ = 0;                        // courses of the slab at hand
  std::vector<std::vector<double>> information_;  // of each node with every later one
};

}  // namespace desirepath::inline emissions
