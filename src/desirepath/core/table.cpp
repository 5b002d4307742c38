#include "desirepath/core/table.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

std::string text_of(const Cell& cell, int decimals) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return with_separators(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return std::isfinite(*real) ? fixed(*real, decimals) : "-";
  return "-";
}

}  // namespace

void Table::add_row(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) throw Error("table: a row of another width");
  rows_.push_back(std::move(cells));
}

void Table::print_text(std::ostream& out, std::string_view indent) const {
  const std::size_t width = columns_.size();
  std::vector<std::vector<std::string>> texts;
  std::vector<std::size_t> widths(width);
  std::vector<bool> left(width, true);
  for (std::size_t c = 0; c < width; ++c)
    widths[c] = display_width(columns_[c].name);
  for (const auto& row : rows_) {
    std::vector<std::string> line;
    for (std::size_t c = 0; c < width; ++c) {
      line.push_back(text_of(row[c], columns_[c].decimals));
      widths[c] = std::max(widths[c], display_width(line.back()));
      if (std::holds_alternative<std::int64_t>(row[c]) || std::holds_alternative<double>(row[c])) left[c] = false;
    }
    texts.push_back(std::move(line));
  }
  const auto print = [&](const std::vector<std::string>& line) {
    std::string text(indent);
    for (std::size_t c = 0; c < width; ++c) {
      const std::string padding(widths[c] - display_width(line[c]), ' ');
      text += left[c] ? line[c] + padding : padding + line[c];
      if (c + 1 < width) text += "  ";
    }
    while (!text.empty() && text.back() == ' ')
      text.pop_back();
    out << text << '\n';
  };
  std::vector<std::string> names, rules;
  for (std::size_t c = 0; c < width; ++c) {
    names.push_back(columns_[c].name);
    rules.emplace_back(widths[c], '-');
  }
  print(names);
  print(rules);
  for (const auto& line : texts)
    print(line);
}

void Table::print_csv(std::ostream& out) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    out << (c > 0 ? "," : "") << csv_field(columns_[c].name);
  out << '\n';
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out << ',';
      if (const auto* text = std::get_if<std::string>(&row[c])) out << csv_field(*text);
      if (const auto* whole = std::get_if<std::int64_t>(&row[c])) out << *whole;
      if (const auto* real = std::get_if<double>(&row[c]); real && std::isfinite(*real)) out << shortest(*real);
    }
    out << '\n';
  }
}

nlohmann::ordered_json Table::to_json() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object;
    for (std::size_t c = 0; c < row.size(); ++c) {
      nlohmann::ordered_json& value = object[columns_[c].name];
      if (const auto* text = std::get_if<std::string>(&row[c])) value = *text;
      if (const auto* whole = std::get_if<std::int64_t>(&row[c])) value = *whole;
      if (const auto* real = std::get_if<double>(&row[c]); real && std::isfinite(*real)) value = *real;
    }
    array.push_back(std::move(object));
  }
  return array;
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
