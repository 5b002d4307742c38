#include "desirepath/models/committee_training.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/models/chain_training.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/models/committee.h"
#include "desirepath/models/committee_trial.h"

namespace desirepath::inline models {

namespace {

/// This entry of the catalog trains members.
constexpr const char* member_model = "nb";
constexpr int rows_a_thread = 1024;   // of one tree that are worth a thread
constexpr double member_noise = 0.3;  // of the shapes of all members but the first
constexpr double judges_share = 0.1;  // of the students, set aside for a trial
constexpr std::size_t fewest_judges = 10;
constexpr int warm_iterations = 10;   // that a committee goes on from another one where nobody judges
constexpr int usual_iterations = 30;  // where there are too few students to find it
/// Members that watch judges themselves need no trial for their iterations; fewer would not pay for the other settings.
constexpr Id fewest_judged_trees = 3;

Id trees_for(std::int64_t students) {
  return students < 3000 ? 16 : students < 20'000 ? 8 : 4;
}

class CommitteeFit : public TrainingRun {
 public:
  explicit CommitteeFit(const TrainingTask& task)
      : TrainingRun(task),
        settings_(task.options.read<CommitteeSettings>()),
        layout_(StepLayout::of(TimeStructure::one_step, task.cohort.schema())) {
    const ModelChoice& choice = options_.choice();
    if (choice.emission->name != choice.model->default_emission)
      throw OptionError(
          concat(setting_name("emission"), " ", choice.emission->name, ": the members of hct are hidden trees"));
    learner_ = choice.emission->learner(options_.values(), layout_.shape(cohort_.schema()));
    refuse_states(context_, "hct");
    trees_ = settings_.trees.value_or(trees_for(cohort_.student_count()));
    if (context_.warm != nullptr) take_warm();
    if (settings_.validation && context_.validation == nullptr) hold_out_for("validation", *settings_.validation);
    everybody_.emplace(training(), settings_.weights, layout_);
    if (judges() != nullptr) {
      validation_ = *judges();
      if (context_.warm == nullptr && settings_.trial == Trial::on && settings_.em.tolerance > 0 &&
          trees_ >= fewest_judged_trees && trial_task(1).varies())
        begin_trial(1);
    } else if (context_.warm != nullptr) {
      iterations_ = std::min(warm_iterations, settings_.em.max_iterations);
    } else if (settings_.em.tolerance > 0) {
      if (hold_out(judges_share, fewest_judges)) {
        trial_students_.emplace(training(), settings_.weights, layout_);
        begin_trial(trial_students_->weight() / everybody_->weight());
      } else {
        iterations_ = std::min(usual_iterations, settings_.em.max_iterations);
      }
    }
    first_ = prepare_member(number_);
  }

  FitEstimate estimate() const override {
    FitEstimate estimate = first_->training->estimate();
    estimate.bytes += beside_bytes(members_at_work());
    return estimate;
  }

 private:
  static constexpr Id in_trial = -1;

  /// Students and their rows, cut once for all who learn from them.
  struct Students {
    Students(const Cohort& all, const std::string& column, const StepLayout& layout)
        : cohort(all),
          rows(EvidenceBatch::of(cohort), layout),
          weights(column.empty() ? std::vector<double>(static_cast<std::size_t>(cohort.student_count()), 1)
                                 : student_weights(cohort, column)) {
      weigh_rows(rows, column.empty() ? std::vector<double>() : weights);
    }
    /// Of all, as learners have it.
    double weight() const { return RowSurvey(rows.pools.front().rows).students(); }
    Cohort cohort;
    ChainEvidence rows;
    std::vector<double> weights;  // one a student
  };

  /// One member about to be trained, with what its training refers to.
  struct Member {
    Member(FitOptions its_options, const TrainingContext& its_context)
        : options(std::move(its_options)), context(its_context) {}
    FitOptions options;
    TrainingContext context;
    std::unique_ptr<HiddenChain> from;  // where it begins, of the trial
    std::unique_ptr<Training> training;
  };

