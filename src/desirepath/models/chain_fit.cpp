#include "desirepath/models/chain_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/chain_candidates.h"
#include "desirepath/models/chain_inputs.h"
#include "desirepath/models/chain_settings.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/models/mass_dynamics.h"
#include "desirepath/models/orthant_em.h"
#include "desirepath/models/state_counts.h"
#include "desirepath/models/state_order.h"

namespace desirepath::inline models {

namespace {

constexpr double program_bytes = 45e6;   // of a fit of next to nothing, as measured
constexpr int validation_patience = 20;  // iterations without a better validation score

class ChainFit : public TrainingRun {
 public:
  ChainFit(const TrainingTask& task, TimeStructure structure)
      : TrainingRun(task),
        executor_(task.context.executor),
        settings_(task.options.read<ChainSettings>()),
        layout_(StepLayout::of(structure, task.cohort.schema())) {
    const ModelChoice& choice = options_.choice();
    identity_ = {choice.model->name, choice.emission->name, choice.emission->name == choice.model->default_emission,
                 structure, cohort_.schema()};
    learner_ = choice.emission->learner(options_.values(), layout_.shape(cohort_.schema()));
    check_settings();
    layout_.with_history = offered<ReadsHistory>(*learner_) != nullptr;
    set_judges_aside();
    if (context_.rows == nullptr)
      own_evidence_ = std::make_unique<ChainEvidence>(EvidenceBatch::of(training()), layout_);
    evidence_ = own_evidence_ ? own_evidence_.get() : context_.rows;
    chain_.schema = cohort_.schema();
    chain_.states = settings_.states;
    chain_.state_pseudocount = settings_.state_pseudocount;
    chain_.fixed = fixed_from_rows(context_, cohort_.schema(), layout_, settings_.states);
    if (!settings_.weights.empty()) chain_.weights = student_weights(training(), settings_.weights);
    weigh_rows(*evidence_, chain_.weights);
    candidates_ = std::make_unique<ChainCandidates>(training(), *evidence_, chain_, *learner_, options_, context_);
  }

  FitEstimate estimate() const override {
    FitEstimate estimate;
    const auto students = static_cast<double>(training().student_count());
    const double states = settings_.states;
    double work = 30 * students * layout_.step_count() * states * (layout_.step_count() > 1 ? states : 1);
    double bytes = 8 * students * layout_.step_count() * states;
    for (const RowPool& pool : evidence_->pools) {
      const auto rows = static_cast<double>(pool.rows.row_count());
      estimate.distinct_rows += pool.rows.row_count();
      bytes += 2 * 8 * rows * states + 12.0 * static_cast<double>(pool.rows.all_taken().one_count()) + 16 * students;
      bytes += learner_->kept_bytes(pool.rows);
      work += learner_->work_estimate(pool.rows, settings_.states);
    }
    bytes += learner_->memory_estimate(layout_.shape(cohort_.schema()).bits(), settings_.states, executor_.threads()) *
             static_cast<double>(evidence_->pools.size());
    // What each block of students adds to the pairs of states.
    const double blocks = std::ceil(students / static_cast<double>(block_size(training().student_count())));
    bytes += 8 * (blocks + 2) * layout_.step_count() * states * (layout_.step_count() > 1 ? states + 1 : 1);
    // The cohort, and the evidence made of it.
    bytes +=
        2 * (4.0 * static_cast<double>(training().enrollments().one_count()) + 12 * students * layout_.step_count());
    estimate.bytes =
        program_bytes + bytes * (runs_side_by_side() ? std::min(settings_.restarts, executor_.threads()) : 1);
    estimate.seconds_per_iteration = work / 1.2e9 / executor_.threads();
    return estimate;
  }

 private:
  void check_settings() const {
    if (settings_.refine == Refinement::policy_gradient) {
      const auto* latents = offered<LearnsLatents>(*learner_);
      if (latents == nullptr || !latents->learns_latents()) {
        std::vector<std::string> families;
        for (const EmissionFamily& family : options_.catalog().emissions) {
          if (!family.latent_with.empty()) families.push_back(concat(family.name, " with ", family.latent_with));
        }
        throw OptionError(concat(setting_name("refine"), " policy-gradient needs ", setting_name("emission"), " ",
                                 join(families, ", ")));
      }
    }
    if (context_.match != nullptr && !context_.transitions.empty())
      throw OptionError(concat(setting_name("match"), " renumbers the states that ", setting_name("transitions"),
                               " names by number: give one of the two"));
  }

