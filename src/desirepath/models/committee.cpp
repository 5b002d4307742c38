#include "desirepath/models/committee.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/chain_training.h"
#include "desirepath/models/committee_training.h"
#include "desirepath/models/model_file.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

ChainParameters member_of(const ChainParameters& committee, Id number) {
  ChainParameters member;
  member.prior.initial = Vector::Ones(1);
  member.emissions.push_back(committee.emissions.front()->reordered(std::vector<Id>{number}));
  if (committee.departures.size() > 0) member.departures = committee.departures.row(number);
  return member;
}

std::unique_ptr<Committee> Committee::of(ChainIdentity identity, std::span<const ChainParameters> members) {
  const auto count = std::ssize(members);
  const ChainParameters& first = members.front();
  ChainParameters committee;
  committee.prior.initial = Vector::Constant(count, 1.0 / static_cast<double>(count));
  if (first.departures.size() > 0) committee.departures.resize(count, first.departures.cols());
  std::vector<std::shared_ptr<const Emission>> emissions;
  for (const ChainParameters& member : members) {
    if (member.departures.size() != first.departures.size()) return nullptr;
    if (committee.departures.size() > 0) committee.departures.row(std::ssize(emissions)) = member.departures;
    emissions.push_back(member.emissions.front());
  }
  const auto* forms = offered<FormsCommittees>(*emissions.front());
  std::unique_ptr<Emission> joined = forms == nullptr ? nullptr : forms->joined(emissions);
  if (!joined) return nullptr;
  committee.emissions.push_back(std::move(joined));
  return std::make_unique<Committee>(HiddenChain(std::move(identity), std::move(committee)));
}

std::unique_ptr<Model> Committee::tilted(const LoadStudents& students, const RandomStream& stream,
                                         const Executor& executor) const {
  return std::make_unique<Committee>(chain_, tilt_for(chain_, students, stream, executor));
}

Estimates Committee::with_loads(const EvidenceBatch& evidence, LikelihoodKind kind, Estimates of_trees,
                                const Executor& executor) const {
  return tilt_ ? tilted_log_likelihood(chain_, *tilt_, evidence, kind, std::move(of_trees), executor)
               : std::move(of_trees);
}

EvidenceBatch Committee::complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                                  Conditioning conditioning) const {
  return tilt_ ? tilted_completions(chain_, *tilt_, evidence, stream, executor, conditioning)
               : chain_.complete(evidence, stream, executor, conditioning);
}

std::int64_t Committee::parameter_count() const {
  return chain_.parameter_count() + (tilt_ ? tilt_->parameter_count() : 0);
}

void Committee::save(ArchiveWriter& archive) const {
  chain_.save(archive);
  if (tilt_) tilt_->save(archive);
}

namespace {

[[noreturn]] void refuse_record() {
  throw ArchiveError("the model file's record of its training is of another model");
}

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
  const HiddenChain& committee = offered<HasChain>(model)->chain();
  ChainTask task{cohort.schema(), 1, 0.1, {}, {}};
  if (!settings.weights.empty()) task.weights = student_weights(cohort, settings.weights);
  ChainEvidence evidence(EvidenceBatch::of(cohort), committee.layout());
  RowMatrix scores(cohort.student_count(), committee.parameters().emitting_states());
  for (Id k = 0; k < committee.parameters().emitting_states(); ++k) {
    ChainParameters own = member_of(committee.parameters(), k);
    const auto* forms = offered<FormsCommittees>(*own.emissions.front());
    if (forms == nullptr || !committee.identity().schema.has_same_bits(cohort.schema())) refuse_record();
    FitOptions member = options;
    member.set("tree-states", forms->hidden_values());
    const auto learner = options.choice().emission->learner(member.values(), committee.layout().shape(cohort.schema()));
    ChainProblem problem(task, evidence, *learner, executor);
    if (problem.incompatibility(own)) refuse_record();
    problem.start_from_parameters(std::move(own));
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
  Estimates result;
  result.value.resize(scores.rows(), 1);
  const double equal = std::log(static_cast<double>(scores.cols()));
  for (Index s = 0; s < scores.rows(); ++s)
    result.value(s, 0) =
        std::min(0.0, log_sum_exp({scores.row(s).data(), static_cast<std::size_t>(scores.cols())}) - equal);
  // The factors of loads are of so many students that one of them makes no difference.
  const auto* whole = dynamic_cast<const Committee*>(&model);
  if (whole != nullptr)
    result = whole->with_loads(EvidenceBatch::of(cohort), LikelihoodKind::mass, std::move(result), executor);
  return result.value.col(0);
}

}  // namespace

ModelEntry committee_entry(const std::string& emission) {
  ModelEntry entry;
  entry.name = "hct";
  entry.what =
      "hidden course trees: a committee of trees of hidden variables over when courses are taken; no states, best "
      "answers";
  entry.default_emission = emission;
  entry.settings = declaration_of<CommitteeSettings>();
  entry.size_setting = "tree-states";
  entry.prepare = prepare_committee;
  entry.load = [emission](const ArchiveReader& archive, const Catalog& catalog) {
    std::unique_ptr<HiddenChain> chain = HiddenChain::load(archive, catalog.emissions, emission);
    std::optional<LoadTilt> tilt;
    if (LoadTilt::is_in(archive)) tilt = LoadTilt::load(archive, chain->schema().period_count());
    return std::make_unique<Committee>(std::move(*chain), std::move(tilt));
  };
  entry.leave_one_out = leave_one_out_of_committee;
  return entry;
}

}  // namespace desirepath::inline models
