#include "desirepath/emissions/trait_pairs.h"

#include <algorithm>
#include <bit>

#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

constexpr double trait_cell_students = 0.1;  // added to each cell

}  // namespace

double information_in(const RowMatrix& together, double cell, double total) {
  const Matrix raised = together.array().max(0.0) + cell;
  const double sum = raised.sum();
  double found = 0;
  for (Index i = 0; i < raised.size(); ++i)
    found += x_log_x(raised.data()[i] / sum);
  for (Index r = 0; r < raised.rows(); ++r)
    found -= x_log_x(raised.row(r).sum() / sum);
  for (Index c = 0; c < raised.cols(); ++c)
    found -= x_log_x(raised.col(c).sum() / sum);
  return total > 0 ? std::max(0.0, found) * together.array().max(0.0).sum() / total : 0;
}

Index TraitPairs::observation(Id trait, TimingCode possible) const {
  const auto values = static_cast<std::uint32_t>(possible);
  if (std::has_single_bit(values)) return std::countr_zero(values);
  if (trait != shape_.departure) return -1;
  return shape_.periods + std::countr_zero(values);
}

Statistics TraitPairs::count(const TimingRows& timings, std::span<const double> weights) const {
  const Id courses = shape_.courses, periods = shape_.periods, traits = shape_.trait_count();
  Statistics sums;
  std::vector<RowMatrix>
      with_nodes;  // by trait: (course, first period) and never, then traits before it, by observation
  std::vector<Index> places = {Index{courses} * (periods + 1)};  // of the rows of each trait
  for (Id i = 0; i < traits; ++i)
    places.push_back(places.back() + observations(i));
  for (Id i = 0; i < traits; ++i)
    with_nodes.push_back(RowMatrix::Zero(places[static_cast<std::size_t>(i)], observations(i)));
  std::vector<Vector> totals;  // by trait and observation
  for (Id i = 0; i < traits; ++i)
    totals.push_back(Vector::Zero(observations(i)));
  std::vector<Index> seen(static_cast<std::size_t>(traits));
  for (std::size_t g = 0; g < timings.groups().size(); ++g) {
    for (const std::int64_t row : timings.groups()[g].rows) {
      const double weight = weights[static_cast<std::size_t>(row)];
      if (!(weight > 0)) continue;
      for (Id i = 0; i < traits; ++i)
        seen[static_cast<std::size_t>(i)] =
            observation(i, anything_possible(shape_.trait_values[static_cast<std::size_t>(i)]));
      const auto changes = timings.changes(row);
      for (std::size_t at = changes.size(); at-- > 0;) {
        const CourseTiming& known = timings.kinds()[static_cast<std::size_t>(changes[at])];
        if (known.course < courses) break;
        seen[static_cast<std::size_t>(known.course - courses)] = observation(known.course - courses, known.code);
      }
      for (Id i = 0; i < traits; ++i) {
        const Index value = seen[static_cast<std::size_t>(i)];
        if (value < 0) continue;
        totals[static_cast<std::size_t>(i)][value] += weight;
        RowMatrix& table = with_nodes[static_cast<std::size_t>(i)];
        for (const std::int32_t kind : changes) {
          const CourseTiming& known = timings.kinds()[static_cast<std::size_t>(kind)];
          if (known.course >= courses) break;
          const Id first = first_period(known.code);
          if (first >= 0) table(known.course * (periods + 1) + first + 1, value) += weight;
        }
        for (Id j = 0; j < i; ++j) {
          const Index other = seen[static_cast<std::size_t>(j)];
          if (other >= 0) table(places[static_cast<std::size_t>(j)] + other, value) += weight;
        }
      }
    }
  }
  for (Id i = 0; i < traits; ++i) {
    RowMatrix& table = with_nodes[static_cast<std::size_t>(i)];
    for (Index c = 0; c < courses; ++c) {
      const Index first = c * (periods + 1);
      table.row(first) =
          totals[static_cast<std::size_t>(i)].transpose() - table.middleRows(first + 1, periods).colwise().sum();
    }
    sums.add(std::move(table));
  }
  return sums;
}

double TraitPairs::information_of_departure(const RowMatrix& together, double total) const {
  // By first period, never first: with those who left in a period, and those seen in it who may have stayed on.
  const Id periods = shape_.periods;
  double sum = 0;
  for (Id t = 0; t + 1 < periods; ++t) {
    RowMatrix cut = RowMatrix::Zero(t + 2, 2);
    for (Index v = 0; v < together.rows(); ++v) {
      const Index place = v > t + 1 ? 0 : v;  // later than the period: not yet
      cut(place, 0) += together(v, t);
      for (Id later = t + 1; later < periods; ++later)
        cut(place, 1) += together(v, later) + together(v, periods + later);
    }
    sum += information_in(cut, trait_cell_students, total);
  }
  return sum;
}

RowMatrix TraitPairs::information(const Statistics& sums, double total) const {
  const Id courses = shape_.courses, periods = shape_.periods, traits = shape_.trait_count();
  RowMatrix result = RowMatrix::Zero(traits, courses + traits);
  for (Id i = 0; i < traits; ++i) {
    const RowMatrix& table = sums.table(static_cast<std::size_t>(i));
    for (Id c = 0; c < courses; ++c) {
      const RowMatrix together = table.middleRows(Index{c} * (periods + 1), periods + 1);
      result(i, c) = i == shape_.departure ? information_of_departure(together, total)
                                           : information_in(together, trait_cell_students, total);
    }
    Index place = Index{courses} * (periods + 1);
    for (Id j = 0; j < i; ++j) {
      RowMatrix together = table.middleRows(place, observations(j));
      place += observations(j);
      // Of those who may have stayed on it is not known when they left.
      if (i == shape_.departure) together = together.leftCols(periods).eval();
      if (j == shape_.departure) together = together.topRows(periods).eval();
      result(i, courses + j) = information_in(together, trait_cell_students, total);
    }
  }
  return result;
}

}  // namespace desirepath::inline emissions
