#include "desirepath/core/spreadsheet_csv.h"

#include "desirepath/core/text.h"

namespace desirepath::inline core {

SpreadsheetCsv::int_type SpreadsheetCsv::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  const char c = traits_type::to_char_type(character);
  if (c == '"') quoted_ = !quoted_;
  if (!quoted_ && (c == ',' || c == '\n')) {
    finish_cell();
    out_.put(c);
  } else {
    cell_ += c;
  }
  return out_.good() ? character : traits_type::eof();
}

void SpreadsheetCsv::finish_cell() {
  const std::size_t start = cell_.starts_with('"') ? 1 : 0;
  const bool is_formula =
      start < cell_.size() && std::string_view("=+-@\t\r").find(cell_[start]) != std::string_view::npos;
  if (is_formula && !number_in<double>(cell_)) cell_.insert(start, 1, '\'');
  out_ << cell_;
  cell_.clear();
}

}  // namespace desirepath::inline core
