#include "desirepath/models/fit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/gaussian.h"
#include "desirepath/models/orthant_em.h"
#include "desirepath/models/state_order.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline models {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int validation_patience = 20;  // iterations without a better validation score

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Memory the system would give us now; 0 when it does not say.
double available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("MemAvailable:")) return std::stod(line.substr(13)) * 1024;
  }
  return 0;
}

SoftLabels labels_from_rows(const FitOptions& options, const Cohort& cohort, const StepLayout& layout) {
  std::unordered_map<std::string, std::int64_t> numbers;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    numbers.emplace(cohort.students()[static_cast<std::size_t>(s)], s);
  const Id steps = layout.step_count();
  SoftLabels labels;
  labels.weights = RowMatrix::Zero(cohort.student_count() * steps, options.states);
  labels.labelled.assign(static_cast<std::size_t>(cohort.student_count() * steps), 0);
  for (const LabelRow& row : options.labels) {
    const auto refuse = [&](const std::string& reason) {
      throw InputError({options.labels_file, row.record, 0}, reason);
    };
    if (row.state < 0 || row.state >= options.states)
      refuse(concat("state ", row.state, " is not one of 0 .. ", options.states - 1));
    if (!(row.weight >= 0) || !std::isfinite(row.weight)) refuse("weight must be a number from 0");
    const auto student = numbers.find(row.student);
    if (student == numbers.end()) continue;  // filtered out of the cohort
    // In a chain of one step the labels of the first period count, or those of "all", as `states --csv` writes them.
    const bool one_step = layout.structure == TimeStructure::one_step;
    const auto period =
        one_step && row.period == "all" ? std::optional<Id>(0) : cohort.schema().find_period(row.period);
    if (!period) refuse(concat("no period '", row.period, "'"));
    if (one_step && *period != 0) continue;
    const std::int64_t at = student->second * steps + *period;
    labels.weights(at, row.state) += row.weight;
    labels.labelled[static_cast<std::size_t>(at)] = 1;
  }
  for (Index r = 0; r < labels.weights.rows(); ++r) {
    const double sum = labels.weights.row(r).sum();
    if (sum > 0)
      labels.weights.row(r) /= sum;
    else
      labels.labelled[static_cast<std::size_t>(r)] = 0;
  }
  if (std::ranges::find(labels.labelled, 1) == labels.labelled.end()) {
    throw InputError(concat(options.labels_file, ": no label is of a student in the cohort"));
  }
  return labels;
}

FixedTransitions fixed_from_rows(const FitOptions& options, const Schema& schema, const StepLayout& layout) {
  if (!options.transitions.empty() && layout.step_count() == 1)
    throw OptionError("--transitions: a model of one step has none");
  FixedTransitions fixed;
  for (const TransitionRow& row : options.transitions) {
    const auto refuse = [&](const std::string& reason) {
      throw InputError({options.transitions_file, row.record, 0}, reason);
    };
    const auto period = schema.find_period(row.period);
    if (!period && !row.period.empty()) refuse(concat("no period '", row.period, "'"));
    if (period && *period + 1 >= schema.period_count()) refuse(concat("no period follows '", row.period, "'"));
    if (std::min(row.from, row.to) < 0 || std::max(row.from, row.to) >= options.states)
      refuse(concat("a state that is not one of 0 .. ", options.states - 1));
    if (!(row.probability >= 0 && row.probability <= 1)) refuse("a probability outside 0 .. 1");
    for (Id t = 0; t + 1 < layout.step_count(); ++t) {
      // A tied chain has one matrix; an empty period stands for all.
      if (!period || *period == t || layout.structure == TimeStructure::tied)
        fixed.fix(t, row.from, row.to, row.probability);
    }
  }
  fixed.check(options.states);
  return fixed;
}

