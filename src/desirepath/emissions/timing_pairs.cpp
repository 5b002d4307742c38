#include "desirepath/emissions/timing_pairs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

constexpr double cell_students = 0.1;  // added to each cell of two courses' timings
/// Numbers that pairs counted in one round may take.
constexpr std::int64_t most_pair_numbers = 2 << 20;

/// First enrollments by row, and by course who they are.
struct FirstEnrollments {
  struct Entry {
    Id course;
    Id period;  // from 1
  };
  std::vector<Entry> entries;
  std::vector<std::size_t> begin = {0};  // into entries, by row that counts
  std::vector<double> row_weight;
  std::vector<std::vector<std::pair<std::size_t, Id>>> takers;  // by course: row, period

  FirstEnrollments(const TimingRows& timings, std::span<const double> weights, bool only_whole)
      : takers(static_cast<std::size_t>(timings.shape().courses)) {
    for (const TimingRows::Group& group : timings.groups()) {
      if (only_whole && group.rest != 0) continue;
      for (const std::int64_t row : group.rows) {
        if (weights[static_cast<std::size_t>(row)] > 0) add(timings, row, weights[static_cast<std::size_t>(row)]);
      }
    }
  }

 private:
  void add(const TimingRows& timings, std::int64_t row, double weight) {
    for (const TimingRows::Change& change : timings.changes(row)) {
      Id period = 1;
      TimingCode code = timings.kinds()[static_cast<std::size_t>(change.kind)].code;
      while (code > 0 && code % 3 != 1) {
        code /= 3;
        ++period;
      }
      if (code == 0) continue;
      takers[static_cast<std::size_t>(change.course)].emplace_back(row_weight.size(), period);
      entries.push_back({change.course, period});
    }
    begin.push_back(entries.size());
    row_weight.push_back(weight);
  }
};

}  // namespace

TimingPairs::TimingPairs(const StepShape& shape, bool only_whole, double total)
    : shape_(shape), only_whole_(only_whole), total_(total), information_(static_cast<std::size_t>(shape.courses)) {}

Index TimingPairs::slab_row(std::int64_t course) const {
  return static_cast<Index>((course - first_) * shape_.courses - (course * (course - 1) - first_ * (first_ - 1)) / 2);
}

Statistics TimingPairs::count(const TimingRows& timings, std::span<const double> weights,
                              const Executor& executor) const {
  const FirstEnrollments firsts(timings, weights, only_whole_);
  Statistics sums;
  if (single_.size() == 0) {
    RowMatrix single = RowMatrix::Zero(shape_.courses, values());
    for (Id c = 0; c < shape_.courses; ++c) {
      for (const auto& [row, period] : firsts.takers[static_cast<std::size_t>(c)])
        single(c, period) += firsts.row_weight[row];
    }
    sums.add(std::move(single));
    return sums;
  }
  RowMatrix together = RowMatrix::Zero(slab_row(end_), values() * values());
  executor.for_each(end_ - first_, [&](std::int64_t number) {
    const std::int64_t i = first_ + number;
    const Index here = slab_row(i) - i;
    for (const auto& [row, u] : firsts.takers[static_cast<std::size_t>(i)]) {
      for (std::size_t at = firsts.begin[row]; at < firsts.begin[row + 1]; ++at) {
        const FirstEnrollments::Entry& other = firsts.entries[at];
        if (other.course > i) together(here + other.course, u * values() + other.period) += firsts.row_weight[row];
      }
    }
  });
  sums.add(std::move(together));
  return sums;
}

bool TimingPairs::take(const Statistics& sums, const Executor& executor) {
  if (single_.size() == 0) {
    single_ = sums.table(0);
    for (Index c = 0; c < single_.rows(); ++c)
      single_(c, 0) = total_ - single_.row(c).tail(shape_.periods).sum();
    begin_slab(0);
  } else {
    inform(sums.table(0), executor);
    begin_slab(end_);
  }
  return first_ == shape_.courses;
}

void TimingPairs::begin_slab(std::int64_t first) {
  first_ = end_ = first;
  while (end_ < shape_.courses && (end_ == first_ || slab_row(end_ + 1) * values() * values() <= most_pair_numbers))
    ++end_;
}

void TimingPairs::inform(const RowMatrix& together, const Executor& executor) {
  const Index size = values(), cells = size * size;
  executor.for_each(end_ - first_, [&](std::int64_t number) {
    const std::int64_t i = first_ + number;
    const Index here = slab_row(i) - i;
    Vector& found = information_[static_cast<std::size_t>(i)];
    found = Vector::Zero(shape_.courses - i);
    const double sum = total_ + cell_students * static_cast<double>(cells);
    Vector left(size), right(size);
    Eigen::RowVectorXd table(cells);
    for (Index j = i + 1; j < shape_.courses; ++j) {
      table = together.row(here + j);
      for (Index v = 1; v < size; ++v) {
        double with_i = 0, with_j = 0;
        for (Index u = 1; u < size; ++u) {
          with_i += table[u * size + v];
          with_j += table[v * size + u];
        }
        table[v] = single_(j, v) - with_i;         // i never
        table[v * size] = single_(i, v) - with_j;  // j never
      }
      table[0] = total_ - table.tail(cells - 1).sum();
      left.setZero();
      right.setZero();
      double entropy = 0;
      for (Index u = 0; u < size; ++u) {
        for (Index v = 0; v < size; ++v) {
          const double p = (std::max(0.0, table[u * size + v]) + cell_students) / sum;
          entropy += x_log_x(p);
          left[u] += p;
          right[v] += p;
        }
      }
      for (Index v = 0; v < size; ++v)
        entropy -= x_log_x(left[v]) + x_log_x(right[v]);
      found[j - i] = std::max(0.0, entropy);
    }
  });
}

DependencyTree TimingPairs::tree(double noise, const RandomStream& stream) const {
  std::vector<Vector> information = information_;
  for (std::size_t i = 0; i < information.size() && noise > 0; ++i) {
    RandomStream draws = stream.child("noise").child(i);
    for (Index j = 1; j < information[i].size(); ++j)
      information[i][j] *= std::exp(noise * draws.normal());
  }
  std::vector<Id> members(information.size());
  std::iota(members.begin(), members.end(), 0);
  return rooted_at_centre(maximum_spanning_tree(
      shape_.courses, members, [&](Id i, Id j) { return information[static_cast<std::size_t>(i)][j - i]; }));
}

}  // namespace desirepath::inline emissions
