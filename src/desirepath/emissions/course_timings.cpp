#include "desirepath/emissions/course_timings.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <numeric>

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
  assert(weights.size() == periods + 1 && periods <= static_cast<std::size_t>(most_timing_periods));
  std::array<TimingCode, most_timing_periods> known{};
  std::size_t first_taken = periods;
  for (std::size_t t = 0; t < periods; ++t, code /= 3) {
    known[t] = code % 3;
    if (known[t] == taken_bit && first_taken == periods) first_taken = t;
  }
  // From the last period back: whatever is known behind the first enrollment is a retake, or none.
  double behind = 1;
  for (std::size_t t = periods; t-- > 0;) {
    weights[t + 1] = t > first_taken || known[t] == not_taken ? 0 : behind;
    if (known[t] != unknown_bit) behind *= known[t] == taken_bit ? retake[t] : 1 - retake[t];
  }
  weights[0] = first_taken == periods ? 1 : 0;
}

void node_weights(const CourseTiming& known, Id courses, std::span<const double> retake, std::span<double> weights) {
  std::fill(weights.begin(), weights.end(), 0.0);
  if (known.course < courses) return timing_weights(known.code, retake, weights.first(retake.size() + 1));
  for (std::size_t v = 0; v < weights.size(); ++v)
    weights[v] = known.code >> v & 1;
}

Id widest_node(const StepShape& shape) {
  Id values = shape.periods + 1;
  for (const Id of_trait : shape.trait_values)
    values = std::max(values, of_trait);
  return values;
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
  for (Id i = 0; i < shape.trait_count(); ++i) {
    const Id values = shape.trait_values[static_cast<std::size_t>(i)];
    TimingCode possible = 0;
    for (Id v = 0; v < values; ++v)
      possible |= unknown.contains(shape.trait_bit(i) + v) ? TimingCode{1} << v : 0;
    if (possible != 0 && possible != anything_possible(values)) departing_.push_back({shape.courses + i, possible});
  }
}

namespace {

/// Numbers pairs of course and code in the order they are met.
class KindNumbers {
 public:
  std::int32_t number(const CourseTiming& kind) {
    if (2 * kinds_.size() >= places_.size()) grow();
    std::int32_t& place = places_[find(kind)];
    if (place < 0) {
      place = static_cast<std::int32_t>(kinds_.size());
      kinds_.push_back(kind);
    }
    return place;
  }
  const std::vector<CourseTiming>& kinds() const { return kinds_; }

 private:
  std::size_t find(const CourseTiming& kind) const {
    const std::size_t mask = places_.size() - 1;
    const auto key = static_cast<std::uint64_t>(kind.course) << 32 | static_cast<std::uint32_t>(kind.code);
    std::size_t at = (key * 0x9e3779b97f4a7c15ULL >> 32) & mask;
    while (places_[at] >= 0 && kinds_[static_cast<std::size_t>(places_[at])] != kind)
      at = (at + 1) & mask;
    return at;
  }
  void grow() {
    places_.assign(std::max<std::size_t>(1 << 12, 2 * places_.size()), -1);
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      places_[find(kinds_[k])] = static_cast<std::int32_t>(k);
  }

  std::vector<std::int32_t> places_;
  std::vector<CourseTiming> kinds_;
};

/// What rows of one pattern after the other change.
class RowChanges {
 public:
  RowChanges(const StepShape& shape, Retakes retakes)
      : shape_(shape),
        retakes_(retakes),
        code_(static_cast<std::size_t>(shape.courses + shape.trait_count())),
        changed_((code_.size() + 63) / 64) {}

  /// Calls take with each changed course, ascending. Returns the retakes read as none.
  template <class Take>
  Id visit(const TimingPattern& pattern, std::span<const Id> taken, const Take& take) {
    for (const CourseTiming& departing : pattern.departing())
      change(departing.course) = departing.code;
    Id dropped = 0, first = 0;
    TimingCode place = 1;
    const Id course_bits = shape_.course_bits();
    for (const Id bit : taken) {
      if (bit >= course_bits) {
        take_trait(bit);
        continue;
      }
      // Bits come in the order of periods.
      for (; bit >= first + shape_.courses; first += shape_.courses)
        place *= 3;
      const Id course = bit - first;
      const bool is_known = is_changed(course);
      TimingCode& code = change(course);
      if (!is_known) code = pattern.baseline();
      const bool drops = retakes_ == Retakes::never && taken_before(code, place);
      dropped += drops ? 1 : 0;
      code += ((drops ? not_taken : taken_bit) - code / place % 3) * place;
    }
    for (std::size_t word = 0; word < changed_.size(); ++word) {
      for (; changed_[word] != 0; changed_[word] &= changed_[word] - 1) {
        const auto course = static_cast<Id>(64 * word + static_cast<std::size_t>(std::countr_zero(changed_[word])));
        take(CourseTiming{course, code_[static_cast<std::size_t>(course)]});
      }
    }
    return dropped;
  }

