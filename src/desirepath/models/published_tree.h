// A hidden tree to hand out: what rests on few students is pooled, the rest rounded (docs/models/publication.md).
#pragma once

#include "desirepath/emissions/hidden_tree_counts.h"

namespace desirepath::inline models {

struct PublishedTree {
  HiddenTreeParameters parameters;
  std::int64_t values = 0;  // of all courses' hidden variables
  std::int64_t pooled = 0;  // of these, timings replaced by the course's: fewer than `least` students expected
};

/// weights: students behind each row; retakers: by period, of them, who took any course again.
PublishedTree published_tree(const HiddenTree& tree, const TimingRows& timings, std::span<const double> weights,
                             const Vector& retakers, double least, const Executor& executor);

/// Each probability to what n students bear; the distribution is scaled to sum to one again.
void round_distribution(Eigen::Ref<Vector> distribution, double students);

}  // namespace desirepath::inline models
