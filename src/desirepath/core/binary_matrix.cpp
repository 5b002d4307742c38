#include "desirepath/core/binary_matrix.h"

#include <algorithm>
#include <utility>

#include "desirepath/core/error.h"

namespace desirepath::inline core {

BinaryMatrix::BinaryMatrix(std::vector<std::int64_t> row_begin, std::vector<Id> columns, Id column_count)
    : lists_(std::make_shared<const Lists>(std::move(row_begin), std::move(columns))),
      row_begin_(lists_->row_begin.data()),
      columns_(lists_->columns.data()),
      column_count_(column_count) {
  const std::vector<std::int64_t>& begin = lists_->row_begin;
  const auto ones = static_cast<std::int64_t>(lists_->columns.size());
  if (begin.empty() || begin.front() != 0 || begin.back() != ones || column_count_ < 0) {
    throw InputError("sparse rows: row pointers do not span the entries");
  }
  for (std::size_t r = 0; r + 1 < begin.size(); ++r) {
    if (row_begin_[r] > row_begin_[r + 1] || row_begin_[r + 1] > ones) {
      throw InputError("sparse rows: row pointers do not climb");
    }
    Id last = -1;
    for (std::int64_t i = row_begin_[r]; i < row_begin_[r + 1]; ++i) {
      const Id column = columns_[static_cast<std::size_t>(i)];
      if (column <= last || column >= column_count_) throw InputError("sparse rows: columns out of order or range");
      last = column;
    }
  }
}

void BinaryMatrixBuilder::finish_row() {
  const auto begin = columns_.begin() + row_begin_.back();
  std::sort(begin, columns_.end());
  columns_.erase(std::unique(begin, columns_.end()), columns_.end());
  row_begin_.push_back(static_cast<std::int64_t>(columns_.size()));
}

BinaryMatrix BinaryMatrixBuilder::build() && {
  return BinaryMatrix(std::move(row_begin_), std::move(columns_), column_count_);
}

}  // namespace desirepath::inline core
