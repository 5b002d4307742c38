#include "desirepath/emissions/row_blocks.h"

#include <algorithm>
#include <utility>

#include "desirepath/emissions/pack_kernels.h"

namespace desirepath::inline emissions {

namespace {

/// target += the entries' rows, from place z on.
template <int packs>
void add_rows(const RowMatrix& rows, Index z, std::span<const std::uint16_t> entries, double* target) {
  // Two sums, so that additions do not wait for each other.
  Pack even[packs], odd[packs];
  for (int p = 0; p < packs; ++p) {
    even[p] = load(target + p * pack_width);
    odd[p] = broadcast(0);
  }
  std::size_t i = 0;
  for (; i + 2 <= entries.size(); i += 2) {
    const double *one = rows.data() + entries[i] * rows.cols() + z,
                 *two = rows.data() + entries[i + 1] * rows.cols() + z;
    for (int p = 0; p < packs; ++p) {
      even[p] += load(one + p * pack_width);
      odd[p] += load(two + p * pack_width);
    }
  }
  if (i < entries.size()) {
    const double* last = rows.data() + entries[i] * rows.cols() + z;
    for (int p = 0; p < packs; ++p)
      even[p] += load(last + p * pack_width);
  }
  for (int p = 0; p < packs; ++p)
    store(target + p * pack_width, even[p] + odd[p]);
}

}  // namespace

RowBlocks::RowBlocks(const StepRows& rows, const TimingRows& timings, const RowLanes& cut, const Executor& executor)
    : segments_(cut.segments().size()) {
  executor.for_each(std::ssize(segments_), [&](std::int64_t number) {
    const auto own = rows_of(timings, cut.segments()[static_cast<std::size_t>(number)]);
    std::vector<std::int32_t> place(static_cast<std::size_t>(rows.bit_count()));
    for (std::size_t first = 0; first < own.size(); first += rows_in_block)
      add_block(rows, own.subspan(first, std::min(rows_in_block, own.size() - first)), place,
                segments_[static_cast<std::size_t>(number)]);
  });
}

void RowBlocks::add_columns(std::size_t segment, std::size_t block, const RowMatrix& values, double* sums) const {
  const Segment& of = segments_[segment];
  const Index stride = values.cols();
  std::size_t entry = of.first_entry[block];
  for (std::size_t column = of.first_column[block]; column < of.first_column[block + 1]; ++column) {
    const std::span rows(of.entries.data() + entry, of.columns[column].entries);
    double* target = sums + of.columns[column].bit * stride;
    for (Index z = 0; z < stride; z += 2 * pack_width) {
      if (z + pack_width < stride)
        add_rows<2>(values, z, rows, target + z);
      else
        add_rows<1>(values, z, rows, target + z);
    }
    entry += rows.size();
  }
}

void RowBlocks::add_block(const StepRows& rows, std::span<const std::int64_t> block, std::vector<std::int32_t>& place,
                          Segment& segment) {
  const std::size_t first = segment.columns.size(), first_entry = segment.entries.size();
  std::vector<Id> bits;
  for (const std::int64_t row : block) {
    for (const Id bit : rows.taken(row)) {
      if (place[static_cast<std::size_t>(bit)]++ == 0) bits.push_back(bit);
    }
  }
  std::ranges::sort(bits);
  std::int32_t next = 0;
  for (const Id bit : bits) {
    std::int32_t& at = place[static_cast<std::size_t>(bit)];
    segment.columns.push_back({bit, static_cast<std::uint32_t>(at)});
    next += std::exchange(at, next);
  }
  segment.entries.resize(first_entry + static_cast<std::size_t>(next));
  for (std::size_t r = 0; r < block.size(); ++r) {
    for (const Id bit : rows.taken(block[r]))
      segment.entries[first_entry + static_cast<std::size_t>(place[static_cast<std::size_t>(bit)]++)] =
          static_cast<std::uint16_t>(r);
  }
  for (std::size_t column = first; column < segment.columns.size(); ++column)
    place[static_cast<std::size_t>(segment.columns[column].bit)] = 0;
  segment.first_column.push_back(segment.columns.size());
  segment.first_entry.push_back(segment.entries.size());
}

}  // namespace desirepath::inline emissions
