// A hidden chain on its data, as EM sees it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "desirepath/emissions/learner.h"
#include "desirepath/learning/em.h"
#include "desirepath/models/chain_parameters.h"
#include "desirepath/models/fixed_transitions.h"

namespace desirepath::inline models {

/// What a chain is to become.
struct ChainTask {
  Schema schema;
  Id states = 2;  // that emit; "left" comes on top
  double state_pseudocount = 0.1;
  FixedTransitions fixed;
  std::vector<double> weights;  // one a student; empty: all one

  double weight_of(std::int64_t student) const {
    return weights.empty() ? 1 : weights[static_cast<std::size_t>(student)];
  }
};

/// Start labels: p(state) for a student in a step; rows sum to one. A student not named has no row.
struct SoftLabels {
  RowMatrix weights;                   // (student, step) by states
  std::vector<std::uint8_t> labelled;  // (student, step)
};

/// What one restart has to remember between E and M step: enough to go on from.
struct ChainResponsibilities {
  std::vector<RowMatrix> rows;  // by pool: rows by states
  Vector initial;               // expected weight of each state at the first step
  std::vector<Matrix> pairs;    // expected weight of (from, to), by step
  Matrix departures;            // states by periods; empty where nobody leaves
};

/// Once before training: the students each row stands for, by their weights (none: one each).
void weigh_rows(ChainEvidence& evidence, std::span<const double> student_weights);

/// Mean log-likelihood per student, by the kind that learning climbs.
double mean_log_likelihood(const ChainParameters& parameters, const ChainEvidence& evidence, const ChainTask& weighed,
                           const Executor& executor);

class ChainProblem : public EmProblem {
 public:
  /// Task, evidence and learner must outlive the problem.
  ChainProblem(const ChainTask& task, ChainEvidence& evidence, const EmissionLearner& learner,
               const Executor& executor);

  /// Parameters by one M step from labels; the stream is for what an emission draws in its first.
  void start_from_labels(const SoftLabels& labels, const RandomStream& stream);
  void start_from_kmeans(RandomStream stream);
  void start_at_random(RandomStream stream);
  void start_from_parameters(ChainParameters parameters) { parameters_ = std::move(parameters); }
  /// Draws states apart that have become equal in all their rows; true if there were any.
  bool part_equal_states(RandomStream stream);
  /// By one M step; only where that needs no previous parameters.
  void start_from_responsibilities(ChainResponsibilities responsibilities);

  Id state_count() const { return task_.states; }
  double student_weight() const override { return total_weight_; }
  Expectation expectation() override;
  void maximisation() override;
  bool exact_m_step() const override { return learner_.exact_m_step(); }
  void keep_as_best() override { best_ = parameters_; }
  void return_to_best() override { parameters_ = best_; }
  /// The best iterate of an inexact climb; null where every step climbs.
  const ChainParameters* best() const { return best_.emissions.empty() ? nullptr : &best_; }
  void restore_best(ChainParameters best) { best_ = std::move(best); }
  bool propose(int iteration) override;
  void withdraw() override {
    parameters_ = std::move(withdrawn_);
    on_proposal_ = false;
  }

  /// Nothing, or why a climb on this data cannot begin or go on from there.
  std::optional<std::string> incompatibility(const ChainParameters& parameters) const;
  std::optional<std::string> incompatibility(const ChainResponsibilities& responsibilities) const;

