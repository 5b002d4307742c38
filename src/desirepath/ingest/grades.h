// What grades mean, and how often each was seen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/table.h"
#include "desirepath/ingest/string_interner.h"
#include "desirepath/ingest/table_options.h"

namespace desirepath::inline ingest {

enum class GradeMeaning : std::uint8_t { taken, failed, withdrawn };
std::string_view name_of(GradeMeaning meaning);

class GradeRules {
 public:
  /// Empty lists: the usual grades.
  GradeRules(const std::vector<std::string>& failing, const std::vector<std::string>& withdrawn,
             std::optional<PassMark> pass_mark);
  GradeMeaning meaning_of(std::string_view grade) const;
  bool has_pass_mark() const { return pass_mark_.has_value(); }

 private:
  std::set<std::string> failing_, withdrawn_;
  std::optional<PassMark> pass_mark_;
};

/// Of the rows with a grade, which there are and what each counts as.
class GradeTally {
 public:
  static constexpr std::size_t least_students = 10;  // for a grade to be named

  explicit GradeTally(GradeRules rules) : rules_(std::move(rules)) {}
  GradeMeaning count(std::string_view grade, std::uint32_t student);
  /// What a part counted by the same rules, whose students have these numbers here.
  void take_in(const GradeTally& part, std::span<const std::uint32_t> students);
  const GradeRules& rules() const { return rules_; }

  std::int64_t rows() const { return rows_; }
  std::int64_t rows_of(GradeMeaning meaning) const;
  /// Rows whose grade is a number that nothing says the meaning of.
  std::int64_t unmarked_numbers() const;
  /// `grade, rows, counts as`, the most frequent first. What under ten students have is pooled, and numbers where there
  /// are many different ones.
  Table table() const;

 private:
  static constexpr std::uint32_t most_grades = 100'000;  // told apart

  struct Count {
    GradeMeaning meaning = GradeMeaning::taken;
    std::optional<double> number;
    std::int64_t rows = 0;
    std::uint32_t student_count = 0;  // different ones, as far as they fit
    std::array<std::uint32_t, least_students> students{};
    bool is_shown() const { return student_count == least_students; }
    void note(std::uint32_t student);
    void take_in(const Count& part, std::span<const std::uint32_t> numbers);
  };
  /// As it is shown.
  struct Line {
    std::string grade;
    std::optional<std::int64_t> rows;
    std::string counts_as;
  };
  static Line pooled(std::span<const Count* const> pool, std::string name);

  GradeRules rules_;
  StringInterner grades_;
  std::vector<Count> counts_;
  Count beyond_;  // of grades too many to be told apart
  std::int64_t rows_ = 0;
};

}  // namespace desirepath::inline ingest
