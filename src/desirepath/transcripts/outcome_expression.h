// A condition on columns of students, such as "degree is not null" or "major in ('MATH', 'CS') and gpa >= 3": what a
// derived outcome follows from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline transcripts {

class Cohort;
struct Attribute;

/// A part of SQL, with its meaning: `column is [not] null`, `= <> < <= > >=` with a number or a 'text', `[not] in
/// (...)`, and, or, not, parentheses; "column" in double quotes where its name is no word. A comparison with a missing
/// value is neither true nor false.
class OutcomeExpression {
 public:
  /// Throws OptionError that says what was expected, and where.
  static OutcomeExpression parse(std::string_view text);

  /// As it names them, each once.
  const std::vector<std::string>& columns() const { return columns_; }
  /// Whether it holds, by student; nothing where that is not settled. Students whose periods are over: it holds where
  /// it is true, else not. The others may yet get a value or another one: it is settled where no such change matters.
  /// Where the cohort lacks a column, nothing is.
  std::vector<std::optional<bool>> evaluate(const Cohort& cohort) const;

  /// The cohort's attribute of that name; SQL does not mind case. Null where there is none.
  static const Attribute* find_column(const Cohort& cohort, std::string_view name);

 private:
  friend class OutcomeParser;
  enum class Operation { is_null, equal, less, at_most, in, negation, conjunction, disjunction };
  struct Literal {
    std::string text;
    std::optional<double> number;  // it was written as one
  };
  struct Step {
    Operation operation = Operation::is_null;
    std::size_t column = 0;         // of is_null, equal, less, at_most, in
    std::vector<Literal> literals;  // what the column is compared with
  };
  using Truth = std::optional<bool>;  // nothing: neither true nor false
  static Truth holds(const Step& step, const std::string& value);

  std::vector<std::string> columns_;
  std::vector<Step> steps_;  // operands stand before what joins them
};

}  // namespace desirepath::inline transcripts
