// What the bits of a step are of.
#pragma once

#include <numeric>
#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline emissions {

/// The bits of a step: all courses in each of its periods; then, where the step has traits of students, a bit for each
/// value of each trait.
struct StepShape {
  Id periods = 1;
  Id courses = 0;
  std::vector<Id> trait_values = {};  // by trait: how many it has
  Id departure = -1;                  // the trait that says which period was a student's last; -1: none does

  Id course_bits() const { return periods * courses; }
  Id trait_count() const { return static_cast<Id>(trait_values.size()); }
  /// The bit of a trait's first value.
  Id trait_bit(Id trait) const {
    return std::accumulate(trait_values.begin(), trait_values.begin() + trait, course_bits());
  }
  Id bits() const { return trait_bit(trait_count()); }
  bool operator==(const StepShape&) const = default;
};

}  // namespace desirepath::inline emissions
