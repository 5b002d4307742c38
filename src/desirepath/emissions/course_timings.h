// When students first took each course, as far as the rows of a step say: never, or in one of its periods; bits after
// the first are retakes. In a step of one period this is just the bit. docs/models/hidden_tree.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "desirepath/emissions/family.h"

namespace desirepath::inline emissions {

/// What is known of one course, a digit for each period in base 3, the first period lowest: 0 not taken, 1 taken, 2
/// unknown. Of a trait: bit v where its value v is possible.
using TimingCode = std::int32_t;
inline constexpr Id most_timing_periods = 18;
/// Of a course: never and each period; of a trait: its values.
inline constexpr Id most_node_values = 30;

/// All values of a trait are possible.
constexpr TimingCode anything_possible(Id values) {
  return static_cast<TimingCode>((std::uint32_t{1} << values) - 1);
}

/// What is known of one course, with its number; traits have the numbers after the courses.
struct CourseTiming {
  Id course = 0;
  TimingCode code = 0;
  bool operator==(const CourseTiming&) const = default;
};

/// e(v), v = 0 .. T: how likely the known bits are when the first enrollment is in period v (0: never), given the
/// probabilities of a retake in each period.
void timing_weights(TimingCode code, std::span<const double> retake, std::span<double> weights);
/// The same of a course or a trait; weights beyond its values are 0. courses: how many there are.
void node_weights(const CourseTiming& known, Id courses, std::span<const double> retake, std::span<double> weights);
/// Values of the widest node of a step.
Id widest_node(const StepShape& shape);

/// The first known enrollment in a course, from 0; -1: none.
constexpr Id first_period(TimingCode code) {
  Id period = 0;
  for (; code > 0 && code % 3 != 1; code /= 3)
    ++period;
  return code > 0 ? period : -1;
}

/// Whether a course can be taken again; if not, enrollments after the first are read as none.
enum class Retakes { learned, never };
inline std::span<const std::string_view> value_names(Retakes) {
  static constexpr std::array<std::string_view, 2> names = {"learned", "never"};
  return names;
}

/// Which periods a pattern of unknown bits leaves unknown, and the courses that depart from that in single bits.
class TimingPattern {
 public:
  TimingPattern(const UnknownBits& unknown, const StepShape& shape, Retakes retakes);
  /// What is known of a course of which nothing was taken and that does not depart.
  TimingCode baseline() const { return baseline_; }
  /// Courses whose code is not baseline() for a row with these taken bits, ascending. Returns the retakes read as none.
  Id changes(std::span<const Id> taken, std::vector<CourseTiming>& found) const;
  /// Courses and traits that depart with nothing taken, ascending.
  const std::vector<CourseTiming>& departing() const { return departing_; }

 private:
  StepShape shape_;
  Retakes retakes_;
  TimingCode baseline_ = 0;
  std::vector<CourseTiming> departing_;  // with nothing taken
};

/// All rows of a step as timings: patterns of whole periods, and the kinds of knowledge that occur.
class TimingRows {
 public:
  TimingRows(const StepRows& rows, const StepShape& shape, Retakes retakes);

  const StepShape& shape() const { return shape_; }
  /// Rows whose unmentioned courses are known alike.
  struct Group {
    TimingCode baseline = 0;
    std::vector<std::int64_t> rows;  // ascending
  };
  const std::vector<Group>& groups() const { return groups_; }

  /// The kinds of the courses that a row changes, in ascending order of courses.
  std::span<const std::int32_t> changes(std::int64_t row) const {
    const auto begin = static_cast<std::size_t>(change_begin_[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(change_begin_[static_cast<std::size_t>(row) + 1]);
    return {changes_.data() + begin, end - begin};
  }
  /// Over all rows.
  std::size_t change_count() const { return changes_.size(); }
  /// (course, code) pairs that occur, in a baseline or in a row; those of a course stand together, by code.
  const std::vector<CourseTiming>& kinds() const { return kinds_; }
  /// Retakes read as none, over the distinct rows.
  std::int64_t dropped_retakes() const { return dropped_retakes_; }
  /// Another form of the same rows: made when first asked for, kept as long as they.
  template <class Form>
  const Form& kept(const std::string& key, const std::function<std::shared_ptr<const Form>()>& make) const {
    return forms_.get<Form>(key, make);
  }
  /// By course and trait: the kind it has in the baseline of a group. Of traits a baseline knows nothing.
  std::span<const std::int32_t> baseline_kinds(std::size_t group) const {
    const auto nodes = static_cast<std::size_t>(shape_.courses) + shape_.trait_values.size();
    return {baseline_kinds_.data() + group * nodes, nodes};
  }

 private:
  StepShape shape_;
  std::vector<Group> groups_;
  std::vector<std::int64_t> change_begin_;
  std::vector<std::int32_t> changes_;
  std::vector<CourseTiming> kinds_;
  std::vector<std::int32_t> baseline_kinds_;  // groups by courses and traits
  std::int64_t dropped_retakes_ = 0;
  KeptForms forms_;
};

/// Made once and kept with the rows.
const TimingRows& timings_of(const StepRows& rows, const StepShape& shape, Retakes retakes);

}  // namespace desirepath::inline emissions
