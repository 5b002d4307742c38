// Rows of text cells, a batch at a time: what every input becomes before it is understood.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline ingest {

/// Cells are valid until the next batch is asked for. An empty cell is a missing one.
struct RowBatch {
  std::size_t column_count = 0;
  std::vector<std::string_view> cells;  // rows by columns
  std::vector<std::int64_t> records;    // record number of each row in its file

  std::size_t row_count() const { return records.size(); }
  std::string_view cell(std::size_t row, std::size_t column) const { return cells[row * column_count + column]; }
  void clear() {
    cells.clear();
    records.clear();
  }
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const std::vector<std::string>& columns() const = 0;
  /// False at the end, with an empty batch.
  virtual bool next(RowBatch& batch) = 0;
  /// "CSV, comma, UTF-8": how it is read, for people.
  virtual std::string description() const = 0;
  /// Share read so far, 0 .. 1.
  virtual double fraction() const = 0;
};

}  // namespace desirepath::inline ingest
