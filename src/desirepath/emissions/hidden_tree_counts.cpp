#include "desirepath/emissions/hidden_tree_counts.h"

#include <algorithm>
#include <array>

namespace desirepath::inline emissions {

namespace {

/// Rows a pass does together: enough to fill packs, few enough for the cache.
constexpr std::int64_t rows_a_pass = 128;
/// Rows that are worth sums of their own.
constexpr double rows_a_lane = 1024;
/// Memory that sums side by side may take.
constexpr double lane_bytes = 256.0 * 1024 * 1024;

/// l of every kind: kinds by stride.
RowMatrix own_tables(const HiddenTree& tree, const TimingRows& timings) {
  RowMatrix tables(std::ssize(timings.kinds()), tree.stride());
  for (Index k = 0; k < tables.rows(); ++k)
    tree.own(timings.kinds()[static_cast<std::size_t>(k)], tables.row(k).data());
  return tables;
}

/// Rows of a group from `first` on, as a pass takes them.
void begin_pass(HiddenTreePass& pass, const TimingRows& timings, const TimingRows::Group& group, Range range,
                const RowMatrix& tables) {
  pass.begin();
  std::vector<TreeChange> changes;
  for (std::int64_t i = range.first; i < range.last; ++i) {
    changes.clear();
    for (const TimingRows::Change& change : timings.changes(group.rows[static_cast<std::size_t>(i)]))
      changes.push_back({change.course, tables.row(change.kind).data(), change.kind});
    pass.add_row(changes);
  }
}

/// From sums over kinds to counts of timings and retakes.
HiddenTreeCounts counts_from(const HiddenTree& tree, const TimingRows& timings, const RowMatrix& tables,
                             const TreeSums& sums) {
  const Index states = tree.state_count(), courses = tree.course_count();
  const Id periods = tree.period_count();
  HiddenTreeCounts counts;
  counts.root = Vector::Zero(states);
  counts.pairs = sums.pairs.leftCols(states).cwiseProduct(tree.parameters().transition);
  counts.timing = RowMatrix::Zero(courses * states, periods + 1);
  counts.risk = counts.retaken = RowMatrix::Zero(courses, periods);
  std::vector<double> weights(static_cast<std::size_t>(periods) + 1);
  for (Index k = 0; k < sums.kinds.rows(); ++k) {
    const CourseTiming& kind = timings.kinds()[static_cast<std::size_t>(k)];
    if (kind.course == tree.root()) counts.root += sums.kinds.row(k).head(states).transpose();
    timing_weights(kind.code, tree.retake(kind.course), weights);
    const double* shares = tree.timing(kind.course);
    Vector first = Vector::Zero(periods + 1);  // expected students by v
    for (Index z = 0; z < states; ++z) {
      const double mass = sums.kinds(k, z) / tables(k, z);
      for (Id v = 0; v <= periods; ++v) {
        const double expected = mass * weights[static_cast<std::size_t>(v)] * shares[v * tree.stride() + z];
        counts.timing(kind.course * states + z, v) += expected;
        first[v] += expected;
      }
    }
    TimingCode code = kind.code;
    double before = 0;  // first enrollment before the period at hand
    for (Id t = 0; t < periods; ++t, code /= 3) {
      if (code % 3 != 2) {
        counts.risk(kind.course, t) += before;
        if (code % 3 == 1) counts.retaken(kind.course, t) += before;
      }
      before += first[t + 1];
    }
  }
  return counts;
}

}  // namespace

HiddenTreeCounts& HiddenTreeCounts::operator-=(const HiddenTreeCounts& other) {
  // Rounding may leave less than nothing of what was the other's alone.
  const auto subtract = [](auto& from, const auto& what) { from = (from - what).cwiseMax(0).eval(); };
  subtract(root, other.root);
  subtract(pairs, other.pairs);
  subtract(timing, other.timing);
  subtract(risk, other.risk);
  subtract(retaken, other.retaken);
  return *this;
}

HiddenTreeCounts& HiddenTreeCounts::operator*=(double factor) {
  root *= factor;
  pairs *= factor;
  timing *= factor;
  risk *= factor;
  retaken *= factor;
  return *this;
}

void add_to_statistics(HiddenTreeCounts counts, Statistics& sums) {
  sums.add(RowMatrix(counts.root));
  for (RowMatrix* table : {&counts.pairs, &counts.timing, &counts.risk, &counts.retaken})
    sums.add(std::move(*table));
}

HiddenTreeCounts take_counts(Statistics& sums, std::size_t tree) {
  const std::size_t first = 5 * tree;
  HiddenTreeCounts counts;
  counts.root = sums.table(first);
  counts.pairs = std::move(sums.table(first + 1));
  counts.timing = std::move(sums.table(first + 2));
  counts.risk = std::move(sums.table(first + 3));
  counts.retaken = std::move(sums.table(first + 4));
  return counts;
}

HiddenTreeCounts count_hidden_tree(const HiddenTree& tree, const TimingRows& timings, std::span<const double> weights,
                                   const Executor& executor) {
  const RowMatrix tables = own_tables(tree, timings);
  TreeSums total;
  total.resize(tree, tables.rows());
  // As many sums side by side as rows and memory justify, by the data's and the tree's size alone: threads change no
  // bit.
  const double bytes = 8.0 * static_cast<double>(total.pairs.size() + total.kinds.size() + 2 * total.here.size());
  const double most = std::clamp(lane_bytes / bytes, 2.0, 16.0);
  const auto lane_count =
      static_cast<std::int64_t>(std::clamp(static_cast<double>(weights.size()) / rows_a_lane, 1.0, most));
  std::vector<TreeSums> lanes(static_cast<std::size_t>(lane_count));
  for (TreeSums& lane : lanes)
    lane.resize(tree, tables.rows());
  for (std::size_t g = 0; g < timings.groups().size(); ++g) {
    const TimingRows::Group& group = timings.groups()[g];
    if (group.rows.empty()) continue;
    const RestMessages rest(tree, group.rest);
    const auto rest_kinds = timings.rest_kinds(g);
    const std::int64_t rows = std::ssize(group.rows), passes = (rows + rows_a_pass - 1) / rows_a_pass;
    executor.for_each(lane_count, [&](std::int64_t number) {
      TreeSums& lane = lanes[static_cast<std::size_t>(number)];
      lane.clear_group();
      HiddenTreePass pass(tree, rest);
      std::vector<double> log_probability, own_weights;
      for (std::int64_t p = number * passes / lane_count; p < (number + 1) * passes / lane_count; ++p) {
        const Range range{p * rows_a_pass, std::min(rows, (p + 1) * rows_a_pass)};
        begin_pass(pass, timings, group, range, tables);
        log_probability.resize(static_cast<std::size_t>(range.size()));
        own_weights.clear();
        for (std::int64_t i = range.first; i < range.last; ++i)
          own_weights.push_back(weights[static_cast<std::size_t>(group.rows[static_cast<std::size_t>(i)])]);
        pass.up(log_probability);
        pass.down(own_weights, rest_kinds, lane);
      }
    });
    total.clear_group();
    for (const TreeSums& lane : lanes) {
      total.above += lane.above;
      total.here += lane.here;
      total.untouched += lane.untouched;
    }
    add_unchanged(tree, rest, rest_kinds, total);
  }
  for (const TreeSums& lane : lanes)
    total.add(lane);
  return counts_from(tree, timings, tables, total);
}

Vector score_hidden_tree(const HiddenTree& tree, const TimingRows& timings, const Executor& executor) {
  const RowMatrix tables = own_tables(tree, timings);
  std::int64_t rows = 0;
  for (const TimingRows::Group& group : timings.groups())
    rows += std::ssize(group.rows);
  Vector scores(rows);
  for (const TimingRows::Group& group : timings.groups()) {
    if (group.rows.empty()) continue;
    const RestMessages rest(tree, group.rest);
    // Several passes a block: setting one up is not free.
    executor.for_blocks(std::ssize(group.rows), 8 * rows_a_pass, [&](Range block) {
      HiddenTreePass pass(tree, rest);
      std::vector<double> log_probability;
      for (std::int64_t first = block.first; first < block.last; first += rows_a_pass) {
        const Range range{first, std::min(block.last, first + rows_a_pass)};
        begin_pass(pass, timings, group, range, tables);
        log_probability.resize(static_cast<std::size_t>(range.size()));
        pass.up(log_probability);
        for (std::int64_t i = range.first; i < range.last; ++i)
          scores[group.rows[static_cast<std::size_t>(i)]] = log_probability[static_cast<std::size_t>(i - range.first)];
      }
    });
  }
  return scores;
}

HiddenTreeCounts count_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row) {
  const RowMatrix tables = own_tables(tree, timings);
  const RestMessages rest(tree, timings.groups()[group].rest);
  HiddenTreePass pass(tree, rest);
  begin_pass(pass, timings, {timings.groups()[group].rest, {row}}, {0, 1}, tables);
  std::vector<double> log_probability(1);
  const std::vector<double> weight = {1};
  pass.up(log_probability);
  TreeSums sums;
  sums.resize(tree, tables.rows());
  pass.down(weight, timings.rest_kinds(group), sums);
  add_unchanged(tree, rest, timings.rest_kinds(group), sums);
  return counts_from(tree, timings, tables, sums);
}

double score_one_row(const HiddenTree& tree, const TimingRows& timings, std::size_t group, std::int64_t row) {
  const RestMessages rest(tree, timings.groups()[group].rest);
  HiddenTreePass pass(tree, rest);
  RowMatrix own(std::ssize(timings.changes(row)), tree.stride());
  std::vector<TreeChange> changes;
  for (const TimingRows::Change& change : timings.changes(row)) {
    double* to = own.row(std::ssize(changes)).data();
    tree.own(timings.kinds()[static_cast<std::size_t>(change.kind)], to);
    changes.push_back({change.course, to, change.kind});
  }
  pass.add_row(changes);
  std::array<double, 1> log_probability;
  pass.up(log_probability);
  return log_probability[0];
}

}  // namespace desirepath::inline emissions
