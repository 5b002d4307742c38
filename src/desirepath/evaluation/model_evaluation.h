// The paper's comparison (4.1, 4.2, 5.3): models over their sizes and several splits of the students, by what they
// sample, what they answer and how probable they find students held out.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/answer.h"
#include "desirepath/evaluation/fit_sweep.h"

namespace desirepath::inline evaluation {

/// Everything found of one fit, by name: what a results file holds.
using Measures = std::map<std::string, double>;

struct EvaluationRow {
  std::string model;  // "cmm+probit"
  Id size = 0;        // states, or numbers of a code; 0: the model's own
  std::uint64_t seed = 0;
  std::string kind;  // of the held-out likelihood
  Measures found;    // a measure that does not apply is not there
};

struct MeanAndSpread {
  double mean = 0;
  double spread = 0;  // standard deviation over the seeds; 0 of one
  std::size_t seeds = 0;
};

/// Of one model and size over the seeds.
struct EvaluationSummary {
  std::string model, kind;
  Id size = 0;
  std::map<std::string, MeanAndSpread> found;
};

struct Evaluation {
  std::vector<EvaluationRow> rows;                            // as they were asked for
  std::vector<EvaluationSummary> summaries;                   // seeds together
  std::int64_t training_students = 0, held_out_students = 0;  // of the first split
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> remarks;
  std::string taken_up;  // how many of the fits were there already; empty: none

  /// Without what the same data, options and seed do not give again: clocks, memory, and what was there already.
  Evaluation repeatable() const;
  /// What repeatable() leaves out of the fits: model, size, seed and the clocks.
  Table timings() const;
  /// Each model where it is best over its sizes, as the paper's Table 1.
  Table best_table() const;
  /// Every fit.
  Table fits_table() const;
  /// By model and size.
  Table table() const;
  Answer answer() const;
};

/// What becomes of results that are in the folder already.
enum class EarlierFits { refuse, take_up, replace };

struct EvaluationTask : SizedFits {
  std::vector<std::uint64_t> seeds;
  std::int64_t draws = 20'000;     // students drawn from each model
  std::int64_t full_scored = 300;  // held-out students that whole covariances are scored on
  std::filesystem::path folder;    // a results file a fit; empty: none
  EarlierFits earlier = EarlierFits::refuse;
  double memory = 0;  // bytes that fits side by side may take; 0: what is free
};

/// "nb,cmm+probit" by sizes; `values` go to every model that has such a setting. Throws OptionError.
EvaluationTask evaluation_task(const std::string& models, const std::vector<Id>& sizes, const SettingValues& values,
                               std::uint64_t first_seed, int seeds);

/// Stopped, it loses the fits that were under way. Throws PrivacyError where too few students would be held out,
/// FileError where the folder has results that may be neither taken up nor replaced.
Evaluation evaluate_models(const Cohort& cohort, const EvaluationTask& task, const TrainingContext& context);

}  // namespace desirepath::inline evaluation
