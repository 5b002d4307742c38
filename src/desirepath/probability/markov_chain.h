// One student's hidden chain: forward-backward, the most likely path, sampling (the paper's appendix, E step).
//
// Steps count from 0; transition t leads from step t to step t+1 and is (from, to). The recursions run on numbers that
// are shifted and rescaled at every step, and fall back to pure logarithms for the rare student whose only possible
// states lie too far below the best impossible ones for that.
#pragma once

#include <span>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// The prior of a chain of some steps over some states. A mixture is a chain of one step.
struct ChainPrior {
  Vector initial;                   // states; sums to one
  std::vector<Matrix> transitions;  // one a pair of neighbouring steps, rows sum to one

  Index state_count() const { return initial.size(); }
  Index step_count() const { return static_cast<Index>(transitions.size()) + 1; }
};

/// Everything the E step needs of one student; reused from student to student.
class ChainPosterior {
 public:
  explicit ChainPosterior(const ChainPrior& prior);

  /// log_emissions: steps by states. Returns log p(evidence); -inf where the evidence is impossible, and then the
  /// posterior is all zeros.
  double run(const RowMatrix& log_emissions);
  /// P(state at step | evidence): steps by states.
  const RowMatrix& states() const { return gamma_; }
  /// Adds weight * P(state at step, state at step+1 | evidence) to (from, to).
  void add_pairs(Index step, double weight, Eigen::Ref<Matrix> sums) const;

 private:
  double run_scaled(const RowMatrix& log_emissions);
  double run_in_logs(const RowMatrix& log_emissions);

  const ChainPrior& prior_;
  RowMatrix emission_, forward_, backward_, gamma_;
  bool in_logs_ = false;
};

/// States of the most likely path and its joint log-probability with the evidence.
struct ChainPath {
  std::vector<Id> states;
  double log_probability = 0;
};
ChainPath most_likely_path(const ChainPrior& prior, const RowMatrix& log_emissions);

/// A path drawn from the posterior given the evidence; throws NumericalError when the evidence is impossible.
std::vector<Id> sample_path(const ChainPrior& prior, const RowMatrix& log_emissions, RandomStream& stream);

}  // namespace desirepath::inline probability
