#include "desirepath/models/published_tree.h"

#include <algorithm>

#include "desirepath/models/publication.h"

namespace desirepath::inline models {

namespace {

constexpr double least_share = 1e-12;  // nothing becomes impossible

void round_row(RowMatrix& matrix, Index row, double students) {
  Vector values = matrix.row(row).transpose().cwiseMax(least_share);
  round_distribution(values, students);
  matrix.row(row) = values.transpose();
}

}  // namespace

void round_distribution(Eigen::Ref<Vector> distribution, double students) {
  for (double& probability : distribution)
    probability = rounded_probability(probability, students);
  const double sum = distribution.sum();
  if (sum > 0) distribution /= sum;
}

PublishedTree published_tree(const HiddenTree& tree, const TimingRows& timings, std::span<const double> weights,
                             double least, const Compute& compute) {
  const HiddenTreeCounts counts = count_hidden_tree(tree, timings, weights, compute);
  PublishedTree result{tree.parameters()};
  HiddenTreeParameters& p = result.parameters;
  const Index states = p.states();
  const double students = counts.root.sum();
  round_distribution(p.initial, students);
  for (Index c = 0; c < p.courses(); ++c) {
    const auto of_course = counts.timing.middleRows(c * states, states);
    const Vector behind = of_course.rowwise().sum();  // students expected with each value
    const double all = behind.sum();
    for (Index z = 0; z < states; ++z) {
      const Index row = c * states + z;
      ++result.values;
      const bool is_small = behind[z] < least;
      if (is_small) {
        p.timing.row(row) = of_course.colwise().sum() / all;
        ++result.pooled;
      }
      round_row(p.timing, row, is_small ? all : behind[z]);
      if (p.parents[static_cast<std::size_t>(c)] < 0) continue;
      const double from = counts.pairs.row(row).sum();  // z is the parent's here
      if (from < least) p.transition.row(row) = behind.transpose() / all;
      round_row(p.transition, row, from < least ? all : from);
    }
    for (Id t = 1; t < p.periods(); ++t) {
      const double risk = counts.risk(c, t);
      if (risk < least) p.retake(c, t) = p.centres.retake[t];
      p.retake(c, t) = std::min(rounded_probability(p.retake(c, t), std::max(least, risk)), 1 - least_share);
    }
    round_row(p.centres.timing, c, students);
  }
  round_distribution(p.centres.states, students);
  for (double& share : p.centres.retake)
    share = rounded_probability(share, students);
  return result;
}

}  // namespace desirepath::inline models
