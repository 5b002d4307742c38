// Whether states are found again: the model fitted anew to students drawn with replacement.
#pragma once

#include <memory>
#include <vector>

#include "desirepath/models/model.h"

namespace desirepath::inline queries {

struct StateStability {
  Id step = 0, state = 0;
  double overlap = 0;  // mean over the refits of the Jaccard index with the state of most overlap (Hennig 2007)
  double found = 0;    // share of the refits in which that is above one half
};

/// By the students of the cohort who were there, each in its most likely state. States that nobody is in have no entry.
std::vector<StateStability> state_stability(const HiddenStates& states,
                                            const std::vector<std::unique_ptr<Model>>& refits, const Cohort& cohort,
                                            const Executor& executor);

}  // namespace desirepath::inline queries
