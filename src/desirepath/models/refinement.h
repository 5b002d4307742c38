// After EM: the paper's stochastic refinement of Gaussian chains (its "less biased" learning, 2.1.4 and appendix).
//
// What is refined is the thresholded model, the one that probabilities and samples come from: the calibrated mean and
// the correlations. EM's own means and variances, which only the -1/+1 density uses, stay. docs/models/refinement.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/progress.h"
#include "desirepath/emissions/latent_reward.h"
#include "desirepath/models/chain_training.h"

namespace desirepath::inline models {

enum class Refinement { none, policy_gradient, orthant_em };
std::string_view name_of(Refinement refinement);
/// Throws OptionError.
Refinement parse_refinement(std::string_view name);

struct PolicyGradientOptions {
  Reward reward = Reward::surrogate;
  int rounds = 60;      // at most; responsibilities are renewed and students held out are scored in each
  int patience = 6;     // rounds without a better score
  int steps = 2;        // of Adam in a round, each on its share of the rows
  int samples = 32;     // of a row and state in a step
  double rate = 0.003;  // of Adam: standardised means and Cholesky entries
  void validate() const;
};

/// What samples of the first round earned, by the number of courses the row takes.
struct RewardSignal {
  std::int64_t courses = 0;
  double weight = 0;    // students' worth of rows
  double rewarded = 0;  // of these, with at least one rewarded sample
};

struct RefinementReport {
  Refinement refinement = Refinement::policy_gradient;
  Reward reward = Reward::surrogate;
  std::int64_t students = 0;  // held out
  std::vector<double> trace;  // mean log-probability a student held out: before, then after every round
  int kept_round = 0;         // 0: as it was
  double gain = 0;            // of the kept round, per student
  double standard_error = 0;  // of the gain of the best round
  std::vector<RewardSignal> signal;

  nlohmann::ordered_json to_json() const;
};

/// Moves the problem's parameters to the best round, by the orthant likelihood of the students held out, if that is
/// better than what it started from by two standard errors; else leaves them as they are. Throws OptionError
/// for emissions other than Gaussian ones with a whole covariance.
RefinementReport refine_by_policy_gradient(ChainProblem& problem, const ChainEvidence& training,
                                           const ChainEvidence& held_out, const PolicyGradientOptions& options,
                                           const RandomStream& stream, const Compute& compute,
                                           const ProgressSink& progress);

}  // namespace desirepath::inline models
