// How many students came back in earlier years: what a total of expected takers must be held against.
#pragma once

#include <optional>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

/// Of the students enrolled in the period `from` of whom it is settled, the share who were enrolled in `to`, in whole
/// percent (more would tell of single students). Nothing where the data do not say who came back, or where those who
/// did, or did not, are too few to be told.
std::optional<int> percent_enrolled_again(const Cohort& cohort, Id from, Id to, const Disclosure& disclosure);

}  // namespace desirepath::inline queries
