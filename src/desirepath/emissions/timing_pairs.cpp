#include "desirepath/emissions/timing_pairs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

constexpr double cell_students = 0.1;  // added to each cell of two courses' timings
/// Numbers that pairs counted in one round may take.
constexpr std::int64_t most_pair_numbers = std::int64_t{2} << 20;
/// Counts of pairs that stay in a core's cache.
constexpr std::int64_t part_bytes = std::int64_t{1} << 20;
/// Parts of a slab that threads can take, where there are so many courses.
constexpr std::int64_t fewest_parts = 32;

/// First enrollments of the rows that count, as cells: course * periods + period, the first period 0.
struct FirstEnrollments {
  std::vector<std::int32_t> cells;  // row after row, ascending
  std::vector<std::int64_t> begin = {0};
  std::vector<double> weights;

  FirstEnrollments(const TimingRows& timings, std::span<const double> row_weights, bool only_whole) {
    std::vector<std::int32_t> cell_of_kind;
    for (const CourseTiming& kind : timings.kinds()) {
      const Id period = kind.course < timings.shape().courses ? first_period(kind.code) : -1;
      cell_of_kind.push_back(period < 0 ? -1 : kind.course * timings.shape().periods + period);
    }
    cells.reserve(timings.change_count());
    for (const TimingRows::Group& group : timings.groups()) {
      if (only_whole && group.baseline != 0) continue;
      for (const std::int64_t row : group.rows) {
        const double weight = row_weights[static_cast<std::size_t>(row)];
        if (!(weight > 0)) continue;
        for (const std::int32_t kind : timings.changes(row)) {
          const std::int32_t cell = cell_of_kind[static_cast<std::size_t>(kind)];
          if (cell >= 0) cells.push_back(cell);
        }
        begin.push_back(std::ssize(cells));
        weights.push_back(weight);
      }
    }
  }
};

/// Where in a row the cells of a part of the courses begin.
struct RowPlace {
  std::int32_t row;
  std::int32_t place;
};

/// By part, each of so many cells from first_cell on: the rows with a cell in it.
std::vector<std::vector<RowPlace>> places_of_parts(const FirstEnrollments& firsts, std::int32_t first_cell,
                                                   std::int32_t cells_in_part, std::size_t parts) {
  std::vector<std::vector<RowPlace>> places(parts);
  const auto end = first_cell + static_cast<std::int32_t>(parts) * cells_in_part;
  for (std::size_t row = 0; row < firsts.weights.size(); ++row) {
    std::int32_t next = first_cell;  // where the next part begins
    for (std::int64_t at = firsts.begin[row]; at < firsts.begin[row + 1]; ++at) {
      const std::int32_t cell = firsts.cells[static_cast<std::size_t>(at)];
      if (cell < next) continue;
      if (cell >= end) break;
      const std::int32_t part = (cell - first_cell) / cells_in_part;
      next = first_cell + (part + 1) * cells_in_part;
      places[static_cast<std::size_t>(part)].push_back(
          {static_cast<std::int32_t>(row), static_cast<std::int32_t>(at - firsts.begin[row])});
    }
  }
  return places;
}

/// Information of two courses from the weights by both their first enrollments, 0 never: values by values. Most pairs
/// of periods are nobody's, and their entropy is one number.
double information_of(const RowMatrix& table, double sum) {
  const Index values = table.rows();
  const double of_nobody = x_log_x(cell_students / sum);
  Vector left = Vector::Zero(values), right = Vector::Zero(values);
  double entropy = static_cast<double>(values * values) * of_nobody;
  for (Index u = 0; u < values; ++u) {
    for (Index v = 0; v < values; ++v) {
      const double weight = table(u, v);
      if (!(weight > 0)) continue;
      entropy += x_log_x((weight + cell_students) / sum) - of_nobody;
      left[u] += weight;
      right[v] += weight;
    }
  }
  const double raised = cell_students * static_cast<double>(values);
  for (Index v = 0; v < values; ++v)
    entropy -= x_log_x((left[v] + raised) / sum) + x_log_x((right[v] + raised) / sum);
  return std::max(0.0, entropy);
}

}  // namespace

TimingPairs::TimingPairs(const StepShape& shape, bool only_whole, double total, double all)
    : shape_(shape),
      only_whole_(only_whole),
      total_(total),
      all_(all),
      traits_(shape),
      information_(static_cast<std::size_t>(shape.courses + shape.trait_count())) {}

