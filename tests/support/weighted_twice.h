// A cohort in which every nth student weighs two, and the one in which those students stand twice.
#pragma once

#include <string>
#include <vector>

#include "support/example_cohorts.h"

namespace desirepath::test {

struct WeightedTwice {
  Cohort weighted;  // by the attribute "weight"
  Cohort repeated;
  std::vector<std::int64_t> doubled;  // students of the first, in the order of the second
};

inline WeightedTwice weighted_twice(const Cohort& once, std::int64_t every) {
  Attribute weight{"weight", {"1", "2"}, {}};
  std::vector<std::int64_t> doubled;
  for (std::int64_t s = 0; s < once.student_count(); ++s) {
    weight.codes.push_back(s % every == 0 ? 1 : 0);
    doubled.push_back(s);
    if (s % every == 0) doubled.push_back(s);
  }
  Cohort weighted = changed(once, [&](CohortParts& parts) { parts.attributes = {weight}; });
  Cohort repeated = changed(once.select(doubled), [](CohortParts& parts) {
    for (std::size_t s = 0; s < parts.students.size(); ++s)
      parts.students[s] += "-" + std::to_string(s);
  });
  return {std::move(weighted), std::move(repeated), std::move(doubled)};
}

}  // namespace desirepath::test
