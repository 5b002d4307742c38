// M steps on rows that are all here, as tests of emissions need them.
#pragma once

#include "desirepath/emissions/capabilities.h"

namespace desirepath::test {

inline std::unique_ptr<Emission> first_emission(const EmissionLearner& learner, const StepRows& rows,
                                                const RowMatrix& responsibilities, const RandomStream& stream,
                                                const Executor& executor) {
  const RowSurvey survey = learner.survey(rows);
  return run_step(*learner.first_step(survey, static_cast<Id>(responsibilities.cols()), stream), rows, responsibilities,
                  executor);
}

/// previous: null for the first step.
inline std::unique_ptr<Emission> next_emission(const EmissionLearner& learner, const StepRows& rows,
                                               const RowMatrix& responsibilities, const Emission* previous,
                                               const Executor& executor) {
  if (previous == nullptr) return first_emission(learner, rows, responsibilities, RandomStream(0), executor);
  const RowSurvey survey = learner.survey(rows);
  return run_step(*learner.step(survey, *previous), rows, responsibilities, executor);
}

/// Null: the learner has none.
inline std::unique_ptr<Emission> proposed_emission(const EmissionLearner& learner, const StepRows& rows,
                                                   const RowMatrix& responsibilities, const Emission& current,
                                                   const Executor& executor) {
  const RowSurvey survey = learner.survey(rows);
  const auto* proposes = offered<ProposesEmissions>(learner);
  const auto step = proposes == nullptr ? nullptr : proposes->proposal(survey, current);
  return step == nullptr ? nullptr : run_step(*step, rows, responsibilities, executor);
}

}  // namespace desirepath::test