/// Mean log-likelihood per student; weights may be empty.
double mean_log_likelihood(const ChainParameters& parameters, const ChainEvidence& evidence,
                           const std::vector<double>& weights, const Compute& compute) {
  const std::vector<RowScores> scores =
      score_pools(parameters, evidence, parameters.emissions.front()->training_kind(), compute);
  const Vector sum = compute.sum_over(evidence.student_count(), 2, [&](Range range, Vector& total) {
    ChainPosterior posterior(parameters.prior);
    RowMatrix emissions(evidence.layout->step_count(), parameters.prior.state_count());
    for (std::int64_t s = range.first; s < range.last; ++s) {
      const double weight = weights.empty() ? 1 : weights[static_cast<std::size_t>(s)];
      if (!(weight > 0)) continue;
      student_emissions(parameters, evidence, scores, s, emissions);
      total[0] += weight * posterior.run(emissions);
      total[1] += weight;
    }
  });
  return sum[1] > 0 ? sum[0] / sum[1] : 0;
}

class Trainer {
 public:
  Trainer(const Cohort& cohort, const FitOptions& options, const Compute& compute, const ProgressSink& progress)
      : cohort_(cohort), options_(options), compute_(compute), progress_(progress) {
    training_.identity = {std::string(options.choice.model->name), options.choice.emission,
                          options.choice.model->structure, cohort.schema()};
    layout_ = StepLayout::of(training_.identity.structure, cohort.schema().period_count());
    split_validation();
    evidence_ = std::make_unique<ChainEvidence>(EvidenceBatch::of(*train_), layout_);
    training_.states = options.states;
    training_.state_pseudocount = options.state_pseudocount;
    training_.fixed = fixed_from_rows(options, cohort.schema(), layout_);
    if (!options.weights.empty()) training_.weights = student_weights(*train_, options.weights);
    learner_ = make_learner(options, evidence_->pools.front().rows.bit_count());
    if (!options.checkpoint.empty()) fingerprint_ = cohort.fingerprint();
    weigh_rows(*evidence_, training_.weights);
  }

  FitEstimate estimate() const {
    FitEstimate estimate;
    const auto students = static_cast<double>(train_->student_count());
    const double states = options_.states;
    double work = 30 * students * layout_.step_count() * states * (layout_.step_count() > 1 ? states : 1);
    double bytes = 8 * students * layout_.step_count() * states;
    Id bits = 0;
    for (const RowPool& pool : evidence_->pools) {
      const auto rows = static_cast<double>(pool.rows.row_count());
      estimate.distinct_rows += pool.rows.row_count();
      bytes += 2 * 8 * rows * states + 12.0 * static_cast<double>(pool.rows.all_taken().one_count()) + 16 * students;
      work += learner_->work_estimate(pool.rows, options_.states);
      bits = pool.rows.bit_count();
    }
    bytes += learner_->memory_estimate(bits, options_.states, compute_.threads()) *
             static_cast<double>(evidence_->pools.size());
    // The cohort, and the evidence made of it.
    bytes += 2 * (4.0 * static_cast<double>(train_->enrollments().one_count()) + 12 * students * layout_.step_count());
    estimate.bytes = bytes * (runs_side_by_side() ? std::min(options_.restarts, compute_.threads()) : 1);
    estimate.seconds_per_iteration = work / 1.2e9 / compute_.threads();
    return estimate;
  }

  FitResult run() {
    try {
      return train();
    } catch (const Interrupted&) {
      if (options_.checkpoint.empty()) throw Interrupted("interrupted; no checkpoint (--checkpoint FILE keeps one)");
      if (!std::filesystem::exists(options_.checkpoint)) throw Interrupted("interrupted before the first iteration");
      throw Interrupted(concat("interrupted; continue with --resume --checkpoint ", options_.checkpoint.string()));
    }
  }