  FitResult train() override {
    std::optional<Checkpoint> resumed = load_checkpoint();
    if (resumed) found_ = std::move(resumed->starts);
    find_starts();
    plan_ = candidates_->plan(found_);
    std::vector<RestartResult> finished;
    std::optional<RestartOutcome> best;
    if (runs_side_by_side()) {
      std::vector<std::optional<RestartOutcome>> outcomes(plan_.size());
      const auto run_at = [&](std::size_t r, const RestartOutcome* before) {
        outcomes[r] = run_restart(static_cast<int>(r), before, {});
      };
      executor_.for_each(std::ssize(plan_), [&](std::int64_t r) {
        const auto at = static_cast<std::size_t>(r);
        if (plan_[at].origin == Origin::released) return;
        run_at(at, nullptr);
        if (plan_[at].origin == Origin::kept) run_at(at + 1, &*outcomes[at]);
      });
      for (auto& outcome : outcomes)
        keep_better(best, std::move(*outcome), finished);
    } else {
      const bool climbing = resumed && resumed->climbing;
      const int first = climbing ? resumed->restart : 0;
      if (!climbing) resumed.reset();
      if (climbing) {
        finished = resumed->finished;
        best = std::move(resumed->best_finished);
      }
      for (int r = first; r < std::ssize(plan_); ++r) {
        finished_ = finished;
        best_so_far_ = best ? &*best : nullptr;
        // Where the one before is of kept states, it is the only one and the best.
        RestartOutcome outcome = run_restart(r, best_so_far_, std::exchange(resumed, std::nullopt));
        keep_better(best, std::move(outcome), finished);
      }
    }
    return finish(std::move(*best), std::move(finished));
  }

  bool start_is_given() const { return !context_.labels.empty() || context_.warm != nullptr; }
  int restart_count() const { return candidates_->climb_count(); }
  /// Restarts beside each other use the cores best where one alone is small; a checkpoint follows one at a time.
  bool runs_side_by_side() const {
    const double cells = static_cast<double>(training().student_count()) * layout_.step_count() * settings_.states;
    return restart_count() > 1 && context_.checkpoint.empty() && context_.checkpoint_bytes.empty() && cells < 5e6;
  }

  void set_judges_aside() {
    const bool validates = settings_.validation || context_.validation != nullptr;
    if (!validates && settings_.refine == Refinement::none) return;
    if (context_.validation == nullptr)
      hold_out_for(settings_.validation ? "validation" : "refine", settings_.validation.value_or(refinement_share));
    // Without validation EM itself does not look at the students held out for the refinement.
    auto& evidence = validates ? validation_evidence_ : refinement_evidence_;
    evidence = std::make_unique<ChainEvidence>(EvidenceBatch::of(*judges()), layout_);
    if (validates && !settings_.weights.empty()) validation_.weights = student_weights(*judges(), settings_.weights);
  }

  void find_starts() {
    if (!candidates_->is_search()) return;
    CheckpointWriter writer(checkpoint_, needs_previous());
    const auto write = [&] {
      // Before that, the mixture writes checkpoints of its own.
      if (checkpoint_.is_active() && (!candidates_->needs_mixture() || found_.mixture.size() > 0))
        writer.write_starts(found_);
    };
    std::size_t written = found_.mixture.size() > 0 ? 1 : 0;
    const auto after_each = [&] {
      const bool is_new = found_.mixture.size() > 0 && written == 0;  // in place of the mixture's own
      if (is_new || checkpoint_.is_due()) write();
      written = 1;
    };
    try {
      candidates_->find(found_, runs_side_by_side(), after_each);
    } catch (const Interrupted&) {
      write();
      throw;
    }
  }

