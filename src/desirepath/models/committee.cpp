#include "desirepath/models/committee.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/learning/em.h"
#include "desirepath/models/chain_training.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/model_file.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

namespace {

/// Members are one-step chains of one state; this entry of the catalog trains such.
constexpr const char* member_choice = "nb+hidden-tree";
constexpr double member_noise = 0.3;  // of the shapes of all members but the first
constexpr double pilot_share = 0.1;   // of the students, set aside to find the number of iterations
constexpr std::size_t fewest_judges = 10;
constexpr int warm_iterations = 10;   // that a committee goes on from another one where nobody judges
constexpr int usual_iterations = 30;  // where there are too few students to find it

struct CommitteeSettings {
  std::optional<Id> trees;
  EmOptions em{200, 1e-7};
  std::optional<double> validation;
  std::string weights;

  void declare(SettingVisitor& visit) {
    visit(Setting("trees", "members of the committee (16; 8 from 3,000 students, 4 from 20,000)")
              .at_least(1)
              .at_most(1000)
              .in("Model"),
          trees);
    em.declare(visit);
    visit(Setting("validation", "a cohort, or a share of the students: members stop where these are best expected")
              .above(0)
              .at_most(1)
              .taking("FILE|SHARE")
              .in("Training"),
          validation);
    visit(Setting("weights", "student attribute that weighs each student").taking("COLUMN").in("Model"), weights);
  }
};

Id trees_for(std::int64_t students) {
  return students < 3000 ? 16 : students < 20'000 ? 8 : 4;
}

const HiddenChain& as_committee(const Model& model) {
  return offered<HasChain>(model)->chain();
}

const HiddenTreeEmission& trees_of(const ChainParameters& parameters) {
  return dynamic_cast<const HiddenTreeEmission&>(*parameters.emissions.front());
}

/// One member as a chain of its own.
ChainParameters member_of(const ChainParameters& committee, Id number) {
  ChainParameters member;
  member.prior.initial = Vector::Ones(1);
  member.emissions.push_back(committee.emissions.front()->reordered(std::vector<Id>{number}));
  if (committee.departures.size() > 0) member.departures = committee.departures.row(number);
  return member;
}

ChainParameters assembled(const std::vector<ChainParameters>& members) {
  const auto count = static_cast<Index>(members.size());
  ChainParameters committee;
  committee.prior.initial = Vector::Constant(count, 1.0 / static_cast<double>(count));
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  if (members.front().departures.size() > 0) committee.departures.resize(count, members.front().departures.cols());
  for (const ChainParameters& member : members) {
    if (member.departures.size() != members.front().departures.size())
      throw ArchiveError("the members of the committee do not fit each other");
    if (committee.departures.size() > 0) committee.departures.row(std::ssize(trees)) = member.departures;
    trees.push_back(trees_of(member).trees().front());
  }
  committee.emissions.push_back(
      std::make_shared<const HiddenTreeEmission>(std::move(trees), trees_of(members.front()).retakes()));
  return committee;
}

class CommitteeFit : public TrainingRun {
 public:
  explicit CommitteeFit(const TrainingTask& task)
      : TrainingRun(task), settings_(task.options.read<CommitteeSettings>()), training_(task.cohort) {
    if (options_.choice().emission->name != HiddenTreeEmission::family_name)
      throw OptionError(concat(setting_name("emission"), " ", options_.choice().emission->name,
                               ": the members of hct are hidden trees"));
    refuse_states(context_, "hct");
    trees_ = settings_.trees.value_or(trees_for(cohort_.student_count()));
    if (context_.warm != nullptr) take_warm();
    if (settings_.validation && context_.validation == nullptr) hold_out_for("validation", *settings_.validation);
    training_ = training();
    if (judges() != nullptr) {
      validation_ = *judges();
    } else if (context_.warm != nullptr) {
      iterations_ = std::min(warm_iterations, settings_.em.max_iterations);
    } else if (settings_.em.tolerance > 0) {
      if (hold_out(pilot_share, fewest_judges)) {
        pilot_training_ = training();
        pilot_validation_ = *judges();
        member_ = pilot;
      } else {
        iterations_ = std::min(usual_iterations, settings_.em.max_iterations);
      }
    }
    first_ = prepare_member(member_);
  }