 private:
  FitResult train() {
    const auto begin = Clock::now();
    refuse_what_does_not_fit();
    std::vector<RestartResult> finished;
    std::optional<RestartOutcome> best;
    if (runs_side_by_side()) {
      std::vector<RestartOutcome> outcomes(static_cast<std::size_t>(restart_count()));
      compute_.for_each(restart_count(), [&](std::int64_t r) {
        outcomes[static_cast<std::size_t>(r)] = run_restart(static_cast<int>(r), {});
      });
      for (RestartOutcome& outcome : outcomes)
        keep_better(best, std::move(outcome), finished);
    } else {
      int first = 0;
      std::optional<Checkpoint> resumed = load_checkpoint();
      if (resumed) {
        finished = resumed->finished;
        best = std::move(resumed->best_finished);
      }
      if (resumed) first = resumed->restart;
      for (int r = first; r < restart_count(); ++r) {
        finished_ = finished;
        best_so_far_ = best ? &*best : nullptr;
        RestartOutcome outcome = run_restart(r, r == first ? std::move(resumed) : std::nullopt);
        keep_better(best, std::move(outcome), finished);
      }
    }
    FitResult result = finish(std::move(*best), std::move(finished));
    result.seconds = seconds_since(begin);
    return result;
  }

  int restart_count() const {
    return options_.start == StartKind::kmeans || options_.start == StartKind::random ? options_.restarts : 1;
  }
  /// Restarts beside each other use the cores best where one alone is small; a checkpoint follows one at a time.
  bool runs_side_by_side() const {
    const double cells = static_cast<double>(train_->student_count()) * layout_.step_count() * options_.states;
    return restart_count() > 1 && options_.checkpoint.empty() && cells < 5e6;
  }

  void split_validation() {
    train_ = &cohort_;
    if (options_.validation != nullptr) {
      if (!(options_.validation->schema() == cohort_.schema())) {
        throw InputError("--validation: the file has other courses or periods than the training cohort");
      }
      validate_on(*options_.validation);
      return;
    }
    if (!options_.validation_share && options_.refine == Refinement::none) return;
    const double share = options_.validation_share.value_or(FitOptions::refinement_share);
    const Split split = split_by_share(cohort_, {share, 0}, RandomStream(options_.seed).child("validation"));
    if (split.training.empty() || split.validation.empty())
      throw OptionError(concat(options_.validation_share ? "--validation" : "--refine",
                               ": too few students to hold out a share of ", shortest(share)));
    own_training_ = cohort_.select(split.training);
    train_ = &*own_training_;
    const Cohort held_out = cohort_.select(split.validation);
    if (options_.validation_share) {
      validate_on(held_out);
    } else {
      // Without --validation EM itself does not look at the students held out for the refinement.
      refinement_evidence_ = std::make_unique<ChainEvidence>(EvidenceBatch::of(held_out), layout_);
    }
  }

  void validate_on(const Cohort& students) {
    validation_evidence_ = std::make_unique<ChainEvidence>(EvidenceBatch::of(students), layout_);
    if (!options_.weights.empty()) validation_weights_ = student_weights(students, options_.weights);
  }

  void refuse_what_does_not_fit() const {
    const double needed = estimate().bytes, free = available_memory();
    if (free > 0 && needed > free) {
      throw OptionError(concat("training needs about ", as_bytes_text(needed), ", ", as_bytes_text(free),
                               " are free; use fewer states or courses (--min-takers)"));
    }
  }

  RestartOutcome run_restart(int number, std::optional<Checkpoint> resumed) {
    ChainProblem problem(training_, *evidence_, *learner_, compute_);
    RestartOutcome outcome;
    outcome.result.number = number;
    outcome.result.seed = options_.seed;
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
      begin(problem, RandomStream(options_.seed).child("restart").child(static_cast<std::uint64_t>(number)));
    }