  const ChainParameters& parameters() const { return parameters_; }
  /// What the last M step made, or the start: the point a run is taken up at, also while a proposal is tried or after
  /// it was taken.
  const ChainParameters& level_parameters() const { return on_proposal_ ? withdrawn_ : parameters_; }
  ChainParameters take_parameters() { return std::move(parameters_); }
  const ChainResponsibilities& responsibilities() const { return responsibilities_; }
  /// An E step that also finds state_entropy().
  Expectation measure();
  /// Entropy of the hidden paths given the evidence (nats), for ICL; of the last measure().
  double state_entropy() const { return state_entropy_; }
  /// After EM: what the learner sets outside the climb, from the responsibilities of the last E step. True where that
  /// changed the parameters.
  bool finish_emissions();
  /// What the learner has to say of the states as the last E step found them, in order of periods and states.
  std::vector<std::string> notes() const;
  /// log p of every student when each is left out in turn: its own share of the last expectation() is taken out, one M
  /// step follows, and it is scored by the kind that learning climbs. A weight above one loses one. One EM step towards
  /// the optimum without the student, not the optimum. Throws OptionError where the emissions have no such step.
  Vector left_out_scores() const;
  /// Expected weight of each state, steps by states, at the last E step.
  RowMatrix state_weights() const { return state_weights_; }
  /// Of those who were there: what the emissions of each state rest on. An hmm, whose states emit the same throughout,
  /// has those of every step together, and says how they are spread by state_weights().
  RowMatrix present_weights() const;
  /// EM of everything but the emissions, from the current parameters, with the emissions scored by this kind. Leaves
  /// the responsibilities of that.
  ChainDynamics fit_dynamics(LikelihoodKind kind);
  /// The M step of everything but the emissions: only prior, departures and the state of having left are filled.
  ChainParameters prior_from(const ChainResponsibilities& sums) const;
  const std::set<std::string>& warnings() const { return warnings_; }
  /// How often each state was re-seeded, by pool and state: part of what a run continues from.
  const std::vector<std::vector<int>>& reseeds() const { return reseeds_; }
  void restore(std::set<std::string> warnings, std::vector<std::vector<int>> reseeds) {
    warnings_ = std::move(warnings);
    reseeds_ = std::move(reseeds);
  }

 private:
  void take_prior(ChainParameters prior);
  void begin_emissions(const RandomStream& stream);
  void maximise_emissions();
  /// The emission that a step on a pool comes to; null where it has none, or where there is no step.
  std::unique_ptr<Emission> run(const std::unique_ptr<EmissionStep>& step, std::size_t pool,
                                std::optional<Statistics> counted = std::nullopt) const;
  /// Students expected in each state of a pool, everybody's.
  Vector pool_weights(std::size_t pool) const;
  /// Numbers counted here and by peers.
  Vector added_up(Vector numbers) const;
  void aggregate_rows(const std::vector<RowMatrix>& gamma);
  /// Adds what is expected of a student's departure: states by periods.
  void add_departures(std::int64_t student, double weight, const Eigen::RowVectorXd& states,
                      Eigen::Ref<Matrix> sums) const;
  /// Scores of all rows under the current parameters; with one state, the counts of the M step in the same pass.
  void score_rows();
  Expectation expectation_from_scores();
  Expectation expectation_by_rows();
  Expectation expectation_by_students();
  double log_prior() const;
  /// Gives an emptied state to the row that the model explains worst; true if there was one.
  bool reseed_empty_state();
  struct WorstRow;
  std::vector<WorstRow> worst_rows(std::size_t pool, std::size_t count) const;
  std::string state_name(Id pool, Id state) const;

  const ChainTask& task_;
  ChainEvidence& evidence_;
  const EmissionLearner& learner_;
  const Executor& executor_;
  bool has_left_ = false;                     // an absorbing state of the chain
  bool has_departures_ = false;               // a distribution of departures in a chain of one step
  double own_weight_ = 0, total_weight_ = 0;  // of the students here, and of all
  std::vector<RowSurvey> surveys_;            // by pool
  ChainParameters parameters_, best_, withdrawn_;
  bool on_proposal_ = false;  // parameters_ are a proposal's, withdrawn_ those before
  ChainResponsibilities responsibilities_;
  std::vector<RowScores> scores_;  // of the last E step
  /// What the next M step counts first, where the last E step counted it with these emissions.
  struct Counted {
    std::shared_ptr<const Emission> emission;
    Statistics sums;
  };
  std::vector<Counted> counted_;  // by pool, or empty
  RowMatrix state_weights_;
  double state_entropy_ = 0;
  bool measures_entropy_ = false;
  std::set<std::string> warnings_;
  std::vector<std::vector<int>> reseeds_;  // tries, by pool and state
};

}  // namespace desirepath::inline models
