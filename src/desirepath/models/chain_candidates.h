// Where the climbs of a chain begin: several cheap candidates are tried for a few iterations, the best few are climbed
// from (docs/models/chain.md).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "desirepath/models/chain_settings.h"
#include "desirepath/models/chain_training.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

enum class Origin {
  given,     // labels or a model
  kmeans,    // k-means on the rows of each pool of steps
  random,    // soft labels, uniform on the simplex
  pathways,  // k-means on whole pathways; the same label in all periods
  mixture,   // the states of a mixture of independent courses (nb) in all periods
  kept,      // the same, and states may not change between periods: what the chain must not fall below
  released   // from the optimum with kept states, with all transitions free
};
std::string_view name_of(Origin origin);

struct ClimbStart {
  Origin origin = Origin::given;
  int number = 0;  // which draw of its kind
};

/// What a search for starts has found so far: kept in checkpoints.
struct StartFindings {
  RowMatrix mixture;           // students by states: p(state | pathway); empty: not asked for or not yet known
  std::vector<double> trials;  // objective of each candidate after its trial, in their order
};

class ChainCandidates {
 public:
  /// All must outlive this. `evidence` is of `students`.
  ChainCandidates(const Cohort& students, ChainEvidence& evidence, const ChainTask& task,
                  const EmissionLearner& learner, const FitOptions& options, const TrainingContext& context);

  /// Whether there is anything to find out before the first climb.
  bool is_search() const { return !candidates_.empty(); }
  const std::vector<ClimbStart>& candidates() const { return candidates_; }
  bool needs_mixture() const;
  /// Goes on from what is found; `after_each` whenever there is more to keep. The mixture writes its own checkpoints.
  void find(StartFindings& found, bool side_by_side, const std::function<void()>& after_each) const;
  /// One a climb, in their order. Needs all trials.
  std::vector<ClimbStart> plan(const StartFindings& found) const;
  /// Of the plan.
  int climb_count() const { return climbs_ + (has_kept_ ? 1 : 0); }
  /// The chain with states kept through all periods.
  const ChainTask& kept_task() const { return kept_task_; }

  /// Puts a problem at a start that is neither given nor released.
  void begin(ChainProblem& problem, const ClimbStart& start, const StartFindings& found) const;
  /// The optimum with kept states with a way open between any two of them.
  ChainParameters released(ChainParameters kept) const;

 private:
  RandomStream stream_of(const ClimbStart& start) const;
  double try_out(const ClimbStart& start, const StartFindings& found) const;
  RowMatrix fit_mixture() const;
  SoftLabels in_all_periods(const RowMatrix& by_student) const;
  SoftLabels pathway_labels(RandomStream stream) const;

  const Cohort& students_;
  ChainEvidence& evidence_;
  const ChainTask& task_;
  const EmissionLearner& learner_;
  const FitOptions& options_;
  const TrainingContext& context_;
  ChainSettings settings_;
  ChainTask kept_task_;
  bool has_kept_ = false;
  int climbs_ = 1;
  std::vector<ClimbStart> candidates_;
};

}  // namespace desirepath::inline models
