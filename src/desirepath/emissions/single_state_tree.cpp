#include "desirepath/emissions/single_state_tree.h"

#include <algorithm>
#include <cmath>

#include "desirepath/emissions/tree_sums.h"

namespace desirepath::inline emissions {

Vector score_single_state(const HiddenTree& tree, const TimingRows& timings, const RowLanes& rows, const RowMatrix& own,
                          const Executor& executor) {
  const Vector logs = own.col(0).array().log();
  // Of each group: a row that changes nothing, and its courses one by one.
  std::vector<double> unchanged;
  RowMatrix usual(std::ssize(timings.groups()), tree.node_count());
  for (std::size_t g = 0; g < timings.groups().size(); ++g) {
    const auto baseline = timings.baseline_kinds(g);
    double sum = 0;
    for (Index c = 0; c < usual.cols(); ++c) {
      usual(static_cast<Index>(g), c) = logs[baseline[static_cast<std::size_t>(c)]];
      sum += usual(static_cast<Index>(g), c);
    }
    unchanged.push_back(sum);
  }
  Vector scores(rows.row_count());
  executor.for_each(std::ssize(rows.segments()), [&](std::int64_t number) {
    const PlannedRows& planned = rows.segments()[static_cast<std::size_t>(number)];
    for (const std::int64_t row : rows_of(timings, planned)) {
      double score = unchanged[static_cast<std::size_t>(planned.group)];
      for (const std::int32_t kind : timings.changes(row))
        score += logs[kind] - usual(planned.group, timings.kinds()[static_cast<std::size_t>(kind)].course);
      scores[row] = score;
    }
  });
  return scores;
}

HiddenTreeCounts count_single_state(const HiddenTree& tree, const TimingRows& timings, const RowLanes& rows,
                                    const RowMatrix& own, std::span<const double> weights, const Executor& executor) {
  const Index kinds = std::ssize(timings.kinds()), courses = tree.node_count();
  const std::vector<std::size_t> begin = rows.lanes(rows.lane_count(kinds + 1));
  std::vector<Vector> lanes(begin.size() - 1);  // weight by kind, then of all rows
  executor.for_each(std::ssize(lanes), [&](std::int64_t number) {
    const auto lane = static_cast<std::size_t>(number);
    Vector& sums = lanes[lane];
    sums.setZero(kinds + 1);
    Vector changed(courses);
    for (std::size_t i = begin[lane]; i < begin[lane + 1]; ++i) {
      const PlannedRows& planned = rows.segments()[i];
      double all = 0;
      changed.setZero();
      for (const std::int64_t row : rows_of(timings, planned)) {
        const double weight = weights[static_cast<std::size_t>(row)];
        all += weight;
        for (const std::int32_t kind : timings.changes(row)) {
          sums[kind] += weight;
          changed[timings.kinds()[static_cast<std::size_t>(kind)].course] += weight;
        }
      }
      sums[kinds] += all;
      // Those of the baseline are what is left; less than nothing only by rounding.
      const auto baseline = timings.baseline_kinds(static_cast<std::size_t>(planned.group));
      for (Index c = 0; c < courses; ++c)
        sums[baseline[static_cast<std::size_t>(c)]] += std::max(0.0, all - changed[c]);
    }
  });
  std::vector<Vector*> side_by_side;
  for (Vector& lane : lanes)
    side_by_side.push_back(&lane);
  add_up(std::move(side_by_side), executor);
  const Vector& sums = lanes.front();
  TreeSums counted;
  counted.begin(tree);
  Vector posterior = Vector::Zero(tree.stride());
  for (Index k = 0; k < kinds; ++k) {
    posterior[0] = sums[k];
    counted.add(timings.kinds()[static_cast<std::size_t>(k)], posterior.data(), own.row(k).data());
  }
  for (Id c = 0; c < courses; ++c)
    *counted.pairs(c) = tree.shape().parent(c) < 0 ? 0 : sums[kinds];
  return counted.counts();
}

}  // namespace desirepath::inline emissions