  FitResult train() override {
    resume();
    if (number_ == in_trial) run_trial();
    if (members_at_work() > 1) {
      std::vector<FitResult> found(static_cast<std::size_t>(trees_));
      context_.executor.for_each(
          trees_, [&](std::int64_t m) { found[static_cast<std::size_t>(m)] = run_one(static_cast<Id>(m)); });
      for (FitResult& member : found)
        keep(std::move(member));
    } else {
      while (number_ < trees_)
        keep(run_one(number_));
    }
    return finish();
  }

  /// Beside one member at work: the others at work, and the tables of the finished, which are half of what one at work
  /// has. All share the rows.
  double beside_bytes(int at_work) const {
    const Id bits = layout_.shape(cohort_.schema()).bits();
    const double all_at_work = learner_->memory_estimate(bits, trees_, 1) - learner_->memory_estimate(bits, 0, 1);
    return (at_work - 1) * learner_->memory_estimate(bits, 1, 1) + all_at_work / 2;
  }

  /// More than one where they use the cores better than one after the other does, and the memory lets them. A
  /// checkpoint follows one at a time.
  int members_at_work() const {
    const int threads = context_.executor.threads();
    const bool one_is_small = everybody_->cohort.student_count() < std::int64_t{rows_a_thread} * threads;
    if (checkpoint_.is_active() || !context_.checkpoint_bytes.empty() || (trees_ < threads && !one_is_small)) return 1;
    const int side_by_side = std::min<int>(trees_, threads);
    const double free = available_memory(), needed = first_bytes_ + beside_bytes(side_by_side);
    return free > 0 && 2 * needed > free ? 1 : side_by_side;
  }

  /// The members begin where those of the model are.
  void take_warm() {
    const std::string name = setting_name("warm");
    const auto* has = offered<HasChain>(*context_.warm);
    const HiddenChain* warm = has == nullptr ? nullptr : &has->chain();
    const ModelChoice& choice = options_.choice();
    if (warm == nullptr || warm->identity().model != choice.model->name ||
        warm->identity().emission != choice.emission->name)
      throw OptionError(concat(name, ": the model is ", context_.warm->name(), ", not hct"));
    require_same_bits(*warm, cohort_.schema());
    const Id count = warm->parameters().emitting_states();
    if (settings_.trees && *settings_.trees != count)
      throw OptionError(concat(name, ": the model has ", counted(count, "tree", "trees")));
    trees_ = count;
    for (Id m = 0; m < count; ++m)
      warm_members_.push_back(std::make_unique<HiddenChain>(warm->identity(), member_of(warm->parameters(), m)));
  }

  /// Of which a trial varies what is not given. share: of the students that its trees learn from.
  TrialTask trial_task(double share) const {
    const auto options = options_.read<HiddenTreeOptions>();
    const double students = everybody_->weight();
    const bool is_on = settings_.trial == Trial::on;
    TrialTask task;
    task.usual = {options.link_prior_for(students), options.timing_prior_for(students), options.states_for(students)};
    task.varies_link = is_on && !options.link_prior;
    task.varies_timing = is_on && !options.timing_prior;
    task.varies_states = is_on && !options.tree_states;
    task.trees = trees_;
    task.share = share;
    task.members_judged = validation_.has_value();
    task.most_iterations = settings_.em.max_iterations;
    task.may_go_on = is_on && !options_.values().contains("iterations");
    return task;
  }

  void begin_trial(double share) {
    judges_.emplace(*judges(), settings_.weights, layout_);
    TrialTask task = trial_task(share);
    task.judges = judges_->weights;
    trial_.emplace(std::move(task));
    number_ = in_trial;
  }

  /// resumes: the checkpoint at hand is this member's.
  std::unique_ptr<Member> prepare_member(Id number, bool resumes = false) {
    if (number == in_trial) return prepare_step(trial_->next().front(), resumes);
    std::unique_ptr<Member> member = begin_member(number, chosen_ ? chosen_->values() : std::optional<TrialValues>());
    FitOptions& options = member->options;
    if (number > 0 && !options_.values().contains("tree-noise")) options.set("tree-noise", member_noise);
    // The number of iterations is the trial's find; else members stop by themselves.
    const int most = chosen_ ? chosen_->iterations : settings_.em.max_iterations;
    options.set("iterations", iterations_.value_or(most));
    options.set("tolerance", iterations_ ? 0.0 : settings_.em.tolerance);
    TrainingContext& context = member->context;
    const auto at = static_cast<std::size_t>(number);
    context.warm = warm_members_.empty() ? nullptr : warm_members_[at].get();
    context.validation = validation_ ? &*validation_ : nullptr;
    finish_member(*member, *everybody_, concat("tree ", number + 1, "/", trees_), resumes);
    if (number == number_) first_bytes_ = member->training->estimate().bytes;
    return member;
  }

