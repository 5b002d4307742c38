// Tables of benchmarks: rows are lists of cells.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "desirepath/core/table.h"

namespace desirepath {

struct Heading {
  std::string title;
  int decimals = 3;
};
using CellRow = std::vector<Cell>;

inline Table table_of(const std::vector<Heading>& headings, std::vector<CellRow> rows) {
  std::vector<ColumnOf<CellRow>> columns;
  for (std::size_t i = 0; i < headings.size(); ++i) {
    Look look;
    look.decimals = headings[i].decimals;
    columns.emplace_back(
        headings[i].title, [i](const CellRow& row) { return row[i]; }, std::move(look));
  }
  return {std::move(rows), std::move(columns)};
}

}  // namespace desirepath
