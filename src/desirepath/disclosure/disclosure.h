// The one step that decides what may be shown. Every summary hands it the counts of students behind all it would tell
// and tells what comes back; nothing else compares a count with the bound (docs/privacy.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desirepath/core/settings.h"

namespace desirepath::inline disclosure {

/// One flag a part: 1 where it may not be told by itself.
using Hidden = std::vector<std::uint8_t>;

class Disclosure {
 public:
  static constexpr std::int64_t usual = 10, fewest = 5;

  Disclosure() = default;
  /// Throws OptionError under 5.
  explicit Disclosure(std::int64_t least);

  /// As the setting min-cell.
  void declare(SettingVisitor& visit);

  /// Every cohort has one bound: answers under two bounds could be subtracted from each other. `recorded` is the bound
  /// of the cohort or model that is asked, nothing where it has none. Throws OptionError where another one was asked
  /// for.
  Disclosure bound_to(std::optional<std::int64_t> recorded) const;

  std::int64_t least() const { return asked_.value_or(recorded_); }
  /// Throws PrivacyError where all of it would rest on fewer students.
  void require(std::int64_t students) const;
  /// The same for students who are weighed: they count as `students_behind` them.
  void require_behind(std::span<const double> weights) const;

  /// Whether a number of students is none or enough.
  bool allows(double students) const {
    return students <= 0 || students >= static_cast<double>(least()) - rounding_of_sums;
  }
  /// Of a group whose size is told as well: whoever is not in it must be none or enough too.
  bool allows(double students, double of) const { return allows(students) && allows(of - students); }
  /// Enough, and not none.
  bool rests(double students) const { return students > 0 && allows(students); }

  /// The parts of a whole that is told: the small ones, and the next larger ones until all that is hidden is enough
  /// together, for else it follows from the rest. Parts of nobody are told.
  Hidden hide(const std::vector<double>& parts) const;

  /// The same for parts that students may share: what is hidden must hold a part that is enough by itself.
  Hidden hide_overlapping(const std::vector<double>& parts) const;

  /// The share that `students` are of a group, in steps of a tenth, or of more where a step would hold so few students
  /// that it told how many did, or did not: the lower end of its step. All that may depend on a share that is asked
  /// about again and again.
  double coarse_share(double students, double of) const;

  /// A group of `of` as it may be told: where all but a few are in it, all are.
  double all_but_few(double students, double of) const { return allows(of - students) ? students : of; }

  /// "fewer than 10"
  std::string few() const;

 private:
  static constexpr double rounding_of_sums = 1e-9;
  std::optional<std::int64_t> asked_;  // by the user
  std::int64_t recorded_ = usual;
};

/// The number of students that weights leave: their sum in units of the largest. A share p of all the weight is that of
/// p times as many students at least, so that no single one of a large weight passes for many.
double students_behind(std::span<const double> weights);

}  // namespace desirepath::inline disclosure
