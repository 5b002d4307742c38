#include "desirepath/simulation/synthetic_cohort.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desirepath/core/text.h"
#include "desirepath/simulation/synthetic_rows.h"

namespace desirepath::inline simulation {

namespace {

/// The rows of some students. No cell of theirs holds a comma, a quote or the end of a line.
class StudentRows : public RowPiece {
 public:
  StudentRows(const EnrollmentRows& rows, Range numbers, std::size_t columns)
      : rows_(rows), numbers_(numbers), columns_(columns) {}

  bool next(RowBatch& batch) override {
    batch.clear();
    if (std::exchange(is_read_, true)) return false;
    for (std::int64_t number = numbers_.first; number < numbers_.last; ++number)
      rows_.append(text_, rows_.university().student(number));
    batch.column_count = columns_;
    std::string_view rest = text_;
    while (!rest.empty()) {
      batch.records.push_back(++records_);
      for (std::size_t c = 0; c < columns_; ++c) {
        const std::size_t end = rest.find(c + 1 < columns_ ? ',' : '\n');
        batch.cells.push_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
      }
    }
    return true;
  }
  std::int64_t record_count() const override { return records_; }

 private:
  const EnrollmentRows& rows_;
  Range numbers_;
  std::size_t columns_;
  bool is_read_ = false;
  std::string text_;
  std::int64_t records_ = 0;
};

class UniversityRows : public RowSource {
 public:
  explicit UniversityRows(const SyntheticUniversity& university)
      : rows_(university), columns_(split(rows_.columns(), ',')) {}

  const std::vector<std::string>& columns() const override { return columns_; }
  bool next(RowBatch& batch) override {
    if (piece_) records_ += piece_->record_count();
    piece_ = next_piece();
    batch.clear();
    if (!piece_) return false;
    piece_->next(batch);
    for (std::int64_t& record : batch.records)
      record += records_;
    return true;
  }
  std::string description() const override { return "made in memory"; }
  double fraction() const override {
    return static_cast<double>(next_ - 1) / static_cast<double>(rows_.university().options().students);
  }
  bool begin_pieces() override { return true; }
  std::unique_ptr<RowPiece> next_piece() override {
    const std::optional<Range> numbers = next_students(rows_.university().options(), next_);
    return numbers ? std::make_unique<StudentRows>(rows_, *numbers, columns_.size()) : nullptr;
  }

 private:
  EnrollmentRows rows_;
  std::vector<std::string> columns_;
  std::int64_t next_ = 1;            // student
  std::unique_ptr<RowPiece> piece_;  // whose rows were the last batch
  std::int64_t records_ = 0;         // before it
};

}  // namespace

Prepared synthetic_cohort(const SyntheticOptions& options, const TableOptions& table, const Executor& executor,
                          const ProgressSink& progress) {
  const SyntheticUniversity university(options);
  return prepare_rows({"synthetic university", std::make_unique<UniversityRows>(university), course_table(university)},
                      table, executor, progress);
}

}  // namespace desirepath::inline simulation
