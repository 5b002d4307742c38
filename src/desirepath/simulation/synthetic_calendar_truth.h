// The part of truth.json that edition 3 adds: the calendar, and who returned.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "desirepath/simulation/synthetic_university.h"

namespace desirepath::inline simulation {

nlohmann::ordered_json calendar_truth(const SyntheticUniversity& university, const SyntheticSummary& summary);

}  // namespace desirepath::inline simulation
