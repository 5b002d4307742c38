#include "desirepath/emissions/timing_information.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

constexpr double cell_students = 0.1;  // added to each cell of two courses' timings
/// Counts of pairs that stay in a core's cache.
constexpr std::size_t table_bytes = std::size_t{1} << 20;
/// Parts of the pairs that threads can take, where there are so many.
constexpr std::size_t fewest_parts = 32;

/// First enrollments of the rows that count, as cells: course * periods + period, the first period 0.
struct FirstEnrollments {
  std::vector<std::int32_t> cells;  // row after row, ascending
  std::vector<std::int64_t> begin = {0};
  std::vector<double> weights;
  double total = 0;
};

/// The first known enrollment in a code; -1: none.
Id first_period(TimingCode code) {
  Id period = 0;
  for (; code > 0 && code % 3 != 1; code /= 3)
    ++period;
  return code > 0 ? period : -1;
}

FirstEnrollments find_first_enrollments(const TimingRows& timings, std::span<const double> weights) {
  // Rows known throughout where they suffice, else all by their first known enrollment.
  double whole = 0, all = 0;
  for (const TimingRows::Group& group : timings.groups()) {
    for (const std::int64_t row : group.rows) {
      all += weights[static_cast<std::size_t>(row)];
      if (group.baseline == 0) whole += weights[static_cast<std::size_t>(row)];
    }
  }
  const bool only_whole = 3 * whole >= all;
  std::vector<std::int32_t> cell_of_kind;
  for (const CourseTiming& kind : timings.kinds()) {
    const Id period = first_period(kind.code);
    cell_of_kind.push_back(period < 0 ? -1 : kind.course * timings.shape().periods + period);
  }
  FirstEnrollments found;
  found.total = only_whole ? whole : all;
  for (const TimingRows::Group& group : timings.groups()) {
    if (only_whole && group.baseline != 0) continue;
    for (const std::int64_t row : group.rows) {
      const double weight = weights[static_cast<std::size_t>(row)];
      if (!(weight > 0)) continue;
      for (const std::int32_t kind : timings.changes(row)) {
        const std::int32_t cell = cell_of_kind[static_cast<std::size_t>(kind)];
        if (cell >= 0) found.cells.push_back(cell);
      }
      found.begin.push_back(std::ssize(found.cells));
      found.weights.push_back(weight);
    }
  }
  return found;
}

/// Where the cells of a row begin that belong to a part of the courses.
struct RowPlace {
  std::int32_t row;
  std::int32_t place;  // into the row
};

/// By part of the courses, each of so many: the rows with a cell in it.
std::vector<std::vector<RowPlace>> places_of_parts(const FirstEnrollments& found, std::size_t parts,
                                                   std::int32_t cells_in_part) {
  std::vector<std::vector<RowPlace>> places(parts);
  for (std::size_t row = 0; row < found.weights.size(); ++row) {
    std::int32_t next = 0;  // where the next part begins
    for (std::int64_t at = found.begin[row]; at < found.begin[row + 1]; ++at) {
      const std::int32_t cell = found.cells[static_cast<std::size_t>(at)];
      if (cell < next) continue;
      const std::int32_t part = cell / cells_in_part;
      next = (part + 1) * cells_in_part;
      places[static_cast<std::size_t>(part)].push_back(
          {static_cast<std::int32_t>(row), static_cast<std::int32_t>(at - found.begin[row])});
    }
  }
  return places;
}

/// Information of two courses from the weights by both their first periods, 0 never: values by values.
double information_of(const double* table, Index values, double sum) {
  Vector left = Vector::Zero(values), right = Vector::Zero(values);
  double entropy = 0;
  for (Index u = 0; u < values; ++u) {
    for (Index v = 0; v < values; ++v) {
      const double p = (std::max(0.0, table[u * values + v]) + cell_students) / sum;
      entropy += x_log_x(p);
      left[u] += p;
      right[v] += p;
    }
  }
  for (Index v = 0; v < values; ++v)
    entropy -= x_log_x(left[v]) + x_log_x(right[v]);
  return std::max(0.0, entropy);
}

}  // namespace

