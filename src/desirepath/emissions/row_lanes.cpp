#include "desirepath/emissions/row_lanes.h"

#include <algorithm>

namespace desirepath::inline emissions {

namespace {

/// A segment of more rows shares more of what is common to them, but fewer threads find work.
constexpr std::int64_t fewest_segment_rows = 1024, most_segment_rows = 4096, wanted_segments = 64;
/// Adding up a lane costs as much as some rows: few rows justify few of them.
constexpr std::int64_t few_lanes = 16, rows_of_few_lanes = 1024, rows_a_lane = 4096;
constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
/// What a segment costs beside its rows, in rows.
constexpr std::int64_t segment_cost = 32;

}  // namespace

std::span<const std::int64_t> rows_of(const TimingRows& timings, const PlannedRows& planned) {
  return std::span(timings.groups()[static_cast<std::size_t>(planned.group)].rows)
      .subspan(static_cast<std::size_t>(planned.rows.first), static_cast<std::size_t>(planned.rows.size()));
}

RowLanes::RowLanes(const TimingRows& timings) {
  for (const TimingRows::Group& group : timings.groups())
    row_count_ += std::ssize(group.rows);
  const std::int64_t most = std::clamp(row_count_ / wanted_segments, fewest_segment_rows, most_segment_rows);
  for (std::size_t g = 0; g < timings.groups().size(); ++g) {
    const std::int64_t rows = std::ssize(timings.groups()[g].rows);
    // Of equal size, as near to the most as they come.
    const std::int64_t count = rows == 0 ? 0 : std::max<std::int64_t>(1, (rows + most / 2) / most);
    for (std::int64_t i = 0; i < count; ++i)
      segments_.push_back({static_cast<std::int32_t>(g), {i * rows / count, (i + 1) * rows / count}});
  }
}

std::int64_t RowLanes::lane_count(std::int64_t numbers) const {
  const std::int64_t wanted = std::max(std::min(few_lanes, row_count_ / rows_of_few_lanes), row_count_ / rows_a_lane);
  const std::int64_t most = most_bytes / static_cast<std::int64_t>(sizeof(double)) / std::max<std::int64_t>(1, numbers);
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(2, most));
}

std::vector<std::size_t> RowLanes::lanes(std::int64_t lane_count) const {
  const std::int64_t all = row_count_ + segment_cost * std::ssize(segments_);
  std::int64_t before = 0;
  std::vector<std::size_t> begin = {0};
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    // A segment belongs to the lane that its middle falls into.
    const std::int64_t own = segments_[i].rows.size() + segment_cost,
                       lane = (2 * before + own) * lane_count / (2 * all);
    while (std::ssize(begin) <= lane)
      begin.push_back(i);
    before += own;
  }
  begin.resize(static_cast<std::size_t>(lane_count) + 1, segments_.size());
  return begin;
}

void add_up(std::vector<Vector*> sums, const Executor& executor) {
  constexpr std::int64_t part = 1 << 14;
  Vector& total = *sums.front();
  executor.for_blocks(total.size(), part, [&](Range range) {
    for (std::size_t lane = 1; lane < sums.size(); ++lane)
      total.segment(range.first, range.size()) += sums[lane]->segment(range.first, range.size());
  });
}

}  // namespace desirepath::inline emissions
