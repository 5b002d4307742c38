#include "desirepath/models/published_tree.h"

#include <algorithm>

#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/models/publication.h"
#include "desirepath/models/published_states.h"

namespace desirepath::inline models {

namespace {

constexpr double least_share = 1e-12;  // nothing becomes impossible

Vector possible(const Vector& distribution) {
  return distribution.cwiseMax(least_share);
}

}  // namespace

void round_distribution(Eigen::Ref<Vector> distribution, double students) {
  for (double& probability : distribution)
    probability = rounded_probability(probability, students);
  const double sum = distribution.sum();
  if (sum > 0) distribution /= sum;
}

PublishedTree published_tree(const HiddenTree& tree, const TimingRows& timings, std::span<const double> weights,
                             const Vector& retakers, double least, const Executor& executor) {
  const HiddenTreeCounts counts = HiddenTreePasses(timings).expect(tree, weights, executor).counts;
  PublishedTree result{tree.parameters()};
  HiddenTreeParameters& p = result.parameters;
  const Index states = p.states();
  const double students = counts.root().sum();
  p.initial = published_distribution(possible(p.initial), counts.root().transpose(), least);
  for (Id t = 1; t < p.periods(); ++t) {
    double& centre = p.centres.retake[t];
    if (!(centre > 0)) continue;  // a model without retakes
    const double risk = std::max(least, counts.risk().col(t).sum());
    if (retakers[t] < least) centre = least / 2 / risk;
    centre = rounded_probability(centre, risk);
  }
  for (Index c = 0; c < p.courses(); ++c) {
    const auto of_course = counts.timing().middleRows(c * states, states);
    const Vector behind = of_course.rowwise().sum();  // students expected with each value
    const double all = std::max(behind.sum(), least_share);
    const Vector timing_count = of_course.colwise().sum().transpose();
    const Vector usual_timing = published_distribution(possible(timing_count / all), timing_count, least),
                 usual_value = published_distribution(possible(behind / all), behind, least);
    result.values += states;
    auto rows_of = [&](RowMatrix& matrix) { return matrix.middleRows(c * states, states); };
    RowMatrix own = rows_of(p.timing).cwiseMax(least_share);
    result.pooled += publish_distributions(own, of_course, usual_timing, least);
    rows_of(p.timing) = own;
    if (p.parents[static_cast<std::size_t>(c)] >= 0) {
      RowMatrix links = rows_of(p.transition).cwiseMax(least_share);
      publish_distributions(links, counts.pairs().middleRows(c * states, states), usual_value, least);
      rows_of(p.transition) = links;
    }
    for (Id t = 1; t < p.periods(); ++t) {
      const double risk = counts.risk()(c, t), again = counts.retaken()(c, t);
      if (again < least || risk - again < least)
        p.retake(c, t) = p.centres.retake[t];
      else
        p.retake(c, t) = std::min(rounded_probability(p.retake(c, t), risk), 1 - least_share);
    }
    p.centres.timing.row(c) = usual_timing.transpose();
  }
  round_distribution(p.centres.states, students);
  return result;
}

}  // namespace desirepath::inline models