TimingInformation::TimingInformation(const TimingRows& timings, std::span<const double> weights,
                                     const Executor& executor)
    : courses_(timings.shape().courses), by_first_(static_cast<std::size_t>(courses_)) {
  const Id periods = timings.shape().periods;
  const Index values = periods + 1;
  const FirstEnrollments found = find_first_enrollments(timings, weights);
  RowMatrix single = RowMatrix::Zero(courses_, values);  // weight by first enrollment
  for (std::size_t row = 0; row < found.weights.size(); ++row) {
    for (std::int64_t at = found.begin[row]; at < found.begin[row + 1]; ++at) {
      const std::int32_t cell = found.cells[static_cast<std::size_t>(at)];
      single(cell / periods, cell % periods + 1) += found.weights[row];
    }
  }
  for (Id c = 0; c < courses_; ++c)
    single(c, 0) = found.total - single.row(c).tail(periods).sum();

  // Courses in parts whose counts with all others stay in the cache.
  const std::int32_t cells = courses_ * periods;
  const auto all = static_cast<std::size_t>(courses_);
  const std::size_t row_bytes = sizeof(double) * static_cast<std::size_t>(cells) * static_cast<std::size_t>(periods);
  const std::size_t in_part =
      std::max<std::size_t>(1, std::min(table_bytes / row_bytes, (all + fewest_parts - 1) / fewest_parts));
  const std::size_t parts = (all + in_part - 1) / in_part;
  const auto cells_in_part = static_cast<std::int32_t>(in_part) * periods;
  const std::vector<std::vector<RowPlace>> places = places_of_parts(found, parts, cells_in_part);
  const double sum = found.total + cell_students * static_cast<double>(values * values);
  executor.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t part) {
    const std::int32_t first_cell = static_cast<std::int32_t>(part) * cells_in_part,
                       last_cell = std::min(cells, first_cell + cells_in_part);
    RowMatrix together = RowMatrix::Zero(last_cell - first_cell, cells);
    for (const RowPlace& place : places[static_cast<std::size_t>(part)]) {
      const auto row = static_cast<std::size_t>(place.row);
      const std::int32_t *cell = found.cells.data() + found.begin[row] + place.place,
                         *end = found.cells.data() + found.begin[row + 1];
      const double weight = found.weights[row];
      for (; cell < end && *cell < last_cell; ++cell) {
        double* counts = together.row(*cell - first_cell).data();
        for (const std::int32_t* later = cell + 1; later < end; ++later)
          counts[*later] += weight;
      }
    }
    Vector table(values * values);
    for (Id i = first_cell / periods; i < last_cell / periods; ++i) {
      std::vector<double>& information = by_first_[static_cast<std::size_t>(i)];
      information.reserve(static_cast<std::size_t>(courses_ - i - 1));
      for (Id j = i + 1; j < courses_; ++j) {
        for (Id u = 1; u <= periods; ++u) {
          for (Id v = 1; v <= periods; ++v)
            table[u * values + v] = together(i * periods + u - 1 - first_cell, j * periods + v - 1);
        }
        for (Id v = 1; v <= periods; ++v) {
          double with_i = 0, with_j = 0;
          for (Id u = 1; u <= periods; ++u) {
            with_i += table[u * values + v];
            with_j += table[v * values + u];
          }
          table[v] = single(j, v) - with_i;           // i never
          table[v * values] = single(i, v) - with_j;  // j never
        }
        table[0] = found.total - table.tail(values * values - 1).sum();
        information.push_back(information_of(table.data(), values, sum));
      }
    }
  });
}

DependencyTree timing_tree(const TimingInformation& information, double noise, const RandomStream& stream) {
  const Id courses = information.course_count();
  std::vector<Id> members(static_cast<std::size_t>(courses));
  std::iota(members.begin(), members.end(), 0);
  if (!(noise > 0))
    return rooted_at_centre(
        maximum_spanning_tree(courses, members, [&](Id i, Id j) { return information.between(i, j); }));
  std::vector<std::vector<double>> noisy(static_cast<std::size_t>(courses));
  for (Id i = 0; i < courses; ++i) {
    RandomStream draws = stream.child("noise").child(static_cast<std::uint64_t>(i));
    for (Id j = i + 1; j < courses; ++j)
      noisy[static_cast<std::size_t>(i)].push_back(information.between(i, j) * std::exp(noise * draws.normal()));
  }
  return rooted_at_centre(maximum_spanning_tree(courses, members, [&](Id i, Id j) {
    return noisy[static_cast<std::size_t>(i)][static_cast<std::size_t>(j - i - 1)];
  }));
}

}  // namespace desirepath::inline emissions