    EmHooks hooks;
    if (progress_) {
      hooks.progress = [&, number](ProgressEvent event) {
        if (restart_count() > 1) event.phase = concat("restart ", number + 1, "/", restart_count());
        const std::lock_guard lock(progress_mutex_);
        progress_(event);
      };
    }
    if (validation_evidence_) {
      hooks.after_expectation = [&](const EmProgress& em) {
        const double score =
            mean_log_likelihood(problem.parameters(), *validation_evidence_, validation_weights_, compute_);
        if (!std::isfinite(score)) {
          throw NumericalError(
              "a validation student is impossible under the model (probability 0): give --pseudocount above 0");
        }
        outcome.validation_trace.push_back(score);
        if (score > best_validation) {
          best_validation = score;
          outcome.best_iteration = em.iteration;
          best_validated = problem.parameters().copy();
        }
        return em.iteration - outcome.best_iteration >= validation_patience;
      };
    }
    CheckpointWriter writer(options_.checkpoint, options_.checkpoint_interval, needs_previous());
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
    if (!options_.checkpoint.empty()) {
      level.options_digest = options_.options_digest;
      level.fingerprint = fingerprint_;
      level.restart = number;
      level.finished = finished_;
      set_level(start);
      hooks.after_maximization = [&](const EmProgress& em) {
        set_level(em);
        writer.remember(problem);
        if (writer.is_due()) write_level();
      };
    }
    try {
      outcome.em = run_em(problem, options_.em, std::move(start), hooks);
    } catch (const Interrupted&) {
      if (!options_.checkpoint.empty()) write_level();
      throw;
    }
    // Whatever stops the run before its model is written costs one E step.
    if (!options_.checkpoint.empty()) write_level();
    outcome.warnings = problem.warnings();
    outcome.parameters = best_validated ? std::move(*best_validated) : problem.take_parameters();
    if (!validation_evidence_)
      outcome.best_iteration = learner_->exact_m_step() ? outcome.em.iteration : outcome.em.best_iteration;
    const auto at = static_cast<std::size_t>(outcome.best_iteration);
    outcome.result.log_likelihood = outcome.em.trace[at];
    outcome.result.objective = outcome.em.objective_trace[at];
    outcome.result.iterations = outcome.em.iteration;
    outcome.result.converged = outcome.em.converged;
    if (validation_evidence_) outcome.result.validation = outcome.validation_trace[at];
    return outcome;
  }

  bool needs_previous() const {
    return std::ranges::any_of(evidence_->pools,
                               [&](const RowPool& pool) { return learner_->needs_previous(pool.rows); });
  }

  void begin(ChainProblem& problem, RandomStream stream) const {
    switch (options_.start) {
      case StartKind::kmeans:
        return problem.start_from_kmeans(stream);
      case StartKind::random:
        return problem.start_at_random(stream);
      case StartKind::labels:
        return problem.start_from_labels(labels_from_rows(options_, *train_, layout_));
      case StartKind::model:
        return problem.start_from_parameters(warm_parameters());
    }
  }

  ChainParameters warm_parameters() const {
    const ChainIdentity& warm = options_.warm->identity();
    if (!(warm.schema == cohort_.schema())) {
      std::vector<std::string> names, other;
      for (const Course& course : cohort_.schema().courses())
        names.push_back(course.name);
      for (const Course& course : warm.schema.courses())
        other.push_back(course.name);
      if (names != other || warm.schema.periods() != cohort_.schema().periods()) {
        throw OptionError("--warm: the model has other courses or periods than the cohort");
      }
    }
    if (warm.structure != training_.identity.structure || warm.emission != training_.identity.emission ||
        options_.warm->parameters().emitting_states() != options_.states) {
      throw OptionError(concat("--warm: the model is ", options_.warm->name(), " with ",
                               options_.warm->parameters().emitting_states(), " states"));
    }
    ChainParameters parameters = options_.warm->parameters().copy();
    for (auto& emission : parameters.emissions) {
      if (auto unfinished = learner_->unfinished(*emission)) emission = std::move(unfinished);
    }
    return parameters;
  }

  void keep_better(std::optional<RestartOutcome>& best, RestartOutcome outcome,
                   std::vector<RestartResult>& finished) const {
    finished.push_back(outcome.result);
    const auto score = [](const RestartOutcome& o) { return o.result.validation.value_or(o.result.objective); };
    if (!best || score(outcome) > score(*best)) best = std::move(outcome);
  }

  std::optional<Checkpoint> load_checkpoint() const {
    if (options_.checkpoint.empty() || !options_.resume) return std::nullopt;
    if (!std::filesystem::exists(options_.checkpoint)) return std::nullopt;
    Checkpoint checkpoint = Checkpoint::load(options_.checkpoint, options_.choice.emission);
    if (checkpoint.options_digest != options_.options_digest) {
      throw OptionError(concat(options_.checkpoint.string(), ": the checkpoint belongs to a fit with other options"));
    }
    if (checkpoint.fingerprint != fingerprint_) {
      throw OptionError(concat(options_.checkpoint.string(), ": the checkpoint belongs to other data"));
    }
    return checkpoint;
  }

  FitResult finish(RestartOutcome best, std::vector<RestartResult> restarts) {
    FitResult result;
    // The expected shares of the states order them.
    ChainProblem problem(training_, *evidence_, *learner_, compute_);
    problem.start_from_parameters(std::move(best.parameters));
    problem.measure();
    const bool keeps_order =
        options_.start == StartKind::labels || options_.start == StartKind::model || !options_.transitions.empty();
    if (options_.match != nullptr || !keeps_order) {
      ChainParameters parameters = problem.take_parameters();
      const auto order = options_.match != nullptr ? match_states(parameters, layout_, *options_.match)
                                                   : order_by_share(problem.state_weights(), layout_, options_.states);
      problem.start_from_parameters(reorder_states(std::move(parameters), layout_, order));
      problem.measure();
    }
    const std::vector<std::string> notes = problem.notes();
    // What the learner sets after the climb may have another likelihood than the last iterate.
    std::optional<Expectation> finished;
    if (problem.finish_emissions()) finished = problem.measure();
    if (options_.refine == Refinement::policy_gradient) {
      const ChainEvidence& held_out = validation_evidence_ ? *validation_evidence_ : *refinement_evidence_;
      result.refinement = refine_by_policy_gradient(problem, *evidence_, held_out, options_.policy_gradient,
                                                    RandomStream(options_.seed).child("refine"), compute_, progress_);
      finished = problem.measure();
    }
    result.state_entropy = problem.state_entropy();
    ChainParameters parameters = problem.take_parameters();
    result.kind = parameters.emissions.front()->training_kind();
    result.model = std::make_unique<HiddenChain>(training_.identity, std::move(parameters));
    result.students = train_->student_count();
    result.student_weight = problem.student_weight();
    const auto at = static_cast<std::size_t>(best.best_iteration);
    result.log_likelihood = finished ? finished->log_likelihood : best.em.trace[at];
    result.objective = finished ? finished->objective() : best.em.objective_trace[at];
    result.trace = std::move(best.em.trace);
    result.objective_trace = std::move(best.em.objective_trace);
    result.validation_trace = std::move(best.validation_trace);
    result.converged = best.em.converged;
    result.iterations = best.em.iteration;
    result.best_iteration = best.best_iteration;
    result.restarts = std::move(restarts);
    result.warnings.assign(best.warnings.begin(), best.warnings.end());
    result.warnings.insert(result.warnings.end(), notes.begin(), notes.end());
    if (best.em.fell)
      result.warnings.push_back(
          concat("the additive ridge is not an exact M step: the objective fell on the way; iterate ",
                 best.best_iteration, ", the best, is kept"));
    if (result.refinement && result.refinement->kept_round == 0)
      result.warnings.emplace_back("the refinement found nothing better for the students held out: EM's model is kept");
    if (refinement_evidence_)
      result.warnings.push_back(
          concat("--refine: ", counted(refinement_evidence_->student_count(), "student", "students"),
                 " held out of training to judge it; --validation names others"));
    if (options_.states > train_->student_count()) result.warnings.emplace_back("there are more states than students");
    if (!result.converged && options_.em.tolerance > 0) {
      result.warnings.push_back(concat("not converged after ", result.iterations, " iterations"));
    }
    return result;
  }

  const Cohort& cohort_;
  const FitOptions& options_;
  const Compute& compute_;
  const ProgressSink& progress_;
  std::mutex progress_mutex_;
  ChainTrainingOptions training_;
  StepLayout layout_;
  std::optional<Cohort> own_training_;
  const Cohort* train_ = nullptr;
  std::unique_ptr<ChainEvidence> evidence_, validation_evidence_, refinement_evidence_;
  std::vector<double> validation_weights_;
  std::unique_ptr<EmissionLearner> learner_;
  std::string fingerprint_;
  std::vector<RestartResult> finished_;
  const RestartOutcome* best_so_far_ = nullptr;
};

}  // namespace

