// Tables as answers declare them: each column once, with its name, what people call it, its type, unit and format. Rows
// are made one by one when a rendering asks for them. Aligned text, CSV, JSON and the tables of a page are renderings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace desirepath::inline core {

/// What programs know by one name and people by another.
struct Named {
  std::string name, title;
  bool operator==(const Named&) const = default;
};

/// A list or an object, which JSON alone shows.
using Nested = std::shared_ptr<const nlohmann::ordered_json>;
/// Empty, text, whole number, real number, flag ...
using Cell = std::variant<std::monostate, std::string, std::int64_t, double, bool, Named, Nested>;

template <class Value>
Cell cell_of(Value&& value) {
  using Plain = std::remove_cvref_t<Value>;
  if constexpr (requires { value.has_value(); }) {
    return value ? cell_of(*std::forward<Value>(value)) : Cell();
  } else if constexpr (std::is_same_v<Plain, nlohmann::ordered_json>) {
    return std::make_shared<const Plain>(std::forward<Value>(value));
  } else if constexpr (std::is_integral_v<Plain> && !std::is_same_v<Plain, bool>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::is_convertible_v<const Plain&, std::string_view> && !std::is_same_v<Plain, std::string>) {
    return std::string(std::string_view(value));
  } else {
    return std::forward<Value>(value);
  }
}

/// A value, or an empty cell.
template <class Value>
std::optional<Value> value_if(bool is_there, const Value& value) {
  return is_there ? std::optional(value) : std::nullopt;
}

enum class ColumnType : std::uint8_t { text, whole, number, share, flag, nested };

/// Of a column whose cells are made of such values.
template <class Value>
constexpr ColumnType type_of_cells() {
  if constexpr (requires(Value value) { value.has_value(); }) {
    return type_of_cells<typename Value::value_type>();
  } else {
    return std::is_same_v<Value, bool>                     ? ColumnType::flag
           : std::is_integral_v<Value>                     ? ColumnType::whole
           : std::is_floating_point_v<Value>               ? ColumnType::number
           : std::is_same_v<Value, nlohmann::ordered_json> ? ColumnType::nested
                                                           : ColumnType::text;
  }
}

/// What programs read where a column is a flag; people read yes or no.
enum class FlagForm : std::uint8_t { boolean, word, digit };

/// Whether people read a share as a percentage: a whole one, or one with a decimal where it is small.
enum class Percent : std::uint8_t { no, whole, fitting };

enum class Rendering : std::uint8_t { json = 1, csv = 2, text = 4 };
/// Which renderings show a column, unless they pick their columns by name.
enum class Shown : std::uint8_t {
  if_picked = 0,
  in_json = 1,
  in_csv = 2,
  to_programs = 3,
  to_people = 4,
  everywhere = 7
};

/// What there is to say of a column beside its name and its cells.
struct Look {
  std::optional<std::string> title = std::nullopt;  // for people; none: the name
  std::string unit = {};                            // "students", "periods"
  int decimals = 3;                                 // for people; programs get all digits
  Percent percent = Percent::no;
  Shown shown = Shown::everywhere;
  bool is_there = true;   // else it is declared, but this answer does without it
  bool may_lack = false;  // JSON has no key where the cell is empty
  FlagForm flag = FlagForm::boolean;
  std::optional<ColumnType> type = std::nullopt;  // none: that of the cells
};
/// Of a share or a probability that people read as a decimal number.
Look share(int decimals, Look look = {});

/// A column of rows of one type. Its cells are a member of the row, or what a function makes of it.
template <class Row>
struct ColumnOf {
  template <class Get>
  ColumnOf(std::string its_name, Get get, Look its_look = {})
      : name(std::move(its_name)),
        look(std::move(its_look)),
        cell([get](const Row& row) { return cell_of(std::invoke(get, row)); }) {
    using Value = std::remove_cvref_t<std::invoke_result_t<const Get&, const Row&>>;
    if (!look.type) look.type = look.percent == Percent::no ? type_of_cells<Value>() : ColumnType::share;
  }

  std::string name;
  Look look;
  std::function<Cell(const Row&)> cell;
};

/// Rows that are numbers alone: their columns look into what they share.
struct RowNumbers {
  std::size_t count = 0;

  std::size_t size() const { return count; }
  std::size_t operator[](std::size_t row) const { return row; }
};

/// A column as a rendering sees it.
struct Column {
  std::string name;
  Look look;
  std::function<Cell(std::size_t row)> cell;

  const std::string& title() const { return look.title ? *look.title : name; }
};

/// A column by its name, and what it is called here.
struct Pick {
  Pick(const char* its_name) : name(its_name) {}
  Pick(std::string_view its_name, std::string_view its_title) : name(its_name), title(its_title) {}

  std::string name;
  std::optional<std::string> title;
};

/// Tables share their rows, which never change: to copy one, or to pick columns of it, costs little.
class Table {
 public:
  Table() = default;
  /// Rows: a vector, or whatever has size() and makes row i by [i].
  template <class Rows, class Row = std::remove_cvref_t<decltype(std::declval<const Rows&>()[0])>>
  Table(Rows rows, std::type_identity_t<std::vector<ColumnOf<Row>>> columns) : row_count_(rows.size()) {
    const auto shared = std::make_shared<const Rows>(std::move(rows));
    for (ColumnOf<Row>& column : columns) {
      const auto cell = std::make_shared<const std::function<Cell(const Row&)>>(std::move(column.cell));
      columns_.push_back({std::move(column.name), std::move(column.look),
                          [shared, cell](std::size_t row) { return (*cell)((*shared)[row]); }});
    }
  }

  std::size_t row_count() const { return row_count_; }
  const std::vector<Column>& columns() const { return columns_; }
  /// All of them: of a small table.
  std::vector<std::vector<Cell>> rows() const;

  /// These columns in this order, shown by every rendering. Throws Error for one that was never declared.
  Table pick(const std::vector<Pick>& wanted) const;
  Table first(std::size_t most) const;
  /// The columns that a rendering shows.
  Table shown(Rendering rendering) const;

  void print_text(std::ostream& out, std::string_view indent = "") const;
  void print_csv(std::ostream& out) const;
  /// An object for each row, keys in column order.
  void stream_json(const std::function<void(const nlohmann::ordered_json& row)>& sink) const;
  /// An array of them.
  nlohmann::ordered_json to_json() const;

 private:
  std::vector<Column> columns_;
  std::size_t row_count_ = 0;
};

/// Whether it is set as numbers are; a percentage is set like words.
bool is_set_as_number(const Cell& cell, const Look& look);
/// As people read it; `nothing` where it is empty, or no finite number.
std::string cell_text(const Cell& cell, const Look& look, std::string_view nothing = "-");
/// Quoted where CSV needs it.
std::string csv_field(std::string_view text);
/// Columns a text takes on a terminal (code points; wide ones count once).
std::size_t display_width(std::string_view text);

}  // namespace desirepath::inline core
