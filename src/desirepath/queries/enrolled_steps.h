// How many students were enrolled in each step, for people and for programs.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/queries/pathways.h"

namespace desirepath::inline queries {

/// One object a step: period, enrolled, and whether that is exact or the least there are.
nlohmann::ordered_json step_json(const StateFlows& flows, const HiddenStates& states, const Schema& schema);

/// "1,329", or "at least 1,320".
std::string enrolled_count(const StepStudents& step);

/// "enrolled: 1,329 students in period 1, 1,068 in period 2".
std::string enrolled_words(const StateFlows& flows, const HiddenStates& states, const Schema& schema);

}  // namespace desirepath::inline queries
