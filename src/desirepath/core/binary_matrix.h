// A sparse 0/1 matrix: the columns of the ones, row by row (CSR without values).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline core {

/// Immutable; copies share the same memory.
class BinaryMatrix {
 public:
  BinaryMatrix() : BinaryMatrix({0}, {}, 0) {}
  /// Checks that row_begin climbs from 0 to columns.size() and every row is strictly ascending within column_count.
  BinaryMatrix(std::vector<std::int64_t> row_begin, std::vector<Id> columns, Id column_count);

  std::int64_t row_count() const { return static_cast<std::int64_t>(row_begin().size()) - 1; }
  Id column_count() const { return column_count_; }
  std::int64_t one_count() const { return static_cast<std::int64_t>(columns().size()); }

  std::span<const Id> row(std::int64_t r) const { return rows(r, r + 1); }
  /// The ones of rows [first, last), which lie side by side.
  std::span<const Id> rows(std::int64_t first, std::int64_t last) const {
    const auto begin = static_cast<std::size_t>(row_begin_[static_cast<std::size_t>(first)]);
    const auto end = static_cast<std::size_t>(row_begin_[static_cast<std::size_t>(last)]);
    return {columns_ + begin, end - begin};
  }

  std::span<const std::int64_t> row_begin() const { return lists_->row_begin; }
  std::span<const Id> columns() const { return lists_->columns; }
  /// What keeps row_begin() and columns() alive.
  std::shared_ptr<const void> owner() const { return lists_; }
  bool operator==(const BinaryMatrix& other) const {
    return column_count_ == other.column_count_ && *lists_ == *other.lists_;
  }

 private:
  struct Lists {
    Lists(std::vector<std::int64_t> begin, std::vector<Id> ones)
        : row_begin(std::move(begin)), columns(std::move(ones)) {}
    std::vector<std::int64_t> row_begin;  // row r is columns[row_begin[r] .. row_begin[r+1])
    std::vector<Id> columns;
    bool operator==(const Lists&) const = default;
  };
  std::shared_ptr<const Lists> lists_;
  const std::int64_t* row_begin_;  // of the lists
  const Id* columns_;
  Id column_count_ = 0;
};

/// Builds a BinaryMatrix a row at a time; ones of a row may come in any order and more than once.
class BinaryMatrixBuilder {
 public:
  explicit BinaryMatrixBuilder(Id column_count) : column_count_(column_count), row_begin_{0} {}
  void add(Id column) { columns_.push_back(column); }
  void finish_row();
  BinaryMatrix build() &&;

 private:
  Id column_count_;
  std::vector<std::int64_t> row_begin_;
  std::vector<Id> columns_;
};

}  // namespace desirepath::inline core
