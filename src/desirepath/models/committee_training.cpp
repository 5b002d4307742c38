#include "desirepath/models/committee_training.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/chain_training.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/models/committee.h"

namespace desirepath::inline models {

namespace {

/// This entry of the catalog trains members.
constexpr const char* member_model = "nb";
constexpr int rows_a_thread = 1024;   // of one tree that are worth a thread
constexpr double member_noise = 0.3;  // of the shapes of all members but the first
constexpr double pilot_share = 0.1;   // of the students, set aside to find the number of iterations
constexpr std::size_t fewest_judges = 10;
constexpr int warm_iterations = 10;   // that a committee goes on from another one where nobody judges
constexpr int usual_iterations = 30;  // where there are too few students to find it

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
    } else if (context_.warm != nullptr) {
      iterations_ = std::min(warm_iterations, settings_.em.max_iterations);
    } else if (settings_.em.tolerance > 0) {
      if (hold_out(pilot_share, fewest_judges)) {
        trial_.emplace(training(), settings_.weights, layout_);
        trial_judges_ = *judges();
        number_ = pilot;
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
  static constexpr Id pilot = -1;

  /// Students and their rows, cut once for all who learn from them.
  struct Students {
    Students(const Cohort& all, const std::string& weights, const StepLayout& layout)
        : cohort(all), rows(EvidenceBatch::of(cohort), layout) {
      weigh_rows(rows, weights.empty() ? std::vector<double>() : student_weights(cohort, weights));
    }
    Cohort cohort;
    ChainEvidence rows;
  };

  /// One member about to be trained, with what its training refers to.
  struct Member {
    Member(FitOptions its_options, const TrainingContext& its_context)
        : options(std::move(its_options)), context(its_context) {}
    FitOptions options;
    TrainingContext context;
    std::unique_ptr<Training> training;
  };

  FitResult train() override {
    resume();
    if (number_ == pilot) run_pilot();
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

  /// resumes: the checkpoint at hand is this member's.
  std::unique_ptr<Member> prepare_member(Id number, bool resumes = false) {
    const EmissionFamily& family = *options_.choice().emission;
    auto member =
        std::make_unique<Member>(FitOptions(concat(member_model, "+", family.name), options_.catalog()), context_);
    FitOptions& options = member->options;
    for (const Setting& setting : list_settings(family.settings)) {
      const auto given = options_.values().find(setting.name);
      if (given != options_.values().end()) options.set(setting.name, given->second);
    }
    options.set("states", 1).set("restarts", 1).set("start", "random");
    if (number > 0 && !options_.values().contains("tree-noise")) options.set("tree-noise", member_noise);
    if (!settings_.weights.empty()) options.set("weights", settings_.weights);
    // The number of iterations is the pilot's find; else members stop by themselves.
    options.set("iterations", iterations_.value_or(settings_.em.max_iterations));
    options.set("tolerance", iterations_ ? 0.0 : settings_.em.tolerance);
    const auto at = static_cast<std::size_t>(std::max(0, number));
    options.seed = RandomStream(options_.seed).child("member").child(at).bits() >> 1;  // as a record can hold it

    TrainingContext& context = member->context;
    Students& students = number == pilot ? *trial_ : *everybody_;
    const std::optional<Cohort>& judges = number == pilot ? trial_judges_ : validation_;
    context.resume = resumes;
    context.warm = warm_members_.empty() ? nullptr : warm_members_[at].get();
    context.validation = judges ? &*judges : nullptr;
    context.rows = &students.rows;
    context.also_save = [this](ArchiveWriter& archive) { save_finished(archive); };
    if (context_.progress) {
      context.progress = [this, number](ProgressEvent event) {
        event.phase = number == pilot ? "finding the number of iterations" : concat("tree ", number + 1, "/", trees_);
        report(event);
      };
    }
    member->training = prepare_training({students.cohort, options, context});
    if (number == number_) first_bytes_ = member->training->estimate().bytes;
    return member;
  }

  FitResult run_one(Id number) {
    const std::unique_ptr<Member> member = number == number_ && first_ ? std::move(first_) : prepare_member(number);
    return member->training->run();
  }

  void run_pilot() {
    iterations_ = std::max(1, run_one(pilot).best_iteration);
    number_ = 0;
    first_ = prepare_member(number_);
    trial_.reset();
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
    const std::vector<double> weights =
        settings_.weights.empty() ? std::vector<double>(static_cast<std::size_t>(everybody_->cohort.student_count()), 1)
                                  : student_weights(everybody_->cohort, settings_.weights);
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
    result.model = tilt ? std::make_unique<Committee>(model->chain(), std::move(tilt)) : std::move(model);
    result.students = everybody_->cohort.student_count();
    result.restarts = std::move(results_);
    result.converged = std::ranges::all_of(result.restarts, &RestartResult::converged);
    if (iterations_) {
      result.stopped_by = trial_judges_ ? "validation" : "iterations";
      std::erase_if(result.warnings, [](const std::string& text) { return text.starts_with("not converged"); });
      const std::string count = concat(counted(*iterations_, "iteration", "iterations"), " a tree");
      if (warm_members_.empty() && trial_judges_) {
        result.warnings.push_back(concat(count, ", the number that described best ",
                                         counted(trial_judges_->student_count(), "student", "students"),
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
      number_ = whole_number(archive, header, "member", pilot, most);
      const bool has_pilot = trial_.has_value();
      if (number_ < (has_pilot ? pilot : 0) || (has_pilot && number_ >= 0 && !iterations_) || number_ >= trees_ ||
          static_cast<Id>(members_.size()) != std::max(0, number_))
        archive.refuse("damaged: the members of the committee");
    } catch (const nlohmann::json::exception&) {
      archive.refuse("damaged: the description of the committee");
    }
    first_ = prepare_member(number_, /*resumes=*/true);
  }

  CommitteeSettings settings_;
  StepLayout layout_;
  std::unique_ptr<EmissionLearner> learner_;
  std::optional<Students> everybody_, trial_;
  std::optional<Cohort> validation_, trial_judges_;
  std::vector<std::unique_ptr<HiddenChain>> warm_members_;
  Id trees_ = 1;
  Id number_ = 0;                  // of the member whose turn it is
  std::optional<int> iterations_;  // as the pilot found
  std::vector<ChainParameters> members_;
  std::vector<RestartResult> results_;
  std::optional<FitResult> first_result_;
  std::unique_ptr<Member> first_;  // of those still to be trained
  double first_bytes_ = 0;
};

/// A fit to students of whom more is known than their courses.
class CommitteeFitWithTraits : public Training {
 public:
  CommitteeFitWithTraits(const TrainingTask& task, const std::vector<Trait>& traits)
      : cohort_(task.cohort.with_traits(traits)), context_(task.context) {
    if (context_.validation != nullptr) {
      if (!context_.validation->schema().has_same_bits(cohort_.schema())) refuse_other_bits();
      validation_ = context_.validation->with_traits(traits);
      context_.validation = &*validation_;
    }
    fit_ = std::make_unique<CommitteeFit>(TrainingTask{cohort_, task.options, context_});
    warnings_ = trait_warnings(cohort_, traits);
  }
  FitEstimate estimate() const override { return fit_->estimate(); }
  FitResult run() override {
    FitResult result = fit_->run();
    result.warnings.insert(result.warnings.end(), warnings_.begin(), warnings_.end());
    return result;
  }

 private:
  Cohort cohort_;
  TrainingContext context_;
  std::optional<Cohort> validation_;
  std::unique_ptr<CommitteeFit> fit_;
  std::vector<std::string> warnings_;
};

/// What the model is to know about students beside their courses: when they left, where they do, and what the user
/// names.
std::vector<Trait> traits_of(const TrainingTask& task) {
  const auto settings = task.options.read<CommitteeSettings>();
  if (task.context.warm != nullptr) {
    const std::vector<Trait>& known = task.context.warm->schema().traits();
    for (const NamedTrait& named : read_trait_names(settings.attributes, settings.outcomes)) {
      const bool is_known = std::ranges::any_of(known, [&](const Trait& trait) {
        return trait.name == named.name && trait.kind == named.kind && trait.expression == named.expression;
      });
      if (!is_known)
        throw OptionError(concat(setting_name("warm"), ": the model knows no ", name_of(named.kind), " '", named.name,
                                 "' like this, and cannot learn it anew"));
    }
    if (task.context.warm->models_leaving() && !task.cohort.has_departures())
      throw OptionError(
          concat(setting_name("warm"), ": the model knows students who leave, of whom the cohort has none"));
    return known;
  }
  std::vector<Trait> traits = traits_named(task.cohort, settings.attributes, settings.outcomes);
  if (task.cohort.has_departures() && task.cohort.schema().period_count() > 1)
    traits.insert(traits.begin(), departure_trait(task.cohort.schema().periods()));
  return traits;
}

}  // namespace

std::unique_ptr<Training> prepare_committee(const TrainingTask& task) {
  const std::vector<Trait> traits = traits_of(task);
  if (traits.empty()) return std::make_unique<CommitteeFit>(task);
  return std::make_unique<CommitteeFitWithTraits>(task, traits);
}

}  // namespace desirepath::inline models
