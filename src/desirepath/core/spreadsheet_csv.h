// CSV that a spreadsheet can open: no cell is a formula.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace desirepath::inline core {

/// Passes CSV on, with an apostrophe before the text of every cell that begins as a formula does (= + - @, tab,
/// carriage return) and is no number.
class SpreadsheetCsv : public std::streambuf {
 public:
  explicit SpreadsheetCsv(std::ostream& out) : out_(out) {}
  SpreadsheetCsv(const SpreadsheetCsv&) = delete;
  SpreadsheetCsv& operator=(const SpreadsheetCsv&) = delete;
  SpreadsheetCsv(SpreadsheetCsv&&) = delete;
  SpreadsheetCsv& operator=(SpreadsheetCsv&&) = delete;
  ~SpreadsheetCsv() override { finish_cell(); }

 protected:
  int_type overflow(int_type character) override;

 private:
  void finish_cell();

  std::ostream& out_;
  std::string cell_;
  bool quoted_ = false;
};

}  // namespace desirepath::inline core