void FitOptions::validate() const {
  if (choice.model == nullptr) throw OptionError("no model is chosen");
  if (states < 1) throw OptionError("--states must be at least 1");
  if (restarts < 1) throw OptionError("--restarts must be at least 1");
  if (pseudocount && !(*pseudocount >= 0)) throw OptionError("--pseudocount must not be negative");
  if (!(state_pseudocount >= 0)) throw OptionError("--state-pseudocount must not be negative");
  if (validation_share && !(*validation_share > 0 && *validation_share < 1))
    throw OptionError("--validation must be a file or a share between 0 and 1");
  if (!(ridge >= 0)) throw OptionError("--ridge must not be negative");
  if (covariance_prior && !(*covariance_prior >= 0)) throw OptionError("--covariance-prior must not be negative");
  if (choice.emission == GaussianEmission::family_name && covariance_prior && *covariance_prior == 0 && ridge == 0) {
    throw OptionError("--covariance-prior 0 needs a --ridge above 0: without a floor the likelihood has no bound");
  }
  if (ridge > 0 && covariance_prior && *covariance_prior > 0)
    throw OptionError("--ridge and --covariance-prior: one or the other");
  if (refine == Refinement::orthant_em && choice.emission != GaussianEmission::family_name)
    throw OptionError("--refine orthant-em starts from --emission gaussian");
  if (refine == Refinement::policy_gradient) {
    const bool whole = !covariance || covariance->is_dense();
    if (choice.emission != GaussianEmission::family_name || !whole)
      throw OptionError("--refine policy-gradient needs --emission gaussian with --covariance full or tied");
    policy_gradient.validate();
  }
  if (resume && checkpoint.empty()) throw OptionError("--resume needs --checkpoint FILE");
  if (match != nullptr && !transitions.empty())
    throw OptionError("--match renumbers the states that --transitions names by number: give one of the two");
  em.validate();
}

