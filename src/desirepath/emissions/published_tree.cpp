// Hidden trees to hand out: what rests on few students is pooled, the rest rounded (docs/models/publication.md).
#include <algorithm>

#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/emissions/published_numbers.h"

namespace desirepath::inline emissions {

namespace {

constexpr double least_share = 1e-12;  // nothing becomes impossible

Vector possible(const Vector& distribution) {
  return distribution.cwiseMax(least_share);
}

struct PublishedTree {
  HiddenTreeParameters parameters;
  std::int64_t values = 0;  // of all courses' hidden variables
  std::int64_t pooled = 0;  // of these, timings replaced by the course's: fewer than `least` students expected
};

/// By period: students (weights: behind each row) who took any course again.
Vector students_who_retake(const StepRows& rows, const HiddenTree& tree, const std::vector<double>& weights) {
  Vector found = Vector::Zero(tree.period_count());
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    std::vector<std::uint8_t> had(static_cast<std::size_t>(tree.course_count()), 0);
    std::vector<std::uint8_t> again(static_cast<std::size_t>(tree.period_count()), 0);
    for (const Id bit : rows.taken(row)) {  // in order of periods; then traits
      if (bit >= tree.course_count() * tree.period_count()) break;
      const auto course = static_cast<std::size_t>(bit % tree.course_count());
      if (had[course] != 0) again[static_cast<std::size_t>(bit / tree.course_count())] = 1;
      had[course] = 1;
    }
    for (std::size_t t = 0; t < again.size(); ++t)
      found[static_cast<Index>(t)] += again[t] != 0 ? weights[static_cast<std::size_t>(row)] : 0;
  }
  return found;
}

/// weights: students behind each row; retakers: by period, of them, who took any course again.
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
  for (Id c = 0; c < p.nodes(); ++c) {
    const Id values = p.values(c);
    const auto of_course = counts.timing().block(c * states, 0, states, values);
    const Vector behind = of_course.rowwise().sum();  // students expected with each value
    const double all = std::max(behind.sum(), least_share);
    const Vector timing_count = of_course.colwise().sum().transpose();
    const Vector usual_timing = published_distribution(possible(timing_count / all), timing_count, least),
                 usual_value = published_distribution(possible(behind / all), behind, least);
    result.values += states;
    auto rows_of = [&](RowMatrix& matrix) { return matrix.middleRows(c * states, states); };
    RowMatrix own = rows_of(p.timing).leftCols(values).cwiseMax(least_share);
    result.pooled += publish_distributions(own, of_course, usual_timing, least);
    rows_of(p.timing).leftCols(values) = own;
    if (p.parents[static_cast<std::size_t>(c)] >= 0) {
      RowMatrix links = rows_of(p.transition).cwiseMax(least_share);
      publish_distributions(links, counts.pairs().middleRows(c * states, states), usual_value, least);
      rows_of(p.transition) = links;
    }
    for (Id t = 1; t < p.periods() && c < p.courses(); ++t) {
      const double risk = counts.risk()(c, t), again = counts.retaken()(c, t);
      if (again < least || risk - again < least)
        p.retake(c, t) = p.centres.retake[t];
      else
        p.retake(c, t) = std::min(rounded_probability(p.retake(c, t), risk), 1 - least_share);
    }
    p.centres.timing.row(c).head(values) = usual_timing.transpose();
  }
  round_distribution(p.centres.states, students);
  return result;
}

}  // namespace

PublishedEmission HiddenTreeEmission::published(const StepRows& rows, const StepWeights& weights, double least,
                                                const Executor& executor) const {
  const TimingRows& timings = timings_of(rows, shape(), retakes_);
  RowMatrix all = RowMatrix::Zero(rows.row_count(), weights.front().cols());
  // Of steps that share their trees the same students may be in each.
  for (const RowMatrix& step : weights)
    all += step / static_cast<double>(weights.size());
  PublishedEmission result;
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  for (const auto& tree : trees_) {
    const Index state = std::ssize(trees);
    std::vector<double> behind(static_cast<std::size_t>(rows.row_count()));
    for (std::int64_t row = 0; row < rows.row_count(); ++row)
      behind[static_cast<std::size_t>(row)] = all(row, state);
    PublishedTree published =
        published_tree(*tree, timings, behind, students_who_retake(rows, *tree, behind), least, executor);
    result.values += published.values;
    result.pooled += published.pooled;
    trees.push_back(std::make_shared<const HiddenTree>(std::move(published.parameters)));
  }
  result.emission = std::make_unique<HiddenTreeEmission>(std::move(trees), retakes_);
  return result;
}

}  // namespace desirepath::inline emissions