  RestartOutcome run_restart(int number, const RestartOutcome* before, std::optional<Checkpoint> resumed) {
    const ClimbStart& origin = plan_[static_cast<std::size_t>(number)];
    ChainProblem problem(origin.origin == Origin::kept ? candidates_->kept_task() : chain_, *evidence_, *learner_,
                         executor_);
    RestartOutcome outcome;
    outcome.result.number = number - (plan_.front().origin == Origin::kept && number > 0 ? 1 : 0);
    outcome.result.seed = options_.seed;
    outcome.result.start = name_of(origin.origin);
    EmProgress start;
    std::optional<ChainParameters> best_validated;
    double best_validation = -infinity;
    if (resumed) {
      start = resumed->em;
      outcome.validation_trace = resumed->validation_trace;
      outcome.best_iteration = resumed->best_iteration;
      if (!outcome.validation_trace.empty()) best_validation = *std::ranges::max_element(outcome.validation_trace);
      if (resumed->best && validation_evidence_)
        best_validated = std::move(resumed->best);
      else if (resumed->best)
        problem.restore_best(std::move(*resumed->best));
      problem.restore(resumed->warnings, resumed->reseeds);
      resumed->put_into(problem);
    } else {
      begin(problem, origin, before);
    }

    EmHooks hooks;
    if (context_.progress) {
      hooks.progress = [&, number](ProgressEvent event) {
        if (plan_.size() > 1) event.phase = concat("climb ", number + 1, "/", plan_.size());
        report(event);
      };
    }
    if (validation_evidence_) {
      hooks.after_expectation = [&](const EmProgress& em) {
        const double score = mean_log_likelihood(problem.parameters(), *validation_evidence_, validation_, executor_);
        if (!std::isfinite(score)) {
          throw NumericalError(concat("a validation student is impossible under the model (probability 0): give ",
                                      setting_name("pseudocount"), " above 0"));
        }
        outcome.validation_trace.push_back(score);
        if (score > best_validation) {
          best_validation = score;
          outcome.best_iteration = em.iteration;
          best_validated = problem.parameters();
        }
        return em.iteration - outcome.best_iteration >= validation_patience;
      };
    }
    CheckpointWriter writer(checkpoint_, needs_previous());
    // The last point between two iterations. What an E step found after it, a resumed run finds again: `best` may be
    // one step ahead, for that step keeps the same one.
    Checkpoint level;
    const auto set_level = [&](const EmProgress& em) {
      level.em = em;
      level.validation_trace = outcome.validation_trace;
      level.best_iteration = outcome.best_iteration;
      level.warnings = problem.warnings();
      level.reseeds = problem.reseeds();
    };
    const auto write_level = [&] {
      writer.write(level, problem, best_validated ? &*best_validated : problem.best(), best_so_far_);
    };
    if (checkpoint_.is_active()) {
      level.restart = number;
      level.finished = finished_;
      level.starts = found_;
      set_level(start);
      hooks.after_maximisation = [&](const EmProgress& em) {
        set_level(em);
        writer.remember(problem);
        if (checkpoint_.is_due()) write_level();
      };
      // Whatever stops the run before its model is written costs one E step.
      hooks.at_end = write_level;
    }
    try {
      outcome.em = run_em(problem, settings_.em, std::move(start), hooks);
    } catch (const Interrupted&) {
      if (checkpoint_.is_active()) write_level();
      throw;
    }
    outcome.warnings = problem.warnings();
    outcome.parameters = best_validated ? std::move(*best_validated) : problem.take_parameters();
    if (!validation_evidence_)
      outcome.best_iteration = learner_->exact_m_step() ? outcome.em.iteration : outcome.em.best_iteration;
    const auto at = static_cast<std::size_t>(outcome.best_iteration);
    outcome.result.log_likelihood = outcome.em.trace[at];
    outcome.result.objective = outcome.em.objective_trace[at];
    outcome.result.iterations = outcome.em.iteration;
    outcome.result.converged = outcome.em.converged || outcome.em.stopped;
    if (validation_evidence_) outcome.result.validation = outcome.validation_trace[at];
    return outcome;
  }

