// Training a hidden chain: restarts, validation, checkpoints, refinement, the order of states.
#pragma once

#include "desirepath/models/chain_evidence.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// The catalog's entry of a chain with this time structure.
ModelEntry chain_entry(std::string name, std::string what, TimeStructure structure, std::string default_emission);

/// Leave-one-out scores of the students a chain was trained on, as its record of training says.
Vector chain_leave_one_out(const Model& model, const TrainingRecord& training, const Cohort& cohort,
                           const Executor& executor);

}  // namespace desirepath::inline models
