// How the rows of a step are cut for passes that add something up: by sizes alone, so that threads change no bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/course_timings.h"

namespace desirepath::inline emissions {

/// Rows of one group of TimingRows that are worked on together.
struct PlannedRows {
  std::int32_t group = 0;
  Range rows;  // of the group
};

std::span<const std::int64_t> rows_of(const TimingRows& timings, const PlannedRows& planned);

class RowLanes {
 public:
  /// At least 1,024 rows a segment where the group has them, at most 4,096.
  explicit RowLanes(const TimingRows& timings);

  std::int64_t row_count() const { return row_count_; }
  const std::vector<PlannedRows>& segments() const { return segments_; }

  /// How many sums of so many numbers are kept side by side: as many as the rows justify, in 256 MB all together, but
  /// two in any case.
  std::int64_t lane_count(std::int64_t numbers) const;
  /// Which segments each lane takes: the first of each, and one past the last.
  std::vector<std::size_t> lanes(std::int64_t lane_count) const;

 private:
  std::vector<PlannedRows> segments_;
  std::int64_t row_count_ = 0;
};

/// Adds the sums of all lanes up in the first; several threads take parts of the numbers.
void add_up(std::vector<Vector*> sums, const Executor& executor);

}  // namespace desirepath::inline emissions