  bool needs_previous() const {
    return std::ranges::any_of(
        evidence_->pools, [&](const RowPool& pool) { return learner_->needs_previous(learner_->survey(pool.rows)); });
  }

  void begin(ChainProblem& problem, const ClimbStart& start, const RestartOutcome* before) const {
    const RandomStream stream = RandomStream(options_.seed).child("restart").child(0);
    if (start.origin == Origin::released && before != nullptr)
      problem.start_from_parameters(candidates_->released(before->parameters));
    else if (start.origin != Origin::given)
      candidates_->begin(problem, start, found_);
    else if (context_.warm != nullptr)
      problem.start_from_parameters(warm_parameters(*context_.warm, identity_, chain_, *learner_, problem));
    else
      problem.start_from_labels(labels_from_rows(context_, training(), layout_, settings_.states), stream);
    problem.part_equal_states(stream.child("apart"));
  }

  void keep_better(std::optional<RestartOutcome>& best, RestartOutcome outcome,
                   std::vector<RestartResult>& finished) const {
    finished.push_back(outcome.result);
    const auto score = [](const RestartOutcome& o) { return o.result.validation.value_or(o.result.objective); };
    // Kept states have fewer free transitions and so another prior: with them, the likelihoods are compared.
    const auto likelihood = [](const RestartResult& r) { return r.validation.value_or(r.log_likelihood); };
    const bool is_bound = plan_.front().origin == Origin::kept;
    if (is_bound && finished.size() > 1 && likelihood(outcome.result) < likelihood(finished.front())) return;
    const bool best_is_bound = is_bound && best && best->result.start == finished.front().start;
    if (!best || best_is_bound || score(outcome) > score(*best)) best = std::move(outcome);
  }

  std::optional<Checkpoint> load_checkpoint() {
    const std::optional<ArchiveReader> archive = checkpoint_.resumed();
    if (!archive) return std::nullopt;
    // The mixture's, which takes it up itself.
    if (candidates_->needs_mixture() && !archive->has(Checkpoint::mixture_key)) return std::nullopt;
    return Checkpoint::load(
        *archive, checkpoint_,
        {layout_, cohort_.schema(), *options_.choice().emission, ChainProblem(chain_, *evidence_, *learner_, executor_),
         restart_count(), validation_evidence_ != nullptr, training().student_count(),
         candidates_->candidates().size()});
  }

