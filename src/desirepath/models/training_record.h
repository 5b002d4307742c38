// What a model file says of how its model was trained and what came of it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desirepath/models/training.h"
#include "desirepath/models/year_spread.h"

namespace desirepath::inline models {

/// Read and checked once, when the file is. Earlier versions said less, and published models do not say all.
struct TrainingRecord {
  std::string text = "{}";  // JSON, as the file has it

  std::optional<FitOptions> options;  // as trained with
  std::vector<std::pair<std::string, std::string>>
      described;                           // the options and all else that decides a fit, for people
  std::vector<TransitionRow> transitions;  // that were fixed
  std::string data_fingerprint;
  std::optional<std::int64_t> min_cell;
  bool published = false;
  std::optional<YearSpread> between_years;

  std::optional<std::int64_t> students, iterations, trees;
  std::optional<double> log_likelihood;
  std::optional<bool> converged;
  bool has_trial = false;  // which chose some of the options
  std::vector<std::string> warnings;
  std::vector<std::vector<double>> state_students, state_behind;  // as FitResult has them

  /// Throws ArchiveError where it is no such record.
  static TrainingRecord read(std::string text, const Catalog& catalog = standard_catalog());
  /// Throws ArchiveError where the file does not say.
  const FitOptions& trained_with() const;
};

/// What a trial chose for a model holds for a fit that goes on from it, where that is not given.
void keep_tried(const TrainingRecord& warm, FitOptions& options);

/// Of a fit: without what differs from run to run.
TrainingRecord training_record(const TrainingTask& task, const FitResult& result);

}  // namespace desirepath::inline models
