// truth.json: everything planted in a synthetic university, so that what a model finds can be checked.
#pragma once

#include <string>

#include "desirepath/simulation/synthetic_university.h"

namespace desirepath::inline simulation {

/// The text of truth.json. Holds no student's row: rates, counts and facts about courses and groups alone.
std::string synthetic_truth(const SyntheticUniversity& university, const SyntheticSummary& summary,
                            const std::string& enrollments_digest);

}  // namespace desirepath::inline simulation
