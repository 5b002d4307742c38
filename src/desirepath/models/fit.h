// Training a model of the catalog on a cohort: starts, restarts, validation, checkpoints, the order of states.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/progress.h"
#include "desirepath/emissions/gaussian.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/emissions/tree.h"
#include "desirepath/models/catalog.h"
#include "desirepath/models/chain_training.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/refinement.h"

namespace desirepath::inline models {

enum class StartKind { kmeans, random, labels, model };

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

struct FitOptions {
  ModelChoice choice;
  Id states = 8;

  std::optional<double> pseudocount;  // none: the family's own
  double state_pseudocount = 0.1;
  TreeShape tree = TreeShape::shared;
  std::optional<CovarianceChoice> covariance;  // none: full, or 8 factors where a step is too wide for that
  std::optional<double> covariance_prior;      // none: the family's own
  double ridge = 0;
  bool calibrate = true;
  ProbitOptions probit;  // what is named above goes before its own
  Refinement refine = Refinement::none;
  PolicyGradientOptions policy_gradient;

  StartKind start = StartKind::kmeans;
  std::vector<LabelRow> labels;
  std::string labels_file;  // for messages
  const HiddenChain* warm = nullptr;
  int restarts = 3;
  EmOptions em;
  std::uint64_t seed = 1;

  std::string weights;  // student attribute; empty: all one
  std::vector<TransitionRow> transitions;
  std::string transitions_file;
  std::optional<double> validation_share;
  const Cohort* validation = nullptr;
  const HiddenChain* match = nullptr;  // states are numbered like this model's

  std::filesystem::path checkpoint;  // empty: none
  double checkpoint_interval = 30;   // seconds
  bool resume = false;
  std::string options_digest;  // of everything above, set by describe(); a checkpoint belongs to one

  void validate() const;
  static constexpr Id most_dense_bits = 2000;
  /// Of the students, held out to judge a refinement where no validation is named.
  static constexpr double refinement_share = 0.1;
  CovarianceChoice covariance_for(Id bits) const;
  ProbitOptions probit_options() const;
  /// Everything that decides the result, for the model file and to tell checkpoints apart.
  nlohmann::ordered_json describe() const;
};

struct FitResult {
  std::unique_ptr<HiddenChain> model;
  LikelihoodKind kind = LikelihoodKind::mass;
  std::int64_t students = 0;
  double student_weight = 0;
  double log_likelihood = 0;  // total, of the returned parameters
  double objective = 0;
  double state_entropy = 0;
  std::vector<double> trace, objective_trace, validation_trace;
  bool converged = false;
  int iterations = 0;
  int best_iteration = 0;
  std::vector<RestartResult> restarts;
  std::optional<RefinementReport> refinement;
  std::vector<std::string> warnings;
  double seconds = 0;

  /// The fields of interface.md's `fit --json`.
  nlohmann::ordered_json to_json() const;
  /// What goes into the model file: the same, without what differs from run to run.
  std::string training_json(const FitOptions& options, const Cohort& cohort) const;
};

/// What a fit would need.
struct FitEstimate {
  double bytes = 0;
  double seconds_per_iteration = 0;
  std::int64_t distinct_rows = 0;
};

/// Throws OptionError when the options do not fit the cohort or the memory, Interrupted after writing a checkpoint.
FitResult fit_model(const Cohort& cohort, const FitOptions& options, const Compute& compute,
                    const ProgressSink& progress);
FitEstimate estimate_fit(const Cohort& cohort, const FitOptions& options, const Compute& compute);

/// log p of each student of the cohort a model was trained on, each left out in turn by one EM step from the model
/// (ChainProblem::left_out_scores). training: what the model file says. Throws OptionError when the cohort is another
/// one or the emission has no such step.
Vector leave_one_out(const HiddenChain& model, const std::string& training, const Cohort& cohort,
                     const Compute& compute);

/// The learner a choice of emission stands for, in steps of so many bits.
std::unique_ptr<EmissionLearner> make_learner(const FitOptions& options, Id bits);

}  // namespace desirepath::inline models