  /// One of the trial.
  std::unique_ptr<Member> prepare_step(const TrialStep& step, bool resumes = false) {
    std::unique_ptr<Member> member = begin_member(0, step.values);
    member->options.set("iterations", step.iterations).set("tolerance", settings_.em.tolerance);
    TrainingContext& context = member->context;
    if (step.from != nullptr) {
      member->from = std::make_unique<HiddenChain>(
          ChainIdentity{member_model, options_.choice().emission->name, false, layout_.structure, cohort_.schema()},
          *step.from);
    }
    context.warm = member->from.get();
    context.validation = &judges_->cohort;
    const std::string phase = step.tree <= 0 ? "trial" : concat("trial, tree ", step.tree + 1);
    finish_member(*member, trial_students_ ? *trial_students_ : *everybody_, phase, resumes);
    first_bytes_ = std::max(first_bytes_, member->training->estimate().bytes);
    return member;
  }

  std::unique_ptr<Member> begin_member(Id number, const std::optional<TrialValues>& values) const {
    const EmissionFamily& family = *options_.choice().emission;
    auto member =
        std::make_unique<Member>(FitOptions(concat(member_model, "+", family.name), options_.catalog()), context_);
    FitOptions& options = member->options;
    for (const Setting& setting : list_settings(family.settings)) {
      const auto given = options_.values().find(setting.name);
      if (given != options_.values().end()) options.set(setting.name, given->second);
    }
    if (values) options.set(values->settings());
    options.set("states", 1).set("restarts", 1).set("start", "random");
    if (!settings_.weights.empty()) options.set("weights", settings_.weights);
    const auto at = static_cast<std::uint64_t>(number);
    options.seed = RandomStream(options_.seed).child("member").child(at).bits() >> 1;  // as a record can hold it
    return member;
  }

  void finish_member(Member& member, Students& students, const std::string& phase, bool resumes) {
    TrainingContext& context = member.context;
    context.resume = resumes;
    context.rows = &students.rows;
    context.also_save = [this](ArchiveWriter& archive) { save_finished(archive); };
    if (context_.progress) {
      context.progress = [this, phase](ProgressEvent event) {
        event.phase = phase;
        report(event);
      };
    }
    member.training = prepare_training({students.cohort, member.options, context});
  }

  /// What comes before the first iteration may take as long as many of them.
  static void say_begins(const Member& member) {
    if (member.context.progress) member.context.progress({"", 0});
  }

  FitResult run_one(Id number) {
    const std::unique_ptr<Member> member = number == number_ && first_ ? std::move(first_) : prepare_member(number);
    say_begins(*member);
    return member->training->run();
  }

  /// What a step came to, and the parameters at its best.
  std::pair<TrialPart, ChainParameters> run_step(const TrialStep& step) {
    const std::unique_ptr<Member> member = first_ ? std::move(first_) : prepare_step(step);
    say_begins(*member);
    const FitResult found = member->training->run();
    const ChainParameters& best = offered<HasChain>(*found.model)->chain().parameters();
    const Executor& executor = context_.executor;
    const std::vector<RowScores> scores =
        score_pools(best, judges_->rows, LikelihoodKind::mass, Precision::quick, executor);
    return {{found.iterations, found.best_iteration, found.stopped_by != "iterations",
             student_log_likelihoods(best, judges_->rows, scores, executor)},
            best};
  }

  void run_trial() {
    while (!trial_->next().empty()) {
      const std::vector<TrialStep> steps(trial_->next().begin(), trial_->next().end());
      if (steps.size() == 1 || members_at_work() == 1) {
        auto [part, best] = run_step(steps.front());
        trial_->take(steps.front(), std::move(part), std::move(best));
        continue;
      }
      first_.reset();
      std::vector<std::pair<TrialPart, ChainParameters>> found(steps.size());
      context_.executor.for_each(std::ssize(steps), [&](std::int64_t i) {
        found[static_cast<std::size_t>(i)] = run_step(steps[static_cast<std::size_t>(i)]);
      });
      for (std::size_t i = 0; i < steps.size(); ++i)
        trial_->take(steps[i], std::move(found[i].first), std::move(found[i].second));
    }
    end_trial();
    number_ = 0;
    first_ = prepare_member(number_);
    trial_students_.reset();
  }