  FitResult finish(RestartOutcome best, std::vector<RestartResult> restarts) {
    FitResult result;
    // The expected shares of the states order them.
    ChainProblem problem(chain_, *evidence_, *learner_, executor_);
    problem.start_from_parameters(std::move(best.parameters));
    problem.measure();
    const bool keeps_order = start_is_given() || !context_.transitions.empty();
    if (context_.match != nullptr || !keeps_order) {
      ChainParameters parameters = problem.take_parameters();
      const auto order = context_.match != nullptr
                             ? match_states(parameters, layout_, cohort_.schema(), as_chain(*context_.match, "match"))
                             : order_by_share(problem.state_weights(), layout_, settings_.states);
      problem.start_from_parameters(reorder_states(std::move(parameters), layout_, order));
      problem.measure();
    }
    const std::vector<std::string> notes = problem.notes();
    count_state_students(problem, {training(), chain_, layout_, *learner_, executor_}, result);
    // What the learner sets after the climb may have another likelihood than the last iterate.
    std::optional<Expectation> finished;
    if (problem.finish_emissions()) {
      weigh_by_mass({training(), chain_, *evidence_, *learner_, executor_}, problem,
                    context_.match == nullptr && !keeps_order);
      finished = problem.measure();
    }
    if (settings_.refine == Refinement::policy_gradient) {
      const ChainEvidence& held_out = validation_evidence_ ? *validation_evidence_ : *refinement_evidence_;
      result.refinement =
          refine_by_policy_gradient(problem, *evidence_, held_out, settings_.policy_gradient,
                                    RandomStream(options_.seed).child("refine"), executor_, context_.progress);
      finished = problem.measure();
    }
    result.state_entropy = problem.state_entropy();
    ChainParameters parameters = problem.take_parameters();
    result.kind = parameters.emissions.front()->training_kind();
    result.model_name = identity_.model;
    result.emission = identity_.emission;
    result.states = settings_.states;
    result.model = std::make_unique<HiddenChain>(identity_, std::move(parameters));
    result.students = training().student_count();
    result.student_weight = problem.student_weight();
    const auto at = static_cast<std::size_t>(best.best_iteration);
    result.log_likelihood = finished ? finished->log_likelihood : best.em.trace[at];
    result.objective = finished ? finished->objective() : best.em.objective_trace[at];
    result.trace = std::move(best.em.trace);
    result.objective_trace = std::move(best.em.objective_trace);
    result.validation_trace = std::move(best.validation_trace);
    result.converged = best.result.converged;
    result.stopped_by = best.em.converged ? "tolerance" : best.em.stopped ? "validation" : "iterations";
    result.iterations = best.em.iteration;
    result.best_iteration = best.best_iteration;
    if (plan_.front().origin == Origin::kept) {
      result.kept_log_likelihood = restarts.front().log_likelihood;
      if (best.result.start == restarts.front().start) {
        result.warnings.emplace_back(
            "letting students change their state between periods described them no better: in the model that is "
            "returned each keeps one state through all periods");
      }
      restarts.erase(restarts.begin());
    }
    result.restarts = std::move(restarts);
    for (const std::string& warning : best.warnings) {
      result.warnings.push_back(result.restarts.size() > 1 ? concat("in restart ", best.result.number + 1, " of ",
                                                                    result.restarts.size(), ", the one kept: ", warning)
                                                           : warning);
    }
    result.warnings.insert(result.warnings.end(), notes.begin(), notes.end());
    if (best.em.fell) {
      result.warnings.push_back(concat("training went past its best and back down, as ", setting_name("ridge"),
                                       " allows: the model of iteration ", best.best_iteration,
                                       ", the best, is kept; a smaller one falls less"));
    }
    warn_of_refinement(result);
    if (refinement_evidence_) {
      result.warnings.push_back(
          concat(setting_name("refine"), ": ", counted(refinement_evidence_->student_count(), "student", "students"),
                 " held out of training to judge it; ", setting_name("validation"), " names others"));
    }
    if (std::string small = small_states_note(result.bearing(), layout_, cohort_.schema()); !small.empty())
      result.warnings.push_back(std::move(small));
    result.warn_of_size(training());
    if (candidates_->is_search()) warn_of_starts(result);
    if (settings_.em.tolerance > 0) warn_of_the_end(result);
    return result;
  }

  const Executor& executor_;
  ChainSettings settings_;
  StepLayout layout_;
  ChainIdentity identity_;
  ChainTask chain_, validation_;  // of the latter only the weights
  std::unique_ptr<ChainEvidence> own_evidence_, validation_evidence_, refinement_evidence_;
  ChainEvidence* evidence_ = nullptr;  // its own, or the context's
  std::unique_ptr<EmissionLearner> learner_;
  std::unique_ptr<ChainCandidates> candidates_;
  StartFindings found_;
  std::vector<ClimbStart> plan_;
  std::vector<RestartResult> finished_;
  const RestartOutcome* best_so_far_ = nullptr;
};

}  // namespace

ModelEntry chain_entry(std::string name, std::string what, TimeStructure structure, std::string default_emission) {
  ModelEntry entry;
  entry.name = std::move(name);
  entry.what = std::move(what);
  entry.structure = structure;
  entry.default_emission = default_emission;
  entry.settings = declaration_of<ChainSettings>();
  entry.prepare = [structure](const TrainingTask& task) -> std::unique_ptr<Training> {
    if (task.options.read<ChainSettings>().refine == Refinement::orthant_em) return prepare_orthant_em(task);
    return std::make_unique<ChainFit>(task, structure);
  };
  entry.load = [default_emission](const ArchiveReader& archive, const Catalog& catalog) {
    return HiddenChain::load(archive, catalog.emissions, default_emission);
  };
  entry.leave_one_out = chain_leave_one_out;
  return entry;
}

}  // namespace desirepath::inline models
