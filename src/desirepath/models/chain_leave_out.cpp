// Leave-one-out scores of a hidden chain: the paper's model per student (5.1), all of them for the cost of a few E
// steps.
#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/chain_fit.h"
#include "desirepath/models/chain_inputs.h"
#include "desirepath/models/chain_settings.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/training_record.h"

namespace desirepath::inline models {

Vector ChainProblem::left_out_scores() const {
  const StepLayout& layout = *evidence_.layout;
  const Id steps = layout.step_count();
  const Index states = parameters_.prior.state_count(), emitting = task_.states;
  const auto* leaves_out = offered<LeavesRowsOut>(learner_);
  if (leaves_out == nullptr)
    throw OptionError(concat("leave-one-out: there is none for the emission '", learner_.family(), "'"));
  std::vector<std::unique_ptr<LeftOut>> left_out;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const StepRows& rows = evidence_.pools[p].rows;
    const Emission& emission = *parameters_.emissions[p];
    Statistics sums = learner_.step(surveys_[p], emission)->count(rows, responsibilities_.rows[p], executor_);
    executor_.add_up(sums);
    left_out.push_back(leaves_out->leave_out(rows, std::move(sums), surveys_[p], emission));
  }
  const bool is_mass = parameters_.emissions.front()->training_kind() == LikelihoodKind::mass;
  Vector result(evidence_.student_count());
  executor_.for_blocks(evidence_.student_count(), 64, [&](Range range) {
    RowMatrix emissions(steps, states), pool_weights, pool_scores;
    std::vector<std::int32_t> rows;
    const auto leave_out = [&](std::int64_t s, double, const ChainPosterior& posterior) {
      const double own = std::min(1.0, task_.weight_of(s));
      ChainResponsibilities sums{{}, responsibilities_.initial, responsibilities_.pairs, responsibilities_.departures};
      sums.initial.head(states) -= own * posterior.states().row(0).transpose();
      for (Id t = 0; t + 1 < steps; ++t)
        posterior.add_pairs(t, -own, sums.pairs[static_cast<std::size_t>(t)]);
      if (has_departures_) add_departures(s, -own, posterior.states().row(0), sums.departures);
      // Rounding may leave less than nothing of a sum that was the student's alone.
      sums.initial = sums.initial.cwiseMax(0);
      for (Matrix& pairs : sums.pairs)
        pairs = pairs.cwiseMax(0);
      if (has_departures_) sums.departures = sums.departures.cwiseMax(0);
      const ChainParameters without = prior_from(sums);

      // Departures and "left" enter as they do with the student: only the rows are scored anew.
      const RowMatrix& known = posterior.states();
      student_frame(without, evidence_, s, emissions);
      for (std::size_t p = 0; p < left_out.size(); ++p) {
        rows.clear();
        std::vector<Id> at;
        for (const Id step : layout.pools[p]) {
          if (evidence_.row(s, step) < 0) continue;
          rows.push_back(evidence_.row(s, step));
          at.push_back(step);
        }
        if (rows.empty()) continue;
        pool_weights.resize(static_cast<Index>(rows.size()), emitting);
        for (std::size_t r = 0; r < rows.size(); ++r)
          pool_weights.row(static_cast<Index>(r)) = own * known.row(at[r]).head(emitting);
        left_out[p]->score(rows, pool_weights, pool_scores);
        for (std::size_t r = 0; r < rows.size(); ++r)
          emissions.row(at[r]).head(emitting) += pool_scores.row(static_cast<Index>(r));
      }
      const double score = ChainPosterior(without.prior).run(emissions);
      result[s] = is_mass ? std::min(score, 0.0) : score;
    };
    for_each_posterior(parameters_, evidence_, scores_, range, leave_out);
  });
  if (result.hasNaN()) throw NumericalError("the model's numbers are so large that a probability is lost");
  return result;
}

Vector chain_leave_one_out(const Model& model, const TrainingRecord& training, const Cohort& cohort,
                           const Executor& executor) {
  const FitOptions& options = training.trained_with();
  const HiddenChain& chain = as_chain(model, "leave-one-out");
  const auto settings = options.read<ChainSettings>();
  // Before any work: a scoring of all students may take minutes.
  const std::unique_ptr<EmissionLearner> learner =
      options.choice().emission->learner(options.values(), chain.layout().shape(cohort.schema()));
  if (chain.layout().with_history)
    throw OptionError(concat("leave-one-out: there is none for a chain with ", setting_name("carry-over")));
  if (offered<LeavesRowsOut>(*learner) == nullptr)
    throw OptionError(concat("leave-one-out: there is none for the emission '", chain.identity().emission, "'"));
  if (settings.validation)
    throw OptionError(concat("leave-one-out: the model was trained on a share of the students (",
                             setting_name("validation"), "); train on all"));
  if (training.data_fingerprint != cohort.fingerprint())
    throw OptionError("leave-one-out: the model was trained on another cohort than this one");
  if (!chain.identity().schema.has_same_bits(cohort.schema()))
    throw ArchiveError("the model file's record of its training is of other courses");
  if (settings.states != chain.parameters().emitting_states())
    throw ArchiveError("the model file's record of its training is of another number of states");
  TrainingContext context{executor};
  context.transitions = training.transitions;
  ChainTask task{cohort.schema(),
                 settings.states,
                 settings.state_pseudocount,
                 fixed_from_rows(context, cohort.schema(), chain.layout(), settings.states),
                 {}};
  if (!settings.weights.empty()) task.weights = student_weights(cohort, settings.weights);
  ChainEvidence evidence(EvidenceBatch::of(cohort), chain.layout());
  ChainProblem problem(task, evidence, *learner, executor);
  if (const auto reason = problem.incompatibility(chain.parameters()))
    throw ArchiveError(concat("the model file's record of its training is of another model: this has ", *reason));
  problem.start_from_parameters(chain.parameters());
  problem.expectation();
  return problem.left_out_scores();
}

}  // namespace desirepath::inline models
