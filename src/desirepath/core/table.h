// A small table that knows how to be read: aligned text for people, CSV and JSON for programs.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace desirepath::inline core {

/// Empty, text, whole number or real number.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double>;

struct TableColumn {
  std::string name;
  /// Decimals of real numbers in the text form; CSV and JSON always carry all digits.
  int decimals = 3;
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}
  void add_row(std::vector<Cell> cells);
  std::size_t row_count() const { return rows_.size(); }
  const std::vector<TableColumn>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  void print_text(std::ostream& out, std::string_view indent = "") const;
  void print_csv(std::ostream& out) const;
  /// An array of objects, keys in column order.
  nlohmann::ordered_json to_json() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Quoted where CSV needs it.
std::string csv_field(std::string_view text);
/// Columns a text takes on a terminal (code points; wide ones count once).
std::size_t display_width(std::string_view text);

}  // namespace desirepath::inline core
