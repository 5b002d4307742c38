#include "desirepath/compute/statistics.h"

#include <cassert>

namespace desirepath::inline compute {

std::vector<std::span<double>> Statistics::numbers() {
  std::vector<std::span<double>> all;
  for (RowMatrix& table : tables_)
    all.emplace_back(table.data(), static_cast<std::size_t>(table.size()));
  return all;
}

void Statistics::merge(const Statistics& others) {
  assert(tables_.size() == others.tables_.size());
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    assert(tables_[i].rows() == others.tables_[i].rows() && tables_[i].cols() == others.tables_[i].cols());
    tables_[i] += others.tables_[i];
  }
}

}  // namespace desirepath::inline compute