  void end_trial() {
    chosen_ = trial_->report();
    if (!validation_) iterations_ = std::max(1, trial_->iterations());
  }

  /// In the order of the members.
  void keep(FitResult found) {
    members_.push_back(offered<HasChain>(*found.model)->chain().parameters());
    RestartResult result = found.restarts.front();
    result.number = number_;
    result.converged = result.converged || iterations_.has_value();
    results_.push_back(result);
    if (number_++ == 0) first_result_ = std::move(found);
  }

  FitResult finish() {
    FitResult result = first_result_ ? std::move(*first_result_) : FitResult();
    const ModelChoice& choice = options_.choice();
    ChainIdentity identity{choice.model->name, choice.emission->name, true, layout_.structure, cohort_.schema()};
    std::unique_ptr<Committee> model = Committee::of(std::move(identity), members_);
    if (!model) throw ArchiveError("the members of the committee do not fit each other");
    const ChainParameters& parameters = model->chain().parameters();
    const Executor& executor = context_.executor;
    Estimates scored;
    scored.value = student_log_likelihoods(
        parameters, everybody_->rows,
        score_pools(parameters, everybody_->rows, LikelihoodKind::mass, Precision::quick, executor), executor);
    const std::vector<double>& weights = everybody_->weights;
    std::optional<LoadTilt> tilt;
    if (settings_.load == LoadModel::tilt) {
      const EvidenceBatch evidence = EvidenceBatch::of(everybody_->cohort);
      tilt = tilt_for(model->chain(), {evidence, weights}, RandomStream(options_.seed).child("load"), executor);
      if (tilt)
        scored =
            tilted_log_likelihood(model->chain(), *tilt, evidence, LikelihoodKind::mass, std::move(scored), executor);
    }
    const Vector scores = scored.value.col(0);
    result.student_weight = result.log_likelihood = 0;
    for (Index s = 0; s < scores.size(); ++s) {
      const double weight = weights[static_cast<std::size_t>(s)];
      if (!(weight > 0)) continue;
      result.log_likelihood += weight * std::min(scores[s], 0.0);
      result.student_weight += weight;
    }
    result.objective = result.log_likelihood;
    result.model_name = choice.model->name;
    result.emission = choice.emission->name;
    result.states = 0;
    result.state_students.clear();  // a tree is not a kind of students
    result.state_behind.clear();
    result.trees = trees_;
    result.tree_states = offered<FormsCommittees>(*parameters.emissions.front())->hidden_values();
    result.trial = chosen_;
    result.model = tilt ? std::make_unique<Committee>(model->chain(), std::move(tilt)) : std::move(model);
    result.students = everybody_->cohort.student_count();
    result.restarts = std::move(results_);
    result.converged = std::ranges::all_of(result.restarts, &RestartResult::converged);
    if (iterations_) {
      result.stopped_by = trial_ ? "validation" : "iterations";
      std::erase_if(result.warnings, [](const std::string& text) { return text.starts_with("not converged"); });
      const std::string count = concat(counted(*iterations_, "iteration", "iterations"), " a tree");
      if (warm_members_.empty() && trial_) {
        result.warnings.push_back(concat(count, ", the number that described best ",
                                         counted(judges_->cohort.student_count(), "student", "students"),
                                         " set aside in a trial; the trees are then learned from all students"));
      } else if (warm_members_.empty()) {
        warn_of_few(result, count);
      }
    }
    return result;
  }

