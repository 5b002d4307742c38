// What users bring to the training of a chain beside the cohort: labels to start from, transitions that are fixed.
#pragma once

#include "desirepath/models/chain_training.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// Students the cohort does not have are passed over. Throws InputError.
SoftLabels labels_from_rows(const TrainingContext& context, const Cohort& cohort, const StepLayout& layout, Id states);
/// Throws InputError, and OptionError where the model has no transitions.
FixedTransitions fixed_from_rows(const TrainingContext& context, const Schema& schema, const StepLayout& layout,
                                 Id states);

}  // namespace desirepath::inline models
