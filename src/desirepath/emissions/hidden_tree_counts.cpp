#include "desirepath/emissions/hidden_tree_counts.h"

#include <algorithm>
#include <cassert>

#include "desirepath/emissions/hidden_tree_row.h"
#include "desirepath/emissions/tree_sums.h"

namespace desirepath::inline emissions {

HiddenTreeCounts::HiddenTreeCounts(Index nodes, Index states, Index periods, Index width)
    : nodes_(nodes), states_(states), periods_(periods), width_(width) {
  values_ = Vector::Zero(risk_begin() + 2 * nodes_ * periods_);
}

HiddenTreeCounts& HiddenTreeCounts::operator+=(const HiddenTreeCounts& other) {
  values_ += other.values_;
  return *this;
}

HiddenTreeCounts& HiddenTreeCounts::operator-=(const HiddenTreeCounts& other) {
  values_ = (values_ - other.values_).cwiseMax(0);
  return *this;
}

HiddenTreeCounts& HiddenTreeCounts::operator*=(double factor) {
  values_ *= factor;
  return *this;
}

void add_to_statistics(const HiddenTreeCounts& counts, Statistics& sums) {
  const std::span<const double> values = counts.values();
  sums.add(Eigen::Map<const RowMatrix>(values.data(), 1, std::ssize(values)));
}

HiddenTreeCounts take_counts(const Statistics& sums, std::size_t number, const HiddenTree& tree) {
  HiddenTreeCounts counts(tree.node_count(), tree.state_count(), tree.period_count(), tree.width());
  const RowMatrix& table = sums.table(number);
  assert(table.size() == std::ssize(counts.values()));
  std::copy(table.data(), table.data() + table.size(), counts.values().begin());
  return counts;
}

namespace {

/// One row by itself, with its own tables.
struct SingleRow {
  SingleRow(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row)
      : baseline(tree, timings.groups()[group].baseline), own(std::ssize(timings.changes(row)), tree.stride()) {
    for (const std::int32_t kind : timings.changes(row)) {
      double* to = own.row(std::ssize(changes)).data();
      const CourseTiming& known = timings.kinds()[static_cast<std::size_t>(kind)];
      tree.own(known, to);
      changes.push_back({known, to});
    }
  }
  BaselineMessages baseline;
  RowMatrix own;
  std::vector<TreeChange> changes;
};

}  // namespace

HiddenTreeCounts count_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row) {
  const SingleRow single(tree, timings, group, row);
  TreeSums sums;
  sums.begin(tree);
  HiddenTreeRow(tree, single.baseline, single.changes).add_to(sums, 1);
  return sums.counts();
}

double score_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row) {
  const SingleRow single(tree, timings, group, row);
  return HiddenTreeRow(tree, single.baseline, single.changes).log_probability();
}

}  // namespace desirepath::inline emissions