  FitEstimate estimate() const override {
    FitEstimate estimate = first_->estimate();
    const double h = tree_states(), links = 8.0 * cohort_.schema().course_count() * h * h;
    estimate.bytes += 3 * links * trees_;
    return estimate;
  }

 private:
  FitResult train() override {
    resume();
    if (member_ == pilot) run_pilot();
    for (; member_ < trees_; ++member_)
      run_member();
    return finish();
  }

  static constexpr Id pilot = -1;
  Id tree_states() const {
    return options_.read<HiddenTreeOptions>().states_for(static_cast<double>(cohort_.student_count()));
  }

  /// The members begin where those of the model are.
  void take_warm() {
    const std::string name = setting_name("warm");
    const auto* has = offered<HasChain>(*context_.warm);
    const HiddenChain* warm = has == nullptr ? nullptr : &has->chain();
    const bool is_committee =
        warm != nullptr && !warm->identity().has_kinds && warm->identity().emission == HiddenTreeEmission::family_name;
    if (!is_committee) throw OptionError(concat(name, ": the model is ", context_.warm->name(), ", not hct"));
    require_same_bits(*warm, cohort_.schema());
    const auto count = static_cast<Id>(warm->parameters().prior.initial.size());
    if (settings_.trees && *settings_.trees != count)
      throw OptionError(concat(name, ": the model has ", counted(count, "tree", "trees")));
    trees_ = count;
    for (Id m = 0; m < count; ++m) {
      ChainIdentity identity = warm->identity();
      identity.has_kinds = true;
      warm_members_.push_back(std::make_unique<HiddenChain>(std::move(identity), member_of(warm->parameters(), m)));
    }
  }

  /// resumes: the checkpoint at hand is this member's.
  std::unique_ptr<Training> prepare_member(Id number, bool resumes = false) {
    const bool alone = number == pilot;
    member_options_ = std::make_unique<FitOptions>(member_choice, options_.catalog());
    for (const Setting& setting : list_settings(options_.choice().emission->settings)) {
      const auto given = options_.values().find(setting.name);
      if (given != options_.values().end()) member_options_->set(setting.name, given->second);
    }
    member_options_->set("states", 1).set("restarts", 1).set("start", "random");
    if (number > 0 && !options_.values().contains("tree-noise")) member_options_->set("tree-noise", member_noise);
    if (!settings_.weights.empty()) member_options_->set("weights", settings_.weights);
    // The number of iterations is the pilot's find; else members stop by themselves.
    const bool fixed = iterations_.has_value();
    member_options_->set("iterations", fixed ? *iterations_ : settings_.em.max_iterations);
    member_options_->set("tolerance", fixed ? 0.0 : settings_.em.tolerance);
    RandomStream seeds =
        RandomStream(options_.seed).child("member").child(static_cast<std::uint64_t>(std::max(0, number)));
    member_options_->seed = seeds.bits() >> 1;  // as a record can hold it

    member_context_ = std::make_unique<TrainingContext>(context_);
    member_context_->resume = resumes;
    if (!warm_members_.empty())
      member_context_->warm = warm_members_[static_cast<std::size_t>(std::max(0, number))].get();
    member_context_->validation = alone ? &*pilot_validation_ : validation_ ? &*validation_ : nullptr;
    member_context_->also_save = [this](ArchiveWriter& archive) { save_finished(archive); };
    if (context_.progress) {
      member_context_->progress = [this, number, alone](ProgressEvent event) {
        event.phase = alone ? "finding the number of iterations" : concat("tree ", number + 1, "/", trees_);
        context_.progress(event);
      };
    }
    member_students_ = std::make_unique<Cohort>(alone ? *pilot_training_ : training_);
    return prepare_training({*member_students_, *member_options_, *member_context_});
  }

  FitResult run_one(Id number) {
    std::unique_ptr<Training> training = first_ ? std::move(first_) : prepare_member(number);
    return training->run();
  }

