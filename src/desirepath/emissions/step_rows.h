// The rows of a step as emissions see them: taken bits, and which bits are unknown.
//
// Equal rows are kept once. Bits are numbered within the step: 0 .. bit_count-1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "desirepath/core/binary_matrix.h"
#include "desirepath/core/kept_forms.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline emissions {

/// A set of unknown bits that some rows share.
struct UnknownBits {
  std::vector<Id> bits;            // ascending
  std::vector<std::uint8_t> mask;  // by bit, 1 = unknown; empty where nothing is
  bool contains(Id bit) const { return !mask.empty() && mask[static_cast<std::size_t>(bit)] != 0; }
};

/// A bit seen from its column: the row that takes it, and how many bits of that row come before it.
struct ColumnEntry {
  std::int32_t row;
  std::int32_t place;
};

class StepRows {
 public:
  Id bit_count() const { return taken_.column_count(); }
  std::int64_t row_count() const { return taken_.row_count(); }
  std::span<const Id> taken(std::int64_t row) const { return taken_.row(row); }
  const BinaryMatrix& all_taken() const { return taken_; }
  /// Pattern 0 knows everything.
  Id pattern_of(std::int64_t row) const { return pattern_.empty() ? 0 : pattern_[static_cast<std::size_t>(row)]; }
  const UnknownBits& unknown(Id pattern) const { return patterns_[static_cast<std::size_t>(pattern)]; }
  Id pattern_count() const { return static_cast<Id>(patterns_.size()); }
  bool all_known() const { return patterns_.size() == 1; }
  /// Rows of a pattern stand together: the first, and the one past the last.
  std::int64_t first_row(Id pattern) const { return pattern_begin_[static_cast<std::size_t>(pattern)]; }
  std::int64_t end_row(Id pattern) const { return pattern_begin_[static_cast<std::size_t>(pattern) + 1]; }

  /// Students' worth that each row stands for; set before training.
  std::span<const double> weights() const { return weights_; }
  void set_weights(std::vector<double> weights) { weights_ = std::move(weights); }

  /// The rows that take a bit, in order.
  std::span<const ColumnEntry> column(Id bit) const {
    const auto begin = static_cast<std::size_t>(column_begin_[static_cast<std::size_t>(bit)]);
    const auto end = static_cast<std::size_t>(column_begin_[static_cast<std::size_t>(bit) + 1]);
    return {columns_.data() + begin, end - begin};
  }
  /// Those among rows first .. last-1.
  std::span<const ColumnEntry> column(Id bit, std::int64_t first, std::int64_t last) const;

  /// Another form of the same rows that a family works on: made when first asked for, kept as long as the rows.
  template <class Form>
  const Form& kept(const std::string& key, const std::function<std::shared_ptr<const Form>()>& make) const {
    return forms_.get<Form>(key, make);
  }

 private:
  void build_columns();
  friend class StepRowsCollector;
  friend StepRows one_unknown_row(Id bits);
  BinaryMatrix taken_;
  std::vector<Id> pattern_;
  std::vector<UnknownBits> patterns_;
  std::vector<std::int64_t> pattern_begin_;
  std::vector<double> weights_;
  std::vector<std::int64_t> column_begin_;
  std::vector<ColumnEntry> columns_;
  KeptForms forms_;
};

/// Periods first .. last-1 make one step.
struct PeriodRange {
  Id first = 0;
  Id last = 0;
};

/// Steps that share one set of emissions: their rows together, and where each student's row is.
struct RowPool {
  StepRows rows;
  /// For each step of the pool: student -> row, -1 where nothing is known of the step.
  std::vector<std::vector<std::int32_t>> row_of;
  /// Row -> the students it stands for, as step * students + student, in order (CSR).
  std::vector<std::int64_t> occurrence_begin;
  std::vector<std::int64_t> occurrences;

  std::span<const std::int64_t> occurrences_of(std::int64_t row) const {
    const auto begin = static_cast<std::size_t>(occurrence_begin[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(occurrence_begin[static_cast<std::size_t>(row) + 1]);
    return {occurrences.data() + begin, end - begin};
  }
};

/// Whether sums of so many numbers are small enough that every block of rows keeps its own: then rows are read in
/// order, once; else each number is summed down its column.
constexpr bool fits_a_block(std::int64_t numbers) {
  return numbers <= 32'768;
}

/// A single row of which nothing is known.
StepRows one_unknown_row(Id bits);

/// All steps must have the same number of periods. traits: of a single step; the bits of what is known about them
/// follow those of the courses, one for each value. A value that is known is taken; values that are possible beside
/// others are unknown. Evidence that says nothing of traits leaves all but departure unknown.
RowPool pool_rows(const EvidenceBatch& evidence, std::span<const PeriodRange> steps,
                  std::span<const Trait> traits = {});

}  // namespace desirepath::inline emissions
