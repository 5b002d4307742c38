#include "desirepath/models/chain_inputs.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/training_run.h"

namespace desirepath::inline models {

SoftLabels labels_from_rows(const TrainingContext& context, const Cohort& cohort, const StepLayout& layout, Id states) {
  std::unordered_map<std::string, std::int64_t> numbers;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    numbers.emplace(cohort.students()[static_cast<std::size_t>(s)], s);
  const Id steps = layout.step_count();
  SoftLabels labels;
  labels.weights = RowMatrix::Zero(cohort.student_count() * steps, states);
  labels.labelled.assign(static_cast<std::size_t>(cohort.student_count() * steps), 0);
  for (const LabelRow& row : context.labels) {
    const auto refuse = [&](const std::string& reason) {
      throw InputError({context.labels_file, row.record, 0}, reason);
    };
    if (row.state < 0 || row.state >= states) refuse(concat("state ", row.state, " is not one of 0 .. ", states - 1));
    if (!(row.weight >= 0) || !std::isfinite(row.weight)) refuse("weight must be a number from 0");
    const auto student = numbers.find(row.student);
    if (student == numbers.end()) continue;  // filtered out of the cohort
    // In a chain of one step the labels of the first period count. "all", as `states --csv` writes it of such a chain,
    // stands for every period.
    const bool one_step = layout.structure == TimeStructure::one_step;
    const bool all = row.period == "all" && !cohort.schema().find_period(row.period);
    const auto period = all ? std::optional<Id>(0) : cohort.schema().find_period(row.period);
    if (!period) refuse(concat("no period '", row.period, "'"));
    if (one_step && *period != 0) continue;
    for (Id step = *period; step <= (all ? steps - 1 : *period); ++step) {
      const std::int64_t at = student->second * steps + step;
      labels.weights(at, row.state) += row.weight;
      labels.labelled[static_cast<std::size_t>(at)] = 1;
    }
  }
  for (Index r = 0; r < labels.weights.rows(); ++r) {
    const double sum = labels.weights.row(r).sum();
    if (sum > 0)
      labels.weights.row(r) /= sum;
    else
      labels.labelled[static_cast<std::size_t>(r)] = 0;
  }
  if (std::ranges::find(labels.labelled, 1) == labels.labelled.end()) {
    throw InputError(concat(context.labels_file, ": no label is of a student in the cohort"));
  }
  return labels;
}

const HiddenChain& as_chain(const Model& model, std::string_view setting) {
  const auto* has = offered<HasChain>(model);
  if (has == nullptr || model.hidden_states() == nullptr)
    throw OptionError(concat(setting_name(setting), ": the model has no hidden states"));
  return has->chain();
}

ChainParameters warm_parameters(const Model& model, const ChainIdentity& wanted, const ChainTask& task,
                                const EmissionLearner& learner, const ChainProblem& problem) {
  const std::string name = setting_name("warm");
  const HiddenChain& warm = as_chain(model, "warm");
  const ChainIdentity& identity = warm.identity();
  require_same_bits(warm, wanted.schema);
  if (identity.structure != wanted.structure || identity.emission != wanted.emission)
    throw OptionError(concat(name, ": the model is ", warm.name()));
  ChainParameters parameters = warm.parameters();
  parameters.mass_dynamics.reset();
  if (const auto* reopens = offered<ReopensEmissions>(learner)) {
    for (auto& emission : parameters.emissions) {
      if (auto reopened = reopens->reopened(*emission)) emission = std::move(reopened);
    }
  }
  if (const auto reason = problem.incompatibility(parameters))
    throw OptionError(concat(name, ": the model has ", *reason));
  // A transition of probability 0 that is free here, as a chain with kept states has them, is outside the prior.
  constexpr double opening = 1e-6;
  for (std::size_t t = 0; task.state_pseudocount > 0 && t < parameters.prior.transitions.size(); ++t) {
    Matrix& transition = parameters.prior.transitions[t];
    for (Id from = 0; from < task.states; ++from) {
      Eigen::RowVectorXd weights = transition.row(from);
      const std::vector<Id> free = task.fixed.free_entries(static_cast<Id>(t), from, static_cast<Id>(weights.size()));
      if (std::ranges::all_of(free, [&](Id to) { return weights[to] > 0; })) continue;
      transition.row(from) = task.fixed.row(static_cast<Id>(t), from, weights.array() + opening);
    }
  }
  return parameters;
}

FixedTransitions fixed_from_rows(const TrainingContext& context, const Schema& schema, const StepLayout& layout,
                                 Id states) {
  if (!context.transitions.empty() && layout.step_count() == 1)
    throw OptionError(concat(setting_name("transitions"), ": a model of one step has none"));
  FixedTransitions fixed;
  for (const TransitionRow& row : context.transitions) {
    const auto refuse = [&](const std::string& reason) {
      throw InputError({context.transitions_file, row.record, 0}, reason);
    };
    const auto period = schema.find_period(row.period);
    if (!period && !row.period.empty()) refuse(concat("no period '", row.period, "'"));
    if (period && *period + 1 >= schema.period_count()) refuse(concat("no period follows '", row.period, "'"));
    if (std::min(row.from, row.to) < 0 || std::max(row.from, row.to) >= states)
      refuse(concat("a state that is not one of 0 .. ", states - 1));
    if (!(row.probability >= 0 && row.probability <= 1)) refuse("a probability outside 0 .. 1");
    for (Id t = 0; t + 1 < layout.step_count(); ++t) {
      // A tied chain has one matrix; an empty period stands for all.
      if (!period || *period == t || layout.structure == TimeStructure::tied)
        fixed.fix(t, row.from, row.to, row.probability);
    }
  }
  fixed.check(states);
  return fixed;
}

}  // namespace desirepath::inline models