 private:
  static bool taken_before(TimingCode code, TimingCode place) {
    for (TimingCode earlier = code % place; earlier > 0; earlier /= 3) {
      if (earlier % 3 == taken_bit) return true;
    }
    return false;
  }
  bool is_changed(Id course) const {
    return (changed_[static_cast<std::size_t>(course) / 64] >> (course % 64) & 1) != 0;
  }
  /// A trait whose value is known.
  void take_trait(Id bit) {
    Id trait = 0;
    while (bit >= shape_.trait_bit(trait + 1))
      ++trait;
    change(shape_.courses + trait) = TimingCode{1} << (bit - shape_.trait_bit(trait));
  }
  TimingCode& change(Id course) {
    changed_[static_cast<std::size_t>(course) / 64] |= std::uint64_t{1} << (course % 64);
    return code_[static_cast<std::size_t>(course)];
  }

  StepShape shape_;
  Retakes retakes_;
  std::vector<TimingCode> code_;
  std::vector<std::uint64_t> changed_;  // courses and traits, a bit each
};

}  // namespace

Id TimingPattern::changes(std::span<const Id> taken, std::vector<CourseTiming>& found) const {
  found.clear();
  return RowChanges(shape_, retakes_).visit(*this, taken, [&](const CourseTiming& change) { found.push_back(change); });
}

TimingRows::TimingRows(const StepRows& rows, const StepShape& shape, Retakes retakes) : shape_(shape) {
  std::vector<TimingPattern> patterns;
  std::map<TimingCode, std::size_t> groups;
  std::vector<std::size_t> group_of;  // by pattern
  for (Id p = 0; p < rows.pattern_count(); ++p) {
    patterns.emplace_back(rows.unknown(p), shape, retakes);
    const auto [entry, is_new] = groups.emplace(patterns.back().baseline(), groups_.size());
    if (is_new) groups_.push_back({patterns.back().baseline(), {}});
    group_of.push_back(entry->second);
  }
  KindNumbers numbers;
  for (const Group& group : groups_) {
    for (Id c = 0; c < shape.courses; ++c)
      baseline_kinds_.push_back(numbers.number({c, group.baseline}));
    for (Id i = 0; i < shape.trait_count(); ++i)
      baseline_kinds_.push_back(
          numbers.number({shape.courses + i, anything_possible(shape.trait_values[static_cast<std::size_t>(i)])}));
  }
  change_begin_.reserve(static_cast<std::size_t>(rows.row_count()) + 1);
  change_begin_.push_back(0);
  changes_.reserve(rows.all_taken().columns().size());
  RowChanges row_changes(shape, retakes);
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const auto pattern = static_cast<std::size_t>(rows.pattern_of(row));
    groups_[group_of[pattern]].rows.push_back(row);
    dropped_retakes_ += row_changes.visit(patterns[pattern], rows.taken(row), [&](const CourseTiming& change) {
      changes_.push_back(numbers.number(change));
    });
    change_begin_.push_back(std::ssize(changes_));
  }
  changes_.shrink_to_fit();
  // By course, then by code.
  std::vector<std::int32_t> order(numbers.kinds().size()), renumbered(order.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int32_t k) {
    const CourseTiming& kind = numbers.kinds()[static_cast<std::size_t>(k)];
    return std::pair(kind.course, kind.code);
  });
  for (const std::int32_t k : order) {
    renumbered[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(kinds_.size());
    kinds_.push_back(numbers.kinds()[static_cast<std::size_t>(k)]);
  }
  for (auto* list : {&changes_, &baseline_kinds_}) {
    for (std::int32_t& kind : *list)
      kind = renumbered[static_cast<std::size_t>(kind)];
  }
}

const TimingRows& timings_of(const StepRows& rows, const StepShape& shape, Retakes retakes) {
  const std::string key = retakes == Retakes::learned ? "timings" : "timings without retakes";
  return rows.kept<TimingRows>(key, [&] { return std::make_shared<const TimingRows>(rows, shape, retakes); });
}

}  // namespace desirepath::inline emissions
