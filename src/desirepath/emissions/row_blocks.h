// Rows in blocks, each by the bits that its rows take, so that sums down a column stay in registers.
#pragma once

#include <cstdint>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/row_lanes.h"

namespace desirepath::inline emissions {

/// A segment of the rows (RowLanes) has its blocks in order.
class RowBlocks {
 public:
  static constexpr std::size_t rows_in_block = 1024;

  RowBlocks(const StepRows& rows, const TimingRows& timings, const RowLanes& cut, const Executor& executor);
  /// Adds the rows of a block of values to those of the bits that each takes; both are as wide as `values`.
  void add_columns(std::size_t segment, std::size_t block, const RowMatrix& values, double* sums) const;

 private:
  struct Column {
    Id bit;
    std::uint32_t entries;
  };
  struct Segment {
    std::vector<std::size_t> first_column = {0}, first_entry = {0};  // by block, and past the last
    std::vector<Column> columns;
    std::vector<std::uint16_t> entries;  // rows of the block
  };
  static void add_block(const StepRows& rows, std::span<const std::int64_t> block, std::vector<std::int32_t>& place,
                        Segment& segment);

  std::vector<Segment> segments_;
};

}  // namespace desirepath::inline emissions
