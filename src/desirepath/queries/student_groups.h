// Students by an attribute, or by the academic year they came in.
#pragma once

#include <string>
#include <vector>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

struct StudentGroups {
  std::vector<std::string> names;
  std::vector<Id> of_student;  // index into names, -1: not known
};

/// Throws OptionError that names the nearest attribute there is, or says that the cohort knows no years.
StudentGroups groups_of(const Cohort& cohort, const std::string& name);

}  // namespace desirepath::inline queries
