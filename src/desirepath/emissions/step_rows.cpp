#include "desirepath/emissions/step_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_map>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"

namespace desirepath::inline emissions {

void StepRows::build_columns() {
  column_begin_.assign(static_cast<std::size_t>(bit_count()) + 1, 0);
  for (const Id bit : taken_.columns())
    ++column_begin_[static_cast<std::size_t>(bit) + 1];
  std::partial_sum(column_begin_.begin(), column_begin_.end(), column_begin_.begin());
  columns_.resize(taken_.columns().size());
  std::vector<std::int64_t> next(column_begin_.begin(), column_begin_.end() - 1);
  for (std::int64_t row = 0; row < row_count(); ++row) {
    std::int32_t place = 0;
    for (const Id bit : taken(row)) {
      columns_[static_cast<std::size_t>(next[static_cast<std::size_t>(bit)]++)] = {static_cast<std::int32_t>(row),
                                                                                   place++};
    }
  }
}

std::span<const ColumnEntry> StepRows::column(Id bit, std::int64_t first, std::int64_t last) const {
  const auto all = column(bit);
  const auto begin = std::ranges::lower_bound(all, first, {}, &ColumnEntry::row);
  const auto end =
      last >= row_count() ? all.end() : std::ranges::lower_bound(begin, all.end(), last, {}, &ColumnEntry::row);
  return {begin, end};
}

class StepRowsCollector {
 public:
  StepRowsCollector(const EvidenceBatch& evidence, std::span<const PeriodRange> steps, std::span<const Trait> traits)
      : evidence_(evidence), steps_(steps), traits_(traits), bits_(course_bits() + trait_bits()), builder_(bits_) {
    pool_.rows.patterns_.push_back({});  // everything known
    pattern_numbers_.emplace("", 0);
  }

  RowPool collect() {
    const std::int64_t students = evidence_.student_count();
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      std::vector<std::int32_t>& row_of = pool_.row_of.emplace_back();
      row_of.reserve(static_cast<std::size_t>(students));
      for (std::int64_t student = 0; student < students; ++student)
        row_of.push_back(row_number(student, steps_[s]));
    }
    pool_.rows.taken_ = std::move(builder_).build();
    pool_.rows.pattern_ = std::move(patterns_);
    sort_by_pattern();
    pool_.rows.build_columns();
    index_occurrences(students);
    return std::move(pool_);
  }

 private:
  Id course_bits() const { return (steps_.front().last - steps_.front().first) * evidence_.course_count(); }
  Id trait_bits() const {
    Id bits = 0;
    for (const Trait& trait : traits_)
      bits += trait.value_count();
    return bits;
  }

