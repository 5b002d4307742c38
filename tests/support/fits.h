// Fits as tests make them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/model_file.h"
#include "desirepath/models/training.h"

namespace desirepath::test {

inline FitResult fit(const Cohort& cohort, const FitOptions& options, int threads = 2) {
  const Executor executor(threads);
  return fit_model(cohort, options, {executor});
}

/// The chain a fit made.
inline const HiddenChain& chain_of(const FitResult& fit) {
  return offered<HasChain>(*fit.model)->chain();
}

/// The file of a fit's model, with what was said of its training or without.
inline std::vector<std::byte> bytes_of_model(const Model& model, const TrainingRecord& training = {}) {
  ArchiveWriter archive("model");
  model.save(archive);
  archive.set("training", training.text);
  return archive.bytes();
}

/// What the model file would say of the training.
inline TrainingRecord record_of(const Cohort& cohort, const FitOptions& options, const FitResult& fit) {
  const Executor executor(1);
  const TrainingContext context{executor};
  return training_record({cohort, options, context}, fit);
}

/// As it comes back from its file.
inline StoredModel fitted(const Cohort& cohort, const FitOptions& options, int threads = 2) {
  FitResult made = fit(cohort, options, threads);
  TrainingRecord record = record_of(cohort, options, made);
  return {std::move(made.model), std::move(record)};
}

}  // namespace desirepath::test
