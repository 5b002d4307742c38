// Rows of text cells, a batch at a time: what every input becomes before it is understood.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/ingest/rejects.h"

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

/// A stretch of a source's rows, read by one thread while others read others. Records count from 1 at its first.
class RowPiece {
 public:
  RowPiece() = default;
  virtual ~RowPiece() = default;
  RowPiece(const RowPiece&) = delete;
  RowPiece& operator=(const RowPiece&) = delete;
  /// False at the end, with an empty batch.
  virtual bool next(RowBatch& batch) = 0;
  /// When read to its end: the records it holds, and those of them that are no rows.
  virtual std::int64_t record_count() const = 0;
  virtual std::vector<Reject> take_rejects() { return {}; }
  /// Whether the end of the piece before it, now read, belongs to this one: it is then to be read again.
  virtual bool is_changed_by(const RowPiece& /*before*/) { return false; }
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const std::vector<std::string>& columns() const = 0;
  /// False at the end, with an empty batch.
  virtual bool next(RowBatch& batch) = 0;
  /// "CSV, comma, UTF-8": how it is read, for people.
  virtual std::string description() const = 0;
  /// How its columns were understood, where a reader should know.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Share read so far, 0 .. 1.
  virtual double fraction() const = 0;

  /// Whether the rows come in pieces, in the place of next().
  virtual bool begin_pieces() { return false; }
  /// The next stretch of rows, or null at the end; it may be read while the source goes on, and not outlive it.
  virtual std::unique_ptr<RowPiece> next_piece() { return nullptr; }
  /// Records before those of the first piece.
  virtual std::int64_t records_before_pieces() const { return 0; }
};

/// A table that is not in a file.
struct TableInMemory {
  std::string name;  // in messages, in the place of a file's
  std::unique_ptr<RowSource> rows;
  std::string course_list;  // the text of a course file; empty: none
};

}  // namespace desirepath::inline ingest
