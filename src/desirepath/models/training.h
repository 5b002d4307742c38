// Training as every model of the catalog offers it: a prepared object that says what it would take, and then trains.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/answer.h"
#include "desirepath/core/progress.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/fit_options.h"
#include "desirepath/models/refinement_report.h"
#include "desirepath/models/trial_report.h"

namespace desirepath::inline models {

/// One row of a labels file: states from 0; weight 1 where none is given.
struct LabelRow {
  std::string student;
  std::string period;
  Id state = 0;
  double weight = 1;
  std::int64_t record = 0;
};

/// One row of a transitions file: from a period to the next.
struct TransitionRow {
  std::string period;
  Id from = 0;
  Id to = 0;
  double probability = 0;
  std::int64_t record = 0;
};

/// In a record of training, in place of the setting `start`: labels, or another model, were given.
inline constexpr const char* start_from_labels = "labels";
inline constexpr const char* start_from_model = "model";

struct ChainEvidence;

/// What training is given beside cohort and settings. Nothing here is kept after training.
struct TrainingContext {
  const Executor& executor;
  ProgressSink progress = {};

  std::vector<LabelRow> labels = {};  // where EM starts from, in place of the setting `start`
  std::string labels_file = {};       // for messages
  std::vector<TransitionRow> transitions = {};
  std::string transitions_file = {};
  const Model* warm = nullptr;         // start from this model
  const Model* match = nullptr;        // states are numbered like this model's
  const Cohort* validation = nullptr;  // in place of the setting's share
  ChainEvidence* rows = nullptr;       // the cohort cut into steps and weighed, by who trains on it several times

  std::filesystem::path checkpoint = {};  // empty: none
  bool may_checkpoint = false;            // whether whoever asked could have named one
  double checkpoint_interval = 30;        // seconds
  bool resume = false;
  std::vector<std::byte> checkpoint_bytes = {};        // resumed from in place of the file's
  std::function<void(ArchiveWriter&)> also_save = {};  // into every checkpoint: what a larger training is made of

  /// What of this decides the result, added to the record of the options.
  void describe(nlohmann::ordered_json& record) const;
};

struct TrainingTask {
  const Cohort& cohort;
  const FitOptions& options;
  const TrainingContext& context;

  /// The options and what of the context decides the result.
  nlohmann::ordered_json record() const;
  /// Of the record and the data of the context: a checkpoint belongs to one.
  std::string digest() const;
};

/// What a fit would need.
struct FitEstimate {
  double bytes = 0;
  double seconds_per_iteration = 0;
  std::int64_t distinct_rows = 0;
  std::int64_t fits = 0;  // of several: memory of the largest, an iteration of all; 0: of one

  Answer answer() const;
};

struct RestartResult {
  int number = 0;
  std::string start;  // where it began
  std::uint64_t seed = 0;
  double log_likelihood = 0;
  double objective = 0;
  int iterations = 0;
  bool converged = false;
  std::optional<double> validation;  // mean log-likelihood per student
};

/// What rests on fewer students is not for others to see.
inline constexpr auto least_students = static_cast<double>(Disclosure::usual);

/// Likelihoods that differ by less, relative, count as one optimum.
inline constexpr double same_optimum = 1e-4;

struct FitResult {
  std::unique_ptr<Model> model;
  std::string model_name, emission;  // of the catalog; no emission: empty
  Id states = 0;                     // 0: the model has none
  Id trees = 0, tree_states = 0;     // of a committee of hidden trees
  LikelihoodKind kind = LikelihoodKind::mass;
  std::int64_t students = 0;
  double student_weight = 0;
  double log_likelihood = 0;  // total, of the returned parameters
  double objective = 0;
  double state_entropy = 0;
  std::vector<double> trace, objective_trace, validation_trace;
  bool converged = false;
  std::string stopped_by;  // tolerance, validation or iterations
  int iterations = 0;
  int best_iteration = 0;
  std::vector<RestartResult> restarts;
  int starts_at_best = 0;                     // of the restarts; 0: not searched for
  std::optional<double> kept_log_likelihood;  // of the chain whose states stay through all periods
  std::optional<RefinementReport> refinement;
  std::optional<TrialReport> trial;  // of a committee that chose settings
  /// Expected students behind each state, steps by states ("left" last); empty for a model without states. Goes into
  /// the record of training, for questions to withhold what rests on few.
  std::vector<std::vector<double>> state_students;
  /// The same as students_behind() has them, where students are weighed: what the bounds look at.
  std::vector<std::vector<double>> state_behind;
  std::vector<std::string> warnings;
  double seconds = 0;

  const std::vector<std::vector<double>>& bearing() const {
    return state_behind.empty() ? state_students : state_behind;
  }
  /// Restarts whose likelihood is the best or next to it.
  int count_at_best() const;
  /// Warns where the students are few for what was learned from them.
  void warn_of_size(const Cohort& trained_on);
  /// The model, its likelihood, the restarts.
  Answer answer() const;
};

class Training {
 public:
  virtual ~Training() = default;
  virtual FitEstimate estimate() const = 0;
  /// Throws OptionError when what is needed does not fit the memory, Interrupted after writing a checkpoint.
  virtual FitResult run() = 0;
};

/// Throws OptionError when the options do not fit the cohort. Cohort, options and context must outlive the training.
std::unique_ptr<Training> prepare_training(const TrainingTask& task);
/// Prepares and runs.
FitResult fit_model(const Cohort& cohort, const FitOptions& options, const TrainingContext& context);

}  // namespace desirepath::inline models
