// What a hidden chain is made of, and the one way through the students of some evidence under it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/emissions/family.h"
#include "desirepath/models/chain_evidence.h"
#include "desirepath/probability/markov_chain.h"

namespace desirepath::inline models {

/// All but the emissions: where states begin, how they follow each other, and in a chain of one step when students
/// leave.
struct ChainDynamics {
  ChainPrior prior;
  Matrix departures;
};

/// Copies share the emissions, which are immutable.
struct ChainParameters {
  ChainPrior prior;                                        // with "left" as the last state where there is one
  std::vector<std::shared_ptr<const Emission>> emissions;  // one a pool of steps; states without "left"
  bool has_left_state = false;
  Matrix departures;  // states by periods 1 .. T (T = never leaves); empty where nobody leaves
  /// The dynamics refitted to the mass of the emissions, where learning climbs another likelihood: for answers.
  std::optional<ChainDynamics> mass_dynamics = std::nullopt;

  /// As questions see the chain: the dynamics refitted to mass are the dynamics.
  ChainParameters answering() const;
  Id emitting_states() const { return emissions.front()->state_count(); }
  /// Transitions that are parameters of their own: a tied chain has one for all steps.
  std::size_t own_transitions(TimeStructure structure) const;
  /// Nothing, or what does not fit together.
  std::optional<std::string> fault(const StepLayout& layout, const Schema& schema) const;

  /// Names begin with `prefix`: "" in a model file, others beside each other in a checkpoint.
  void save(ArchiveWriter& archive, const std::string& prefix) const;
  /// Throws ArchiveError, also where the parameters do not fit the layout.
  static ChainParameters load(const ArchiveReader& archive, const std::string& prefix, const StepLayout& layout,
                              const Schema& schema, const EmissionFamily& family);
};

/// log p(row | state) of every row of every pool.
std::vector<RowScores> score_pools(const ChainParameters& parameters, const ChainEvidence& evidence,
                                   LikelihoodKind kind, Precision precision, const Executor& executor);
/// Who was there, and departures, of a student: steps by states, without the rows' scores.
void student_frame(const ChainParameters& parameters, const ChainEvidence& evidence, std::int64_t student,
                   RowMatrix& out);
/// log p(departure within the range | state), one a state; zeros where the model knows no departures.
Vector log_departure(const Matrix& departures, const DepartureRange& range);

/// Students first .. last-1 in order, each with its log-emissions (steps by states).
void for_each_student(const ChainParameters& parameters, const ChainEvidence& evidence,
                      const std::vector<RowScores>& scores, Range students,
                      const std::function<void(std::int64_t student, const RowMatrix& emissions)>& body);
/// The same with the posterior of the states and log p(evidence).
void for_each_posterior(
    const ChainParameters& parameters, const ChainEvidence& evidence, const std::vector<RowScores>& scores,
    Range students,
    const std::function<void(std::int64_t student, double log_likelihood, const ChainPosterior& posterior)>& body);
/// log p of every student.
Vector student_log_likelihoods(const ChainParameters& parameters, const ChainEvidence& evidence,
                               const std::vector<RowScores>& scores, const Executor& executor);

}  // namespace desirepath::inline models
