// Expectation maximisation, once: it knows no model, only how to climb (the paper's 2.1.4).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "desirepath/core/progress.h"
#include "desirepath/core/settings.h"
#include "desirepath/core/types.h"

namespace desirepath::inline learning {

struct EmOptions {
  int max_iterations = 500;
  /// Stop when an iteration gains less than this, relative to the objective's size, per student; 0: run all iterations.
  double tolerance = 1e-7;

  void declare(SettingVisitor& visit) {
    visit(Setting("iterations", "at most").at_least(0).in("Training"), max_iterations);
    visit(Setting("tolerance", "stop when an iteration gains less, relative, per student (0: run all)")
              .at_least(0)
              .in("Training"),
          tolerance);
  }
};

/// What an E step found at the current parameters; totals in nats.
struct Expectation {
  double log_likelihood = 0;
  double log_prior = 0;
  double rounding = 0;  // what it may have taken from the sums, beyond a share of the objective itself
  double objective() const { return log_likelihood + log_prior; }
};

/// A model on its data, with current parameters and the responsibilities of its last E step.
class EmProblem {
 public:
  virtual ~EmProblem() = default;
  /// Total weight of the students.
  virtual double student_weight() const = 0;
  virtual Expectation expectation() = 0;
  virtual void maximisation() = 0;
  /// Whether maximisation() never lowers the objective. Where it may, the best parameters are kept.
  virtual bool exact_m_step() const = 0;
  virtual void keep_as_best() = 0;
  virtual void return_to_best() = 0;
  /// Moves to other parameters worth trying (an emptied state re-seeded, another tree); true if it did. Asked after
  /// each maximisation(); withdraw() undoes it.
  virtual bool propose(int iteration) = 0;
  virtual void withdraw() = 0;
};

/// How far a run has come. `trace` holds what every E step found: entry i belongs to the parameters after i iterations.
struct EmProgress {
  int iteration = 0;
  std::vector<double> trace;            // log-likelihood
  std::vector<double> objective_trace;  // with priors
  bool converged = false;
  bool stopped = false;  // by after_expectation
  bool fell = false;     // an inexact M step lowered the objective at least once
  int best_iteration = 0;
  double best_objective = -infinity;
};

struct EmHooks {
  ProgressSink progress;
  /// After an E step was recorded; true stops the run there.
  std::function<bool(const EmProgress&)> after_expectation;
  /// When the run has come to its end, before an inexact climb returns to its best iterate.
  std::function<void()> at_end;
  /// Between iterations: parameters are new, responsibilities those of the E step before; trace and iteration are
  /// level.
  std::function<void(const EmProgress&)> after_maximisation;
};

/// Climbs from the problem's current parameters until it converges or runs out of iterations; parameters and the last
/// entry of the trace belong together at the end. `start` continues a run that was saved by after_maximisation.
/// Throws NumericalError when the objective is not finite, or falls beyond rounding where it must not.
EmProgress run_em(EmProblem& problem, const EmOptions& options, EmProgress start, const EmHooks& hooks);

}  // namespace desirepath::inline learning
