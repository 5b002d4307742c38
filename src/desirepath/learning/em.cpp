#include "desirepath/learning/em.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline learning {

namespace {
/// What rounding may take from an objective that must not fall.
double rounding_slack(double objective) {
  return 1e-10 * (1 + std::abs(objective));
}
}  // namespace

EmProgress run_em(EmProblem& problem, const EmOptions& options, EmProgress start, const EmHooks& hooks) {
  EmProgress em = std::move(start);
  const double students = problem.student_weight();
  const auto record = [&](const Expectation& found) {
    if (!std::isfinite(found.objective())) {
      throw NumericalError(found.log_likelihood == -infinity
                               ? concat("a student is impossible under the model (probability 0): give ",
                                        setting_name("pseudocount"), " above 0")
                               : "EM: the objective is not finite");
    }
    const double before = em.objective_trace.empty() ? -infinity : em.objective_trace.back();
    const double objective = found.objective();
    if (objective < before - rounding_slack(before) - found.rounding) {
      if (problem.exact_m_step()) {
        throw NumericalError(concat("EM: the objective fell from ", shortest(before), " to ", shortest(objective),
                                    " in iteration ", em.iteration));
      }
      em.fell = true;
    }
    em.trace.push_back(found.log_likelihood);
    em.objective_trace.push_back(objective);
    if (objective > em.best_objective) {
      em.best_objective = objective;
      em.best_iteration = em.iteration;
      if (!problem.exact_m_step()) problem.keep_as_best();
    }
    const double change = (objective - before) / students;
    if (hooks.progress) {
      const double share = options.max_iterations > 0 ? static_cast<double>(em.iteration) / options.max_iterations : 1;
      hooks.progress({"em", share, em.iteration, objective / students,
                      std::isfinite(change) ? change : std::numeric_limits<double>::quiet_NaN()});
    }
    em.converged = options.tolerance > 0 && std::isfinite(change) &&
                   std::abs(change) < options.tolerance * (1 + std::abs(objective / students));
  };
  while (true) {
    Expectation found = problem.expectation();
    if (em.iteration > 0 && problem.propose(em.iteration)) {
      const Expectation proposed = problem.expectation();
      if (std::isfinite(proposed.objective()) && proposed.objective() > found.objective()) {
        found = proposed;
      } else {
        problem.withdraw();
        found = problem.expectation();
      }
    }
    record(found);
    em.stopped = hooks.after_expectation && hooks.after_expectation(em);
    if (em.converged || em.stopped || em.iteration >= options.max_iterations) break;
    problem.maximisation();
    ++em.iteration;
    if (hooks.after_maximisation) hooks.after_maximisation(em);
  }
  if (hooks.at_end) hooks.at_end();
  if (!problem.exact_m_step() && em.best_iteration != em.iteration) problem.return_to_best();
  return em;
}

}  // namespace desirepath::inline learning
