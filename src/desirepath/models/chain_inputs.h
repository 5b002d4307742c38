// What users bring to the training of a chain beside the cohort: labels to start from, transitions that are fixed.
#pragma once

#include "desirepath/models/chain_training.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// Students the cohort does not have are passed over. Throws InputError.
SoftLabels labels_from_rows(const TrainingContext& context, const Cohort& cohort, const StepLayout& layout, Id states);
/// A chain with states that stand for something; throws OptionError that names the setting.
const HiddenChain& as_chain(const Model& model, std::string_view setting);
/// Parameters of a model to go on from. Throws OptionError where it is another kind of model or of other data.
ChainParameters warm_parameters(const Model& model, const ChainIdentity& wanted, const ChainTask& task,
                                const EmissionLearner& learner, const ChainProblem& problem);
/// Throws InputError, and OptionError where the model has no transitions.
FixedTransitions fixed_from_rows(const TrainingContext& context, const Schema& schema, const StepLayout& layout,
                                 Id states);

}  // namespace desirepath::inline models