  void run_pilot() {
    const FitResult found = run_one(pilot);
    iterations_ = std::max(1, found.best_iteration);
    member_ = 0;
  }

  void run_member() {
    FitResult found = run_one(member_);
    members_.push_back(as_committee(*found.model).parameters());
    RestartResult result = found.restarts.front();
    result.number = member_;
    result.converged = result.converged || iterations_.has_value();
    results_.push_back(result);
    if (member_ == 0) first_result_ = std::move(found);
  }

  FitResult finish() {
    FitResult result = first_result_ ? std::move(*first_result_) : FitResult();
    const ModelChoice& choice = options_.choice();
    const HiddenTreeEmission& first = trees_of(members_.front());
    ChainIdentity identity{choice.model->name, choice.emission->name, true, TimeStructure::one_step, cohort_.schema(),
                           /*has_kinds=*/false};
    auto model = std::make_unique<HiddenChain>(std::move(identity), assembled(members_));
    const Vector scores =
        model->log_likelihood(EvidenceBatch::of(training_), LikelihoodKind::mass, context_.executor).value.col(0);
    const std::vector<double> weights = settings_.weights.empty()
                                            ? std::vector<double>(static_cast<std::size_t>(scores.size()), 1)
                                            : student_weights(training_, settings_.weights);
    result.student_weight = result.log_likelihood = 0;
    for (Index s = 0; s < scores.size(); ++s) {
      const double weight = weights[static_cast<std::size_t>(s)];
      if (!(weight > 0)) continue;
      result.log_likelihood += weight * scores[s];
      result.student_weight += weight;
    }
    result.objective = result.log_likelihood;
    result.model = std::move(model);
    result.model_name = choice.model->name;
    result.emission = choice.emission->name;
    result.states = 0;
    result.state_students.clear();  // a tree is not a kind of students
    result.state_behind.clear();
    result.trees = trees_;
    result.tree_states = first.trees().front()->state_count();
    result.students = training_.student_count();
    result.restarts = std::move(results_);
    result.converged = std::ranges::all_of(result.restarts, &RestartResult::converged);
    if (iterations_) {
      result.stopped_by = pilot_validation_ ? "validation" : "iterations";
      std::erase_if(result.warnings, [](const std::string& text) { return text.starts_with("not converged"); });
      const std::string count = concat(counted(*iterations_, "iteration", "iterations"), " a tree");
      if (warm_members_.empty()) {
        result.warnings.push_back(pilot_validation_
                                      ? concat(count, ", the number that described best ",
                                               counted(pilot_validation_->student_count(), "student", "students"),
                                               " set aside in a trial; the trees are then learned from all students")
                                      : concat(count, ": there are too few students to try which number is best"));
      }
    }
    return result;
  }