nlohmann::ordered_json FitOptions::describe() const {
  nlohmann::ordered_json json;
  json["model"] = std::string(choice.model->name);
  json["emission"] = choice.emission;
  json["states"] = states;
  if (pseudocount) json["pseudocount"] = *pseudocount;
  json["state_pseudocount"] = state_pseudocount;
  if (choice.emission == GaussianEmission::family_name) {
    if (covariance) json["covariance"] = covariance->name();
    if (covariance_prior) json["covariance_prior"] = *covariance_prior;
    if (ridge > 0) json["ridge"] = ridge;
    json["calibrate"] = calibrate ? "marginals" : "none";
    if (refine != Refinement::none) {
      json["refine"] = name_of(refine);
      if (refine == Refinement::policy_gradient) json["reward"] = name_of(policy_gradient.reward);
    }
  }
  if (choice.emission == "tree") json["tree"] = tree == TreeShape::shared ? "shared" : "per-state";
  if (choice.emission == ProbitEmission::family_name) {
    const ProbitOptions complete = probit_options();
    json["covariance"] = concat("factor:", complete.factors);
    if (complete.nodes > 0) json["nodes"] = complete.nodes;
    json["slope_variance"] = complete.slope_variance;
    json["slope_correlation"] = complete.slope_correlation;
    json["calibrate"] = calibrate ? "marginals" : "none";
  }
  json["start"] = start == StartKind::kmeans   ? "kmeans"
                  : start == StartKind::random ? "random"
                  : start == StartKind::labels ? "labels"
                                               : "model";
  json["restarts"] = restarts;
  json["iterations"] = em.max_iterations;
  json["tolerance"] = em.tolerance;
  json["seed"] = seed;
  if (!weights.empty()) json["weights"] = weights;
  if (!transitions.empty()) {
    json["transitions"] = nlohmann::ordered_json::array();
    for (const TransitionRow& row : transitions)
      json["transitions"].push_back({row.period, row.from, row.to, row.probability});
  }
  if (validation_share) json["validation_share"] = *validation_share;
  if (validation != nullptr) json["validation_fingerprint"] = validation->fingerprint();
  return json;
}

