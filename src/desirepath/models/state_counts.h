// How many students each state of a fit rests on.
#pragma once

#include "desirepath/models/chain_training.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// What a chain was fitted to.
struct FittedTo {
  const Cohort& students;
  const ChainTask& task;
  const StepLayout& layout;
  const EmissionLearner& learner;
  const Executor& executor;
};

/// Sets state_students, and state_behind where students are weighed. The problem has had its E step.
void count_state_students(const ChainProblem& problem, const FittedTo& fitted, FitResult& result);

}  // namespace desirepath::inline models
