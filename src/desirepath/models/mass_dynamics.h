// The dynamics of a chain for answers: Gaussians learn from the density of -1/+1, questions weigh states by the mass.
#pragma once

#include "desirepath/models/chain_training.h"

namespace desirepath::inline models {

/// What a chain was trained with.
struct TrainedWith {
  const Cohort& students;
  const ChainTask& task;
  const ChainEvidence& evidence;
  const EmissionLearner& learner;
  const Executor& executor;
};

/// Where learning climbs another likelihood than the mass: the dynamics refitted to the mass of the states, on some of
/// the students, and the emissions balanced for it. `orders`: the states by the shares they then have.
void weigh_by_mass(const TrainedWith& trained, ChainProblem& problem, bool orders);

}  // namespace desirepath::inline models
