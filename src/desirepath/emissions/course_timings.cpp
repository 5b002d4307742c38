#include "desirepath/emissions/course_timings.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace desirepath::inline emissions {

namespace {

constexpr TimingCode not_taken = 0, taken_bit = 1, unknown_bit = 2;

TimingCode place_of(Id period) {
  TimingCode place = 1;
  for (Id t = 0; t < period; ++t)
    place *= 3;
  return place;
}

}  // namespace

void timing_weights(TimingCode code, std::span<const double> retake, std::span<double> weights) {
  const std::size_t periods = retake.size();
  assert(weights.size() == periods + 1);
  std::fill(weights.begin(), weights.end(), 1.0);
  for (std::size_t t = 0; t < periods; ++t, code /= 3) {
    const TimingCode digit = code % 3;
    if (digit == unknown_bit) continue;
    const bool taken = digit == taken_bit;
    // First taken later or never: not yet here. First taken here: taken. Before: a retake, or none.
    if (taken) weights[0] = 0;
    for (std::size_t v = 1; v <= periods; ++v) {
      if (v < t + 1)
        weights[v] *= taken ? retake[t] : 1 - retake[t];
      else if (taken != (v == t + 1))
        weights[v] = 0;
    }
  }
}

TimingPattern::TimingPattern(const UnknownBits& unknown, const StepShape& shape, Retakes retakes)
    : shape_(shape), retakes_(retakes) {
  assert(shape.periods <= most_timing_periods);
  std::vector<bool> period_unknown;
  for (Id t = 0; t < shape.periods; ++t) {
    Id count = 0;
    for (Id c = 0; c < shape.courses; ++c)
      count += unknown.contains(t * shape.courses + c) ? 1 : 0;
    period_unknown.push_back(2 * count > shape.courses);
    if (period_unknown.back()) baseline_ += unknown_bit * place_of(t);
  }
  if (unknown.bits.empty()) return;
  for (Id c = 0; c < shape.courses; ++c) {
    TimingCode code = 0;
    for (Id t = 0; t < shape.periods; ++t)
      code += (unknown.contains(t * shape.courses + c) ? unknown_bit : not_taken) * place_of(t);
    if (code != baseline_) departing_.push_back({c, code});
  }
}

Id TimingPattern::changes(std::span<const Id> taken, std::vector<CourseTiming>& found) const {
  found.assign(departing_.begin(), departing_.end());
  Id dropped = 0;
  for (const Id bit : taken) {
    const Id course = bit % shape_.courses;
    auto entry = std::ranges::lower_bound(found, course, {}, &CourseTiming::course);
    if (entry == found.end() || entry->course != course) entry = found.insert(entry, {course, baseline_});
    const TimingCode place = place_of(bit / shape_.courses), digit = entry->code / place % 3;
    // Bits come in the order of periods: an earlier one of the course is in the code already.
    bool again = false;
    for (TimingCode earlier = entry->code % place; earlier > 0; earlier /= 3)
      again = again || earlier % 3 == taken_bit;
    const bool drops = again && retakes_ == Retakes::never;
    dropped += drops ? 1 : 0;
    entry->code += ((drops ? not_taken : taken_bit) - digit) * place;
  }
  return dropped;
}

TimingRows::TimingRows(const StepRows& rows, const StepShape& shape, Retakes retakes) : shape_(shape) {
  std::vector<TimingPattern> patterns;
  std::vector<std::size_t> group_of;  // by pattern
  std::map<TimingCode, std::size_t> groups;
  for (Id p = 0; p < rows.pattern_count(); ++p) {
    patterns.emplace_back(rows.unknown(p), shape, retakes);
    const auto [entry, is_new] = groups.emplace(patterns.back().baseline(), groups_.size());
    if (is_new) groups_.push_back({patterns.back().baseline(), {}});
    group_of.push_back(entry->second);
  }
  // The codes of each course in the order they are met, then by size.
  std::vector<std::vector<TimingCode>> codes(static_cast<std::size_t>(shape.courses));
  for (std::vector<TimingCode>& of_course : codes) {
    for (const Group& group : groups_)
      of_course.push_back(group.baseline);
  }
  change_begin_ = {0};
  std::vector<CourseTiming> found;
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const auto pattern = static_cast<std::size_t>(rows.pattern_of(row));
    groups_[group_of[pattern]].rows.push_back(row);
    dropped_retakes_ += patterns[pattern].changes(rows.taken(row), found);
    for (const CourseTiming& change : found) {
      std::vector<TimingCode>& known = codes[static_cast<std::size_t>(change.course)];
      if (std::ranges::find(known, change.code) == known.end()) known.push_back(change.code);
      changes_.push_back({change.course, change.code});  // the code, until kinds have their numbers
    }
    change_begin_.push_back(static_cast<std::int64_t>(changes_.size()));
  }
  std::vector<std::int32_t> first;  // kind of each course
  for (Id c = 0; c < shape.courses; ++c) {
    first.push_back(static_cast<std::int32_t>(kinds_.size()));
    std::ranges::sort(codes[static_cast<std::size_t>(c)]);
    for (const TimingCode code : codes[static_cast<std::size_t>(c)])
      kinds_.push_back({c, code});
  }
  const auto kind_of = [&](Id course, TimingCode code) {
    const std::vector<TimingCode>& known = codes[static_cast<std::size_t>(course)];
    return first[static_cast<std::size_t>(course)] +
           static_cast<std::int32_t>(std::ranges::lower_bound(known, code) - known.begin());
  };
  for (Change& change : changes_)
    change.kind = kind_of(change.course, change.kind);
  for (const Group& group : groups_) {
    for (Id c = 0; c < shape.courses; ++c)
      baseline_kinds_.push_back(kind_of(c, group.baseline));
  }
}

const TimingRows& timings_of(const StepRows& rows, const StepShape& shape, Retakes retakes) {
  const std::string key = retakes == Retakes::learned ? "timings" : "timings without retakes";
  return rows.kept<TimingRows>(key, [&] { return std::make_shared<const TimingRows>(rows, shape, retakes); });
}

}  // namespace desirepath::inline emissions
