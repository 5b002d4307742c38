#include "desirepath/core/table.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

/// As programs read it: by its name, a flag in its form.
Cell program_cell(Cell cell, FlagForm form) {
  if (const auto* named = std::get_if<Named>(&cell)) return named->name;
  const auto* flag = std::get_if<bool>(&cell);
  if (flag == nullptr || form == FlagForm::boolean) return cell;
  return form == FlagForm::digit ? cell_of(*flag ? 1 : 0) : cell_of(*flag ? "yes" : "no");
}

}  // namespace

Look share(int decimals, Look look) {
  look.decimals = decimals;
  look.type = ColumnType::share;
  return look;
}

std::vector<std::vector<Cell>> Table::rows() const {
  std::vector<std::vector<Cell>> all(row_count_);
  for (std::size_t row = 0; row < row_count_; ++row) {
    for (const Column& column : columns_)
      all[row].push_back(column.cell(row));
  }
  return all;
}

Table Table::pick(const std::vector<Pick>& wanted) const {
  Table picked;
  picked.row_count_ = row_count_;
  for (const Pick& pick : wanted) {
    const auto found = std::ranges::find(columns_, pick.name, &Column::name);
    if (found == columns_.end()) throw Error(concat("a table without a column '", pick.name, "'"));
    Column& column = picked.columns_.emplace_back(*found);
    column.look.shown = Shown::everywhere;
    if (pick.title) column.look.title = pick.title;
  }
  return picked;
}

Table Table::first(std::size_t most) const {
  Table begin = *this;
  begin.row_count_ = std::min(most, row_count_);
  return begin;
}

Table Table::shown(Rendering rendering) const {
  Table seen = *this;
  std::erase_if(seen.columns_, [&](const Column& column) {
    const bool can_show = rendering == Rendering::json || column.look.type != ColumnType::nested;
    const int shows = static_cast<int>(column.look.shown) & static_cast<int>(rendering);
    return !column.look.is_there || !can_show || shows == 0;
  });
  return seen;
}

void Table::print_text(std::ostream& out, std::string_view indent) const {
  const Table seen = shown(Rendering::text);
  const std::size_t width = seen.columns_.size();
  std::vector<std::vector<std::string>> lines(2);
  std::vector<std::size_t> widths;
  std::vector<bool> left(width, true);
  for (const Column& column : seen.columns_) {
    lines[0].push_back(column.title());
    widths.push_back(display_width(column.title()));
  }
  for (std::size_t row = 0; row < row_count_; ++row) {
    std::vector<std::string>& line = lines.emplace_back();
    for (std::size_t c = 0; c < width; ++c) {
      const Cell cell = seen.columns_[c].cell(row);
      line.push_back(cell_text(cell, seen.columns_[c].look));
      widths[c] = std::max(widths[c], display_width(line.back()));
      if (is_set_as_number(cell, seen.columns_[c].look)) left[c] = false;
    }
  }
  for (const std::size_t column : widths)
    lines[1].emplace_back(column, '-');
  for (const std::vector<std::string>& line : lines) {
    std::string text(indent);
    for (std::size_t c = 0; c < width; ++c) {
      const std::string padding(widths[c] - display_width(line[c]), ' ');
      text += left[c] ? line[c] + padding : padding + line[c];
      if (c + 1 < width) text += "  ";
    }
    while (!text.empty() && text.back() == ' ')
      text.pop_back();
    out << text << '\n';
  }
}

void Table::print_csv(std::ostream& out) const {
  const Table seen = shown(Rendering::csv);
  std::string line;
  for (const Column& column : seen.columns_)
    line += concat(&column == &seen.columns_.front() ? "" : ",", csv_field(column.name));
  out << line << '\n';
  for (std::size_t row = 0; row < row_count_; ++row) {
    line.clear();
    for (const Column& column : seen.columns_) {
      const Cell cell = program_cell(column.cell(row), column.look.flag);
      if (&column != &seen.columns_.front()) line += ',';
      if (const auto* text = std::get_if<std::string>(&cell)) line += csv_field(*text);
      if (const auto* whole = std::get_if<std::int64_t>(&cell)) line += std::to_string(*whole);
      if (const auto* real = std::get_if<double>(&cell); real && std::isfinite(*real)) line += shortest(*real);
      if (const auto* flag = std::get_if<bool>(&cell)) line += *flag ? "true" : "false";
    }
    out << line << '\n';
  }
}

void Table::stream_json(const std::function<void(const nlohmann::ordered_json&)>& sink) const {
  const Table seen = shown(Rendering::json);
  for (std::size_t row = 0; row < row_count_; ++row) {
    auto object = nlohmann::ordered_json::object();
    for (const Column& column : seen.columns_) {
      const Cell cell = program_cell(column.cell(row), column.look.flag);
      nlohmann::ordered_json value;
      if (const auto* text = std::get_if<std::string>(&cell)) value = *text;
      if (const auto* whole = std::get_if<std::int64_t>(&cell)) value = *whole;
      if (const auto* real = std::get_if<double>(&cell); real && std::isfinite(*real)) value = *real;
      if (const auto* flag = std::get_if<bool>(&cell)) value = *flag;
      if (const auto* nested = std::get_if<Nested>(&cell)) value = **nested;
      const bool lacks = column.look.may_lack && std::holds_alternative<std::monostate>(cell);
      if (!lacks) object[column.name] = std::move(value);
    }
    sink(object);
  }
}

nlohmann::ordered_json Table::to_json() const {
  auto array = nlohmann::ordered_json::array();
  stream_json([&](const nlohmann::ordered_json& row) { array.push_back(row); });
  return array;
}

bool is_set_as_number(const Cell& cell, const Look& look) {
  return std::holds_alternative<std::int64_t>(cell) ||
         (std::holds_alternative<double>(cell) && look.percent == Percent::no);
}

std::string cell_text(const Cell& cell, const Look& look, std::string_view nothing) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* named = std::get_if<Named>(&cell)) return named->title;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return with_separators(*whole);
  if (const auto* is_so = std::get_if<bool>(&cell)) return *is_so ? "yes" : "no";
  const auto* real = std::get_if<double>(&cell);
  if (real == nullptr || !std::isfinite(*real)) return std::string(nothing);
  if (look.percent == Percent::fitting) return percent(*real);
  return look.percent == Percent::whole ? concat(fixed(100 * *real, 0), " %") : fixed(*real, look.decimals);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos && trimmed(text) == text) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace desirepath::inline core
