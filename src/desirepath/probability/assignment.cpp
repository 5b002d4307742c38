#include "desirepath/probability/assignment.h"

namespace desirepath::inline probability {

std::vector<Id> cheapest_assignment(const Matrix& cost) {
  // Kuhn-Munkres with potentials: rows are added one by one along cheapest augmenting paths. Index 0 is a sentinel.
  const auto size = static_cast<std::size_t>(cost.rows());
  std::vector<double> row_potential(size + 1, 0), column_potential(size + 1, 0);
  std::vector<std::size_t> row_of(size + 1, 0), before(size + 1, 0);
  for (std::size_t row = 1; row <= size; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<double> slack(size + 1, infinity);
    std::vector<bool> visited(size + 1, false);
    do {
      visited[column] = true;
      const std::size_t current = row_of[column];
      double least = infinity;
      std::size_t next = 0;
      for (std::size_t c = 1; c <= size; ++c) {
        if (visited[c]) continue;
        const double reduced = cost(static_cast<Index>(current - 1), static_cast<Index>(c - 1)) -
                               row_potential[current] - column_potential[c];
        if (reduced < slack[c]) {
          slack[c] = reduced;
          before[c] = column;
        }
        if (slack[c] < least) {
          least = slack[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= size; ++c) {
        if (visited[c]) {
          row_potential[row_of[c]] += least;
          column_potential[c] -= least;
        } else {
          slack[c] -= least;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    while (column != 0) {
      row_of[column] = row_of[before[column]];
      column = before[column];
    }
  }
  std::vector<Id> result(size);
  for (std::size_t c = 1; c <= size; ++c)
    result[row_of[c] - 1] = static_cast<Id>(c - 1);
  return result;
}

}  // namespace desirepath::inline probability