Statistics TimingPairs::count(const TimingRows& timings, std::span<const double> weights,
                              const Executor& executor) const {
  if (first_ == shape_.courses) return traits_.count(timings, weights);
  const FirstEnrollments firsts(timings, weights, only_whole_);
  const Id periods = shape_.periods;
  Statistics sums;
  if (single_.size() == 0) {
    RowMatrix single = RowMatrix::Zero(shape_.courses, values());
    for (std::size_t row = 0; row < firsts.weights.size(); ++row) {
      for (std::int64_t at = firsts.begin[row]; at < firsts.begin[row + 1]; ++at) {
        const std::int32_t cell = firsts.cells[static_cast<std::size_t>(at)];
        single(cell / periods, cell % periods + 1) += firsts.weights[row];
      }
    }
    sums.add(std::move(single));
    return sums;
  }
  // Cells of the slab's courses by cells from there on.
  const std::int32_t first_cell = first_ * periods, end_cell = end_ * periods, cells = shape_.courses * periods;
  RowMatrix together = RowMatrix::Zero(end_cell - first_cell, cells - first_cell);
  const std::int64_t courses = end_ - first_, course_bytes = std::int64_t{8} * periods * (cells - first_cell),
                     in_part = std::clamp<std::int64_t>(part_bytes / course_bytes, 1,
                                                        (courses + fewest_parts - 1) / fewest_parts),
                     parts = (courses + in_part - 1) / in_part;
  const auto cells_in_part = static_cast<std::int32_t>(in_part) * periods;
  const auto places = places_of_parts(firsts, first_cell, cells_in_part, static_cast<std::size_t>(parts));
  executor.for_each(parts, [&](std::int64_t part) {
    const std::int32_t last = std::min(end_cell, first_cell + (static_cast<std::int32_t>(part) + 1) * cells_in_part);
    for (const RowPlace& place : places[static_cast<std::size_t>(part)]) {
      const auto row = static_cast<std::size_t>(place.row);
      const std::int32_t *cell = firsts.cells.data() + firsts.begin[row] + place.place,
                         *end = firsts.cells.data() + firsts.begin[row + 1];
      const double weight = firsts.weights[row];
      for (; cell < end && *cell < last; ++cell) {
        double* counts = together.row(*cell - first_cell).data() - first_cell;
        for (const std::int32_t* later = cell + 1; later < end; ++later)
          counts[*later] += weight;
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
  } else if (first_ < shape_.courses) {
    inform(sums.table(0), executor);
    begin_slab(end_);
  } else {
    // Of each node with the traits after it.
    const RowMatrix of_traits = traits_.information(sums, all_);
    for (Id i = 0; i < shape_.trait_count(); ++i) {
      for (Id node = 0; node < shape_.courses + i; ++node)
        information_[static_cast<std::size_t>(node)].push_back(of_traits(i, node));
    }
    return true;
  }
  return first_ == shape_.courses && shape_.trait_count() == 0;
}

void TimingPairs::begin_slab(Id first) {
  first_ = first;
  const std::int64_t left = shape_.courses - first,
                     numbers = left * shape_.periods * shape_.periods;  // of a course with all from there on
  end_ = first + static_cast<Id>(
                     std::min(left, std::max<std::int64_t>(1, most_pair_numbers / std::max<std::int64_t>(1, numbers))));
}

void TimingPairs::inform(const RowMatrix& together, const Executor& executor) {
  const Id periods = shape_.periods;
  const double sum = total_ + cell_students * static_cast<double>(values() * values());
  executor.for_each(end_ - first_, [&](std::int64_t number) {
    const Id i = first_ + static_cast<Id>(number);
    std::vector<double>& found = information_[static_cast<std::size_t>(i)];
    found.reserve(static_cast<std::size_t>(shape_.courses - i - 1));
    RowMatrix table(values(), values());
    for (Id j = i + 1; j < shape_.courses; ++j) {
      table.bottomRightCorner(periods, periods) =
          together.block(Index{i - first_} * periods, Index{j - first_} * periods, periods, periods);
      for (Index v = 1; v <= periods; ++v) {
        double with_i = 0, with_j = 0;
        for (Index u = 1; u <= periods; ++u) {
          with_i += table(u, v);
          with_j += table(v, u);
        }
        table(0, v) = single_(j, v) - with_i;  // i never
        table(v, 0) = single_(i, v) - with_j;  // j never
      }
      double taken = 0;
      for (Index cell = 1; cell < table.size(); ++cell)
        taken += table.data()[cell];
      table(0, 0) = total_ - taken;
      found.push_back(information_of(table, sum));
    }
  });
}

DependencyTree TimingPairs::tree(double noise, const RandomStream& stream) const {
  std::vector<std::vector<double>> noisy;
  for (std::size_t i = 0; i < information_.size() && noise > 0; ++i) {
    RandomStream draws = stream.child("noise").child(i);
    noisy.push_back(information_[i]);
    for (double& information : noisy.back())
      information *= std::exp(noise * draws.normal());
  }
  const auto& used = noise > 0 ? noisy : information_;
  std::vector<Id> members(information_.size());
  std::iota(members.begin(), members.end(), 0);
  return rooted_at_centre(maximum_spanning_tree(static_cast<Id>(members.size()), members, [&](Id i, Id j) {
    return used[static_cast<std::size_t>(i)][static_cast<std::size_t>(j - i - 1)];
  }));
}

}  // namespace desirepath::inline emissions