  void save_finished(ArchiveWriter& archive) const {
    nlohmann::json header = {{"member", number_}, {"finished", nlohmann::json::array()}};
    if (iterations_) header["iterations"] = *iterations_;
    if (trial_) header["trial"] = trial_->save(archive);
    for (std::size_t m = 0; m < members_.size(); ++m) {
      members_[m].save(archive, concat("member.", m, "."));
      header["finished"].push_back(save_result(archive, concat("member.", m, ".result"), results_[m]));
    }
    if (first_result_) {
      header["trace"] = first_result_->trace.size();
      archive.add("first.trace", first_result_->trace);
      archive.add("first.objective_trace", first_result_->objective_trace);
      archive.add("first.validation_trace", first_result_->validation_trace);
      header["first"] = {{"iterations", first_result_->iterations},
                         {"best_iteration", first_result_->best_iteration},
                         {"stopped_by", first_result_->stopped_by},
                         {"warnings", first_result_->warnings}};
    }
    archive.set("committee", header.dump());
  }

  void resume() {
    const std::optional<ArchiveReader> resumed = checkpoint_.resumed();
    if (!resumed) return;
    const ArchiveReader& archive = *resumed;
    if (!archive.has_metadata("committee"))
      throw OptionError(concat(context_.checkpoint.string(), ": the checkpoint belongs to another model"));
    try {
      const nlohmann::json header = nlohmann::json::parse(archive.metadata("committee"));
      const auto& finished = header.at("finished");
      for (std::size_t m = 0; m < finished.size(); ++m) {
        members_.push_back(ChainParameters::load(archive, concat("member.", m, "."), layout_, cohort_.schema(),
                                                 *options_.choice().emission));
        results_.push_back(load_result(archive, finished[m], concat("member.", m, ".result")));
        if (members_[m].emitting_states() != 1 || members_[m].has_left_state ||
            members_[m].departures.size() != members_[0].departures.size() ||
            learner_->incompatibility(*members_[m].emissions.front()))
          archive.refuse("damaged: a member of the committee");
      }
      constexpr int most = 1 << 30;
      if (header.contains("iterations")) iterations_ = whole_number(archive, header, "iterations", 1, most);
      if (header.contains("first")) {
        const auto& first = header.at("first");
        FitResult result;
        result.iterations = whole_number(archive, first, "iterations", 0, most);
        result.best_iteration = whole_number(archive, first, "best_iteration", 0, result.iterations);
        result.trace = load_trace(archive, "first.trace", result.iterations + 1);
        result.objective_trace = load_trace(archive, "first.objective_trace", result.iterations + 1);
        result.validation_trace =
            load_trace(archive, "first.validation_trace", validation_ ? result.iterations + 1 : 0);
        result.stopped_by = first.at("stopped_by").get<std::string>();
        result.warnings = first.at("warnings").get<std::vector<std::string>>();
        first_result_ = std::move(result);
      }
      number_ = whole_number(archive, header, "member", in_trial, most);
      if (trial_ && header.contains("trial"))
        trial_->load(archive, header.at("trial"), layout_, cohort_.schema(), *options_.choice().emission);
      const bool is_over = !trial_ || trial_->next().empty();
      // Another trial would go on where this one ends, or end before.
      if (header.contains("trial") != trial_.has_value() || is_over != (number_ >= 0))
        throw OptionError(concat(archive.name(), ": the checkpoint belongs to a fit with other options"));
      if (trial_ && is_over) end_trial();
      if (number_ >= trees_ || static_cast<Id>(members_.size()) != std::max(0, number_))
        archive.refuse("damaged: the members of the committee");
    } catch (const nlohmann::json::exception&) {
      archive.refuse("damaged: the description of the committee");
    }
    first_ = prepare_member(number_, /*resumes=*/true);
  }

  CommitteeSettings settings_;
  StepLayout layout_;
  std::unique_ptr<EmissionLearner> learner_;
  std::optional<Students> everybody_, trial_students_, judges_;
  std::optional<Cohort> validation_;     // where each member watches them
  std::optional<CommitteeTrial> trial_;  // begun or over
  std::optional<TrialReport> chosen_;    // where there was a choice
  std::vector<std::unique_ptr<HiddenChain>> warm_members_;
  Id trees_ = 1;
  Id number_ = 0;                  // of the member whose turn it is
  std::optional<int> iterations_;  // as the trial found
  std::vector<ChainParameters> members_;
  std::vector<RestartResult> results_;
  std::optional<FitResult> first_result_;
  std::unique_ptr<Member> first_;  // of those still to be trained
  double first_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Training> prepare_members(const TrainingTask& task) {
  return std::make_unique<CommitteeFit>(task);
}

}  // namespace desirepath::inline models
