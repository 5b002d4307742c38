// After EM: the paper's stochastic refinement of Gaussian chains (its "less biased" learning, 2.1.4 and appendix).
//
// What is refined is the thresholded model, the one that probabilities and samples come from: the calibrated mean and
// the correlations. EM's own means and variances, which only the -1/+1 density uses, stay. docs/models/refinement.md.
#pragma once

#include "desirepath/compute/executor.h"
#include "desirepath/core/progress.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/settings.h"
#include "desirepath/models/refinement_report.h"

namespace desirepath::inline models {

class ChainProblem;
struct ChainEvidence;

struct PolicyGradientOptions {
  Reward reward = Reward::surrogate;
  int rounds = 60;      // at most; responsibilities are renewed and students held out are scored in each
  int patience = 6;     // rounds without a better score
  int steps = 2;        // of Adam in a round, each on its share of the rows
  int samples = 32;     // of a row and state in a step
  double rate = 0.003;  // of Adam: standardised means and Cholesky entries

  void declare(SettingVisitor& visit) {
    visit(Setting("reward", "of the policy gradient (surrogate is the paper's)").in("Model"), reward);
    visit(Setting("refine-rounds", "of the policy gradient, at most").at_least(1).in("Model"), rounds);
    visit(Setting("refine-rate", "of the policy gradient's steps").above(0).in("Model"), rate);
  }
};

/// Moves the problem's parameters to the best round, by the orthant likelihood of the students held out, if that is
/// better than what it started from by two standard errors; else leaves them as they are. Throws OptionError
/// for emissions other than Gaussian ones with a whole covariance.
RefinementReport refine_by_policy_gradient(ChainProblem& problem, const ChainEvidence& training,
                                           const ChainEvidence& held_out, const PolicyGradientOptions& options,
                                           const RandomStream& stream, const Executor& executor,
                                           const ProgressSink& progress);

}  // namespace desirepath::inline models