CovarianceChoice FitOptions::covariance_for(Id bits) const {
  if (covariance) return *covariance;
  return bits > most_dense_bits ? CovarianceChoice{CovarianceShape::factor, 8} : CovarianceChoice{};
}

ProbitOptions FitOptions::probit_options() const {
  ProbitOptions result = probit;
  if (covariance && covariance->shape != CovarianceShape::factor)
    throw OptionError(concat("--covariance ", covariance->name(), ": probit takes factor:Q, for example factor:4"));
  if (covariance) result.factors = covariance->factors;
  if (pseudocount) result.pseudocount = *pseudocount;
  result.calibrates = calibrate;
  return result;
}

std::unique_ptr<EmissionLearner> make_learner(const FitOptions& options, Id bits) {
  if (options.choice.emission == GaussianEmission::family_name) {
    return std::make_unique<GaussianLearner>(GaussianOptions{options.covariance_for(bits), options.covariance_prior,
                                                             options.ridge, options.calibrate,
                                                             options.pseudocount.value_or(0.1)});
  }
  if (options.choice.emission == TreeEmission::family_name) {
    TreeOptions tree;
    tree.shape = options.tree;
    if (options.pseudocount) tree.pseudocount = *options.pseudocount;
    return std::make_unique<TreeLearner>(tree);
  }
  if (options.choice.emission == ProbitEmission::family_name) {
    return std::make_unique<ProbitLearner>(options.probit_options());
  }
  return std::make_unique<BernoulliLearner>(options.pseudocount.value_or(0.1));
}

FitResult fit_model(const Cohort& cohort, const FitOptions& options, const Compute& compute,
                    const ProgressSink& progress) {
  options.validate();
  if (options.refine == Refinement::orthant_em) return fit_by_orthant_em(cohort, options, compute, progress);
  FitOptions complete = options;
  // Labels and a warm model are part of what a checkpoint continues.
  DigestBuilder digest;
  digest.add(options.describe().dump());
  for (const LabelRow& row : options.labels)
    digest.add(concat(row.student, "\n", row.period, "\n", row.state, "\n", shortest(row.weight), "\n"));
  if (options.warm != nullptr) {
    ArchiveWriter warm("model");
    options.warm->save(warm);
    digest.add(std::span<const std::byte>(warm.bytes()));
  }
  complete.options_digest = digest.finish().hex();
  return Trainer(cohort, complete, compute, progress).run();
}

