// How typical a student is among others: percentiles, within groups that can be compared.
#pragma once

#include <cstdint>
#include <vector>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

/// Share of the students of each one's group at or under its value, in percent; of group 0: of all students.
struct Percentiles {
  std::vector<double> value;
  std::vector<std::int64_t> of;  // size of the group
};
Percentiles percentiles(const std::vector<double>& values, const std::vector<std::int64_t>& group);

/// Students by their percentiles.
std::vector<std::int64_t> least_typical_first(const Percentiles& percentiles);

/// Students present in the same periods have one number; where they are few, those present in as many periods; 0 where
/// these are few too.
std::vector<std::int64_t> groups_by_presence(const Cohort& cohort, std::int64_t fewest);

}  // namespace desirepath::inline queries
