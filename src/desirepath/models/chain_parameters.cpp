#include "desirepath/models/chain_parameters.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"

namespace desirepath::inline models {

std::size_t ChainParameters::own_transitions(TimeStructure structure) const {
  const std::size_t all = prior.transitions.size();
  return structure == TimeStructure::tied ? std::min<std::size_t>(1, all) : all;
}

ChainParameters ChainParameters::answering() const {
  ChainParameters result = *this;
  if (mass_dynamics) {
    result.prior = mass_dynamics->prior;
    result.departures = mass_dynamics->departures;
    result.mass_dynamics.reset();
  }
  return result;
}

namespace {

std::optional<std::string> fault_of(const ChainPrior& prior, const Matrix& departures, const StepLayout& layout,
                                    const Schema& schema) {
  const Index states = prior.state_count();
  if (prior.step_count() != layout.step_count()) return "transitions do not fit the steps";
  const auto is_distribution = [](const auto& row) {
    return (row.array() >= 0).all() && std::abs(row.sum() - 1) < 1e-6;
  };
  if (!is_distribution(prior.initial)) return "initial probabilities do not sum to one";
  for (const Matrix& transition : prior.transitions) {
    if (transition.rows() != states || transition.cols() != states) return "transitions do not fit the states";
    for (Index k = 0; k < states; ++k) {
      if (!is_distribution(transition.row(k))) return "transition probabilities do not sum to one";
    }
  }
  if (departures.size() == 0) return std::nullopt;
  if (departures.rows() != states || departures.cols() != schema.period_count())
    return "departures do not fit states and periods";
  for (Index k = 0; k < states; ++k) {
    if (!is_distribution(departures.row(k))) return "departure probabilities do not sum to one";
  }
  return std::nullopt;
}

void save_dynamics(ArchiveWriter& archive, const std::string& prefix, const ChainPrior& prior,
                   const Matrix& departures) {
  const auto states = static_cast<std::int64_t>(prior.state_count());
  std::vector<double> transitions;  // steps-1 by from by to
  for (const Matrix& transition : prior.transitions) {
    const RowMatrix rows = transition;
    transitions.insert(transitions.end(), rows.data(), rows.data() + rows.size());
  }
  archive.add(prefix + "initial", prior.initial);
  archive.add(prefix + "transitions", std::move(transitions), {prior.step_count() - 1, states, states});
  if (departures.size() > 0) archive.add_columns(prefix + "departures", departures);
}

ChainDynamics load_dynamics(const ArchiveReader& archive, const std::string& prefix, const StepLayout& layout) {
  ChainDynamics dynamics;
  const std::vector<double> initial = archive.read<double>(prefix + "initial");
  const auto states = static_cast<std::int64_t>(initial.size());
  if (states == 0) archive.refuse("damaged: no states");
  dynamics.prior.initial = Eigen::Map<const Vector>(initial.data(), states);
  const std::vector<double> transitions =
      archive.read<double>(prefix + "transitions", {layout.step_count() - 1, states, states});
  for (Id t = 0; t + 1 < layout.step_count(); ++t) {
    dynamics.prior.transitions.emplace_back(
        Eigen::Map<const RowMatrix>(transitions.data() + t * states * states, states, states));
  }
  if (archive.has(prefix + "departures")) dynamics.departures = archive.read_columns(prefix + "departures");
  return dynamics;
}

constexpr const char* mass_prefix = "mass.";

}  // namespace

std::optional<std::string> ChainParameters::fault(const StepLayout& layout, const Schema& schema) const {
  const Index states = prior.state_count();
  if (static_cast<Id>(emissions.size()) != layout.pool_count()) return "emissions do not fit the steps";
  const StepShape shape = layout.shape(schema);
  for (const auto& emission : emissions) {
    if (!emission->fits(shape) || emission->state_count() < 1 ||
        emission->state_count() + (has_left_state ? 1 : 0) != states)
      return "emissions do not fit courses and states";
    const bool carries_over = offered<ReadsHistory>(*emission) != nullptr;
    if (carries_over != (offered<ReadsHistory>(*emissions.front()) != nullptr)) return "only some states carry over";
  }
  std::optional<std::string> fault = fault_of(prior, departures, layout, schema);
  if (fault || !mass_dynamics) return fault;
  if (mass_dynamics->prior.state_count() != states || mass_dynamics->departures.size() != departures.size())
    return "the dynamics refitted to mass do not fit the others";
  return fault_of(mass_dynamics->prior, mass_dynamics->departures, layout, schema);
}

void ChainParameters::save(ArchiveWriter& archive, const std::string& prefix) const {
  archive.set(prefix + "left_state", has_left_state ? "yes" : "no");
  save_dynamics(archive, prefix, prior, departures);
  if (mass_dynamics) save_dynamics(archive, prefix + mass_prefix, mass_dynamics->prior, mass_dynamics->departures);
  for (std::size_t p = 0; p < emissions.size(); ++p)
    emissions[p]->save(archive, concat(prefix, "emission.", p));
}

ChainParameters ChainParameters::load(const ArchiveReader& archive, const std::string& prefix, const StepLayout& layout,
                                      const Schema& schema, const EmissionFamily& family) {
  ChainParameters parameters;
  parameters.has_left_state = archive.metadata(prefix + "left_state") == "yes";
  ChainDynamics dynamics = load_dynamics(archive, prefix, layout);
  parameters.prior = std::move(dynamics.prior);
  parameters.departures = std::move(dynamics.departures);
  if (archive.has(prefix + mass_prefix + "initial"))
    parameters.mass_dynamics = load_dynamics(archive, prefix + mass_prefix, layout);
  try {
    for (Id p = 0; p < layout.pool_count(); ++p)
      parameters.emissions.push_back(family.load(archive, concat(prefix, "emission.", p)));
  } catch (const ArchiveError&) {
    throw;
  } catch (const Error& error) {
    archive.refuse(concat("damaged: ", error.what()));
  }
  if (const auto fault = parameters.fault(layout, schema)) archive.refuse("damaged: " + *fault);
  return parameters;
}

std::vector<RowScores> score_pools(const ChainParameters& parameters, const ChainEvidence& evidence,
                                   LikelihoodKind kind, Precision precision, const Executor& executor) {
  std::vector<RowScores> scores;
  for (std::size_t p = 0; p < evidence.pools.size(); ++p)
    scores.push_back(parameters.emissions[p]->score(evidence.pools[p].rows, kind, precision, executor));
  return scores;
}

Vector log_departure(const Matrix& departures, const DepartureRange& range) {
  Vector logs = Vector::Zero(departures.rows());
  for (Index k = 0; k < departures.rows(); ++k) {
    double sum = 0;
    for (Id d = range.earliest; d <= range.latest; ++d)
      sum += departures(k, d - 1);
    logs[k] = sum > 0 ? std::log(sum) : -infinity;
  }
  return logs;
}

void student_frame(const ChainParameters& parameters, const ChainEvidence& evidence, std::int64_t student,
                   RowMatrix& out) {
  out.setZero();
  if (parameters.has_left_state) {
    const Index left = parameters.prior.state_count() - 1;
    for (Id step = 0; step < evidence.layout->step_count(); ++step) {
      const Presence presence = evidence.presence_at(student, step);
      if (presence == Presence::present) out(step, left) = -infinity;
      if (presence == Presence::left) out.row(step).head(left).setConstant(-infinity);
    }
  }
  if (parameters.departures.size() > 0) {
    out.row(0) +=
        log_departure(parameters.departures, evidence.departures[static_cast<std::size_t>(student)]).transpose();
  }
}

void for_each_student(const ChainParameters& parameters, const ChainEvidence& evidence,
                      const std::vector<RowScores>& scores, Range students,
                      const std::function<void(std::int64_t, const RowMatrix&)>& body) {
  const StepLayout& layout = *evidence.layout;
  const Id emitting = parameters.emitting_states();
  RowMatrix emissions(layout.step_count(), parameters.prior.state_count());
  for (std::int64_t student = students.first; student < students.last; ++student) {
    student_frame(parameters, evidence, student, emissions);
    for (Id step = 0; step < layout.step_count(); ++step) {
      const std::int32_t row = evidence.row(student, step);
      if (row < 0) continue;
      emissions.row(step).head(emitting) +=
          scores[static_cast<std::size_t>(layout.pool_of[static_cast<std::size_t>(step)])].log_likelihood.row(row);
    }
    body(student, emissions);
  }
}

void for_each_posterior(const ChainParameters& parameters, const ChainEvidence& evidence,
                        const std::vector<RowScores>& scores, Range students,
                        const std::function<void(std::int64_t, double, const ChainPosterior&)>& body) {
  ChainPosterior posterior(parameters.prior);
  for_each_student(parameters, evidence, scores, students, [&](std::int64_t student, const RowMatrix& emissions) {
    const double log_likelihood = posterior.run(emissions);
    if (std::isnan(log_likelihood)) throw NumericalError("the model's numbers are so large that a probability is lost");
    body(student, log_likelihood, posterior);
  });
}

Vector student_log_likelihoods(const ChainParameters& parameters, const ChainEvidence& evidence,
                               const std::vector<RowScores>& scores, const Executor& executor) {
  Vector result(evidence.student_count());
  executor.for_blocks(evidence.student_count(), students_per_block, [&](Range range) {
    for_each_posterior(
        parameters, evidence, scores, range,
        [&](std::int64_t s, double log_likelihood, const ChainPosterior&) { result[s] = log_likelihood; });
  });
  return result;
}

}  // namespace desirepath::inline models