namespace {

/// What a model file says of its training, as far as one more M step needs it.
FitOptions recorded_options(const HiddenChain& model, const std::string& training) {
  const auto recorded = nlohmann::json::parse(training, nullptr, false);
  try {
    const auto& json = recorded.at("options");
    FitOptions options;
    options.choice = {&require_model(model.identity().model), model.identity().emission};
    options.states = model.parameters().emitting_states();
    if (json.contains("pseudocount")) options.pseudocount = json.at("pseudocount").get<double>();
    options.state_pseudocount = json.at("state_pseudocount").get<double>();
    options.weights = json.value("weights", "");
    for (const auto& row : json.value("transitions", nlohmann::json::array())) {
      options.transitions.push_back(
          {row.at(0).get<std::string>(), row.at(1).get<Id>(), row.at(2).get<Id>(), row.at(3).get<double>(), 0});
    }
    if (json.contains("validation_share"))
      throw OptionError("leave-one-out: the model was trained on a share of the students (--validation); train on all");
    return options;
  } catch (const nlohmann::json::exception&) {
    throw ModelFileError("the model file does not say how the model was trained");
  }
}

}  // namespace

Vector leave_one_out(const HiddenChain& model, const std::string& training, const Cohort& cohort,
                     const Compute& compute) {
  const FitOptions options = recorded_options(model, training);
  if (nlohmann::json::parse(training, nullptr, false).value("data_fingerprint", "") != cohort.fingerprint())
    throw OptionError("leave-one-out: the model was trained on another cohort than this one");
  ChainTrainingOptions chain;
  chain.identity = model.identity();
  chain.states = options.states;
  chain.state_pseudocount = options.state_pseudocount;
  chain.fixed = fixed_from_rows(options, cohort.schema(), model.layout());
  if (!options.weights.empty()) chain.weights = student_weights(cohort, options.weights);
  ChainEvidence evidence(EvidenceBatch::of(cohort), model.layout());
  const std::unique_ptr<EmissionLearner> learner = make_learner(options, evidence.pools.front().rows.bit_count());
  ChainProblem problem(chain, evidence, *learner, compute);
  problem.start_from_parameters(model.parameters().copy());
  problem.expectation();
  return problem.left_out_scores();
}

FitEstimate estimate_fit(const Cohort& cohort, const FitOptions& options, const Compute& compute) {
  options.validate();
  return Trainer(cohort, options, compute, {}).estimate();
}

nlohmann::ordered_json FitResult::to_json() const {
  nlohmann::ordered_json json;
  json["model"] = model->identity().model;
  json["emission"] = model->identity().emission;
  json["states"] = model->parameters().emitting_states();
  json["students"] = students;
  json["student_weight"] = student_weight;
  json["courses"] = model->schema().course_count();
  json["periods"] = model->schema().period_count();
  json["parameters"] = model->parameter_count();
  json["likelihood_kind"] = std::string(name_of(kind));
  json["log_likelihood"] = log_likelihood;
  json["objective"] = objective;
  json["state_entropy"] = state_entropy;
  json["trace"] = trace;
  json["objective_trace"] = objective_trace;
  if (!validation_trace.empty()) {
    json["validation_trace"] = validation_trace;
    json["best_iteration"] = best_iteration;
  }
  if (refinement) json["refinement"] = refinement->to_json();
  json["converged"] = converged;
  json["iterations"] = iterations;
  json["seconds"] = seconds;
  json["restarts"] = nlohmann::ordered_json::array();
  for (const RestartResult& restart : restarts) {
    nlohmann::ordered_json entry = {{"restart", restart.number},
                                    {"seed", restart.seed},
                                    {"log_likelihood", restart.log_likelihood},
                                    {"objective", restart.objective},
                                    {"iterations", restart.iterations},
                                    {"converged", restart.converged}};
    if (restart.validation) entry["validation"] = *restart.validation;
    json["restarts"].push_back(std::move(entry));
  }
  json["warnings"] = warnings;
  return json;
}

std::string FitResult::training_json(const FitOptions& options, const Cohort& cohort) const {
  nlohmann::ordered_json json;
  json["options"] = options.describe();
  json["data_fingerprint"] = cohort.fingerprint();
  nlohmann::ordered_json result = to_json();
  result.erase("seconds");
  json["result"] = std::move(result);
  return json.dump();
}

}  // namespace desirepath::inline models