  std::int32_t row_number(std::int64_t student, const PeriodRange& step) {
    const Id courses = evidence_.course_count();
    const Id offset = step.first * courses;
    taken_.clear();
    key_.clear();
    bool anything_known = false, anything_unknown = false;
    for (Id t = step.first; t < step.last; ++t) {
      const Presence knowledge = evidence_.presence(student, t);
      const auto taken = evidence_.taken(student, t);
      const auto exceptions = evidence_.exceptions(student, t);
      for (const Id bit : taken)
        taken_.push_back(bit - offset);
      const bool closed = knowledge == Presence::present;
      anything_known = anything_known || !taken.empty() ||
                       (closed ? static_cast<Id>(exceptions.size()) < courses : !exceptions.empty());
      anything_unknown = anything_unknown ||
                         (closed ? !exceptions.empty() : static_cast<Id>(taken.size() + exceptions.size()) < courses);
      append(key_, closed ? -1 : -2);
      for (const Id bit : exceptions)
        append(key_, bit - offset);
      if (!closed) {
        append(key_, -3);
        for (const Id bit : taken)
          append(key_, bit - offset);
      }
    }
    possible_.clear();
    Id first = course_bits();
    for (const Trait& trait : traits_) {
      possible_.push_back(evidence_.possible(student, trait));
      const bool is_known = std::has_single_bit(possible_.back());
      if (is_known) taken_.push_back(first + std::countr_zero(possible_.back()));
      anything_known = anything_known || possible_.back() != trait.all();
      anything_unknown = anything_unknown || !is_known;
      append(key_, is_known ? -4 : static_cast<Id>(possible_.back()));
      first += trait.value_count();
    }
    if (!anything_known) return -1;
    const Id pattern = anything_unknown ? pattern_number(student, step) : 0;
    // The row's own key: pattern and taken bits.
    key_.clear();
    append(key_, pattern);
    for (const Id bit : taken_)
      append(key_, bit);
    const auto [found, is_new] =
        rows_.emplace(digest_of(std::as_bytes(std::span(key_))), static_cast<std::int32_t>(rows_.size()));
    if (is_new) {
      if (rows_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw InputError("too many rows");
      for (const Id bit : taken_)
        builder_.add(bit);
      builder_.finish_row();
      patterns_.push_back(pattern);
    }
    return found->second;
  }

  Id pattern_number(std::int64_t student, const PeriodRange& step) {
    const auto [found, is_new] = pattern_numbers_.emplace(key_, static_cast<Id>(pattern_numbers_.size()));
    if (!is_new) return found->second;
    UnknownBits unknown;
    const Id courses = evidence_.course_count();
    const Id offset = step.first * courses;
    unknown.mask.assign(static_cast<std::size_t>(bits_), 0);
    for (Id t = step.first; t < step.last; ++t) {
      const bool closed = evidence_.presence(student, t) == Presence::present;
      const auto begin = unknown.mask.begin() + std::ptrdiff_t{t - step.first} * courses;
      if (!closed) std::fill(begin, begin + courses, std::uint8_t{1});
      for (const Id bit : evidence_.taken(student, t))
        unknown.mask[static_cast<std::size_t>(bit - offset)] = 0;
      for (const Id bit : evidence_.exceptions(student, t))
        unknown.mask[static_cast<std::size_t>(bit - offset)] = closed ? 1 : 0;
    }
    Id first = course_bits();
    for (std::size_t i = 0; i < traits_.size(); ++i) {
      const TraitValues possible = possible_[i];
      for (Id v = 0; v < traits_[i].value_count() && !std::has_single_bit(possible); ++v)
        unknown.mask[static_cast<std::size_t>(first + v)] = (possible >> v) & 1U;
      first += traits_[i].value_count();
    }
    for (Id bit = 0; bit < static_cast<Id>(unknown.mask.size()); ++bit) {
      if (unknown.contains(bit)) unknown.bits.push_back(bit);
    }
    pool_.rows.patterns_.push_back(std::move(unknown));
    return found->second;
  }

  void sort_by_pattern() {
    StepRows& rows = pool_.rows;
    std::vector<std::int64_t>& begin = rows.pattern_begin_;
    begin.assign(rows.patterns_.size() + 1, 0);
    for (const Id pattern : rows.pattern_)
      ++begin[static_cast<std::size_t>(pattern) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    if (std::ranges::is_sorted(rows.pattern_)) return;
    std::vector<std::int64_t> order(rows.pattern_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t row) { return rows.pattern_[static_cast<std::size_t>(row)]; });
    std::vector<std::int32_t> place(order.size());
    BinaryMatrixBuilder taken(rows.bit_count());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
      for (const Id bit : rows.taken(order[i]))
        taken.add(bit);
      taken.finish_row();
    }
    rows.taken_ = std::move(taken).build();
    std::ranges::sort(rows.pattern_);
    for (auto& row_of : pool_.row_of) {
      for (std::int32_t& row : row_of)
        row = row < 0 ? row : place[static_cast<std::size_t>(row)];
    }
  }

  void index_occurrences(std::int64_t students) {
    std::vector<std::int64_t>& begin = pool_.occurrence_begin;
    begin.assign(static_cast<std::size_t>(pool_.rows.row_count()) + 1, 0);
    for (const auto& row_of : pool_.row_of) {
      for (const std::int32_t row : row_of) {
        if (row >= 0) ++begin[static_cast<std::size_t>(row) + 1];
      }
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    pool_.occurrences.resize(static_cast<std::size_t>(begin.back()));
    std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t s = 0; s < pool_.row_of.size(); ++s) {
      for (std::int64_t student = 0; student < students; ++student) {
        const std::int32_t row = pool_.row_of[s][static_cast<std::size_t>(student)];
        if (row < 0) continue;
        pool_.occurrences[static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++)] =
            static_cast<std::int64_t>(s) * students + student;
      }
    }
  }

  static void append(std::string& key, Id number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); }

  struct DigestHash {
    std::size_t operator()(const Digest& digest) const { return digest.low; }
  };

  const EvidenceBatch& evidence_;
  std::span<const PeriodRange> steps_;
  std::span<const Trait> traits_;
  Id bits_;
  BinaryMatrixBuilder builder_;
  RowPool pool_;
  std::vector<Id> patterns_;
  std::unordered_map<std::string, Id> pattern_numbers_;
  std::unordered_map<Digest, std::int32_t, DigestHash> rows_;  // 128 bits: two rows never meet
  std::vector<Id> taken_;
  std::vector<TraitValues> possible_;  // of the student at hand, by trait
  std::string key_;
};

StepRows one_unknown_row(Id bits) {
  StepRows rows;
  rows.taken_ = BinaryMatrix({0, 0}, {}, bits);
  rows.pattern_ = {1};
  UnknownBits all;
  all.bits.resize(static_cast<std::size_t>(bits));
  std::iota(all.bits.begin(), all.bits.end(), 0);
  all.mask.assign(static_cast<std::size_t>(bits), 1);
  rows.patterns_ = {{}, std::move(all)};
  rows.pattern_begin_ = {0, 0, 1};
  rows.build_columns();
  return rows;
}

RowPool pool_rows(const EvidenceBatch& evidence, std::span<const PeriodRange> steps, std::span<const Trait> traits) {
  return StepRowsCollector(evidence, steps, traits).collect();
}

}  // namespace desirepath::inline emissions