  void save_finished(ArchiveWriter& archive) const {
    nlohmann::json header = {{"member", member_}, {"finished", nlohmann::json::array()}};
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
    const StepLayout layout = StepLayout::of(TimeStructure::one_step, cohort_.schema().period_count());
    try {
      const nlohmann::json header = nlohmann::json::parse(archive.metadata("committee"));
      const auto& finished = header.at("finished");
      for (std::size_t m = 0; m < finished.size(); ++m) {
        members_.push_back(ChainParameters::load(archive, concat("member.", m, "."), layout, cohort_.schema(),
                                                 *options_.choice().emission));
        results_.push_back(load_result(archive, finished[m], concat("member.", m, ".result")));
        if (members_[m].emitting_states() != 1 || members_[m].has_left_state ||
            members_[m].departures.size() != members_[0].departures.size() ||
            trees_of(members_[m]).retakes() != options_.read<HiddenTreeOptions>().retakes)
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
      member_ = whole_number(archive, header, "member", pilot, most);
      const bool has_pilot = pilot_training_.has_value();
      if (member_ < (has_pilot ? pilot : 0) || (has_pilot && member_ >= 0 && !iterations_) || member_ >= trees_ ||
          static_cast<Id>(members_.size()) != std::max(0, member_))
        archive.refuse("damaged: the members of the committee");
    } catch (const nlohmann::json::exception&) {
      archive.refuse("damaged: the description of the committee");
    }
    first_ = prepare_member(member_, /*resumes=*/true);
  }

  CommitteeSettings settings_;
  Cohort training_;
  std::optional<Cohort> validation_, pilot_training_, pilot_validation_;
  std::vector<std::unique_ptr<HiddenChain>> warm_members_;
  Id trees_ = 1;
  Id member_ = 0;                  // at work
  std::optional<int> iterations_;  // as the pilot found
  std::vector<ChainParameters> members_;
  std::vector<RestartResult> results_;
  std::optional<FitResult> first_result_;
  // Of the member at work.
  std::unique_ptr<FitOptions> member_options_;
  std::unique_ptr<TrainingContext> member_context_;
  std::unique_ptr<Cohort> member_students_;
  std::unique_ptr<Training> first_;
};

/// Members stop before they converge, so a step without the student is compared with a step with it.
Vector leave_one_out_of_committee(const Model& model, const TrainingRecord& training, const Cohort& cohort,
                                  const Executor& executor) {
  const FitOptions& options = training.trained_with();
  const auto settings = options.read<CommitteeSettings>();
  if (settings.validation)
    throw OptionError(concat("leave-one-out: the model was trained on a share of the students (",
                             setting_name("validation"), "); train on all"));
  if (training.data_fingerprint != cohort.fingerprint())
    throw OptionError("leave-one-out: the model was trained on another cohort than this one");
  const HiddenChain& committee = as_committee(model);
  ChainTask task{cohort.schema(), 1, 0.1, {}, {}};
  if (!settings.weights.empty()) task.weights = student_weights(cohort, settings.weights);
  ChainEvidence evidence(EvidenceBatch::of(cohort), committee.layout());
  RowMatrix scores(cohort.student_count(), committee.parameters().emitting_states());
  for (Id k = 0; k < committee.parameters().emitting_states(); ++k) {
    FitOptions member = options;
    member.set("tree-states", trees_of(committee.parameters()).trees()[static_cast<std::size_t>(k)]->state_count());
    const auto learner = options.choice().emission->learner(member.values(), committee.layout().shape(cohort.schema()));
    ChainProblem problem(task, evidence, *learner, executor);
    ChainParameters member_parameters = member_of(committee.parameters(), k);
    if (!committee.identity().schema.has_same_bits(cohort.schema()) || problem.incompatibility(member_parameters))
      throw ArchiveError("the model file's record of its training is of another model");
    problem.start_from_parameters(std::move(member_parameters));
    const auto current = [&] {
      return student_log_likelihoods(
          problem.parameters(), evidence,
          score_pools(problem.parameters(), evidence, LikelihoodKind::mass, Precision::quick, executor), executor);
    };
    const Vector before = current();
    problem.expectation();
    const Vector without = problem.left_out_scores();
    problem.maximisation();
    scores.col(k) = before + without - current();
  }
  Vector result(scores.rows());
  const double equal = std::log(static_cast<double>(scores.cols()));
  for (Index s = 0; s < scores.rows(); ++s)
    result[s] = std::min(0.0, log_sum_exp({scores.row(s).data(), static_cast<std::size_t>(scores.cols())}) - equal);
  return result;
}

}  // namespace

ModelEntry committee_entry() {
  ModelEntry entry;
  entry.name = "hct";
  entry.what =
      "hidden course trees: a committee of trees of hidden variables over when courses are taken; no states, best "
      "answers";
  entry.default_emission = std::string(HiddenTreeEmission::family_name);
  entry.settings = declaration_of<CommitteeSettings>();
  entry.size_setting = "tree-states";
  entry.prepare = [](const TrainingTask& task) { return std::make_unique<CommitteeFit>(task); };
  entry.load = [emission = entry.default_emission](const ArchiveReader& archive, const Catalog& catalog) {
    return HiddenChain::load(archive, catalog.emissions, emission, /*has_kinds=*/false);
  };
  entry.leave_one_out = leave_one_out_of_committee;
  return entry;
}

}  // namespace desirepath::inline models
