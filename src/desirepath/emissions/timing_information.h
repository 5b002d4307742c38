// What the timings of two courses say of each other, for all pairs: the shape of a hidden tree follows from it.
#pragma once

#include <span>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/course_timings.h"
#include "desirepath/probability/dependency_tree.h"

namespace desirepath::inline emissions {

/// Mutual information in nats between the first enrollments of every two courses. Trees of the same students share it.
class TimingInformation {
 public:
  /// weights: one a row.
  TimingInformation(const TimingRows& timings, std::span<const double> weights, const Executor& executor);

  Id course_count() const { return courses_; }
  /// first < second.
  double between(Id first, Id second) const {
    return by_first_[static_cast<std::size_t>(first)][static_cast<std::size_t>(second - first - 1)];
  }

 private:
  Id courses_ = 0;
  std::vector<std::vector<double>> by_first_;  // with every later course
};

/// The spanning tree of the largest information, rooted at its centre. noise: the information of each pair times
/// exp(noise * normal).
DependencyTree timing_tree(const TimingInformation& information, double noise, const RandomStream& stream);

}  // namespace desirepath::inline emissions
