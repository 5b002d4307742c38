#include "desirepath/models/orthant_em.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/chain_settings.h"
#include "desirepath/models/training_run.h"

namespace desirepath::inline models {

ChainParameters continued_parameters(const ChainParameters& fitted, const SettingValues& settings,
                                     const Executor& executor) {
  ChainParameters result = fitted.answering();
  for (auto& emission : result.emissions)
    emission = offered<Continues>(*emission)->continued(settings, executor);
  return result;
}

namespace {

/// Settings of the fit before the refinement, and of the fit after it.
FitOptions unrefined(const FitOptions& options) {
  FitOptions plain = options;
  return plain.unset("refine");
}
FitOptions continued_options(const FitOptions& options) {
  const auto& continuation = options.choice().emission->continuation;
  if (!continuation) {
    std::vector<std::string> families;
    for (const EmissionFamily& family : options.catalog().emissions) {
      if (family.continuation) families.push_back(family.name);
    }
    throw OptionError(concat(setting_name("refine"), " orthant-em starts from ", setting_name("emission"), " ",
                             join(families, ", ")));
  }
  const SettingValues kept = continuation->settings(options.values());
  FitOptions next = options.with_emission(continuation->family);
  for (const auto& [name, value] : options.values()) {
    if (!kept.contains(name)) next.unset(name);
  }
  return next;
}

class OrthantEm : public TrainingRun {
 public:
  explicit OrthantEm(const TrainingTask& task)
      : TrainingRun(task),
        executor_(task.context.executor),
        first_options_(unrefined(task.options)),
        second_options_(continued_options(first_options_)),
        first_context_(task.context) {
    // The same split for both fits, named to both as a cohort of its own.
    if (task.context.validation == nullptr) {
      const auto validation = task.options.read<ChainSettings>().validation;
      hold_out_for("refine", validation.value_or(refinement_share));
      first_options_.unset("validation");
      second_options_.unset("validation");
      if (validation) first_context_.validation = judges();
    }
    take_up();
    first_ = prepare_training({training(), first_options_, first_context_});
  }

  FitEstimate estimate() const override { return first_->estimate(); }

 private:
  FitResult train() override {
    FitResult before = first_->run();
    // What the first fit ended with goes along in the checkpoints of the second.
    if (checkpoint_.is_active() && first_end_.empty()) first_end_ = read_file(context_.checkpoint);
    const HiddenChain& chain = offered<HasChain>(*before.model)->chain();
    ChainIdentity identity = chain.identity();
    identity.emission = second_options_.choice().emission->name;
    identity.plain = false;
    const HiddenChain start(identity, continued_parameters(chain.parameters(), second_options_.values(), executor_));
    TrainingContext context = first_context_;
    context.labels.clear();
    context.warm = &start;
    context.validation = judges();
    context.checkpoint = context_.checkpoint;
    context.resume = !first_context_.checkpoint_bytes.empty();
    context.checkpoint_bytes.clear();
    context.also_save = [this](ArchiveWriter& archive) {
      std::vector<std::uint8_t> bytes(first_end_.size());
      std::ranges::transform(first_end_, bytes.begin(), [](std::byte b) { return static_cast<std::uint8_t>(b); });
      archive.add("first_fit", std::move(bytes));
    };
    FitResult after = fit_model(training(), second_options_, context);
    return better_of(std::move(before), std::move(after));
  }

  /// A checkpoint of the second fit: the first is taken up at its end and writes none of its own.
  void take_up() {
    const std::optional<ArchiveReader> archive = checkpoint_.resumed();
    if (!archive || !archive->has("first_fit")) return;
    const std::vector<std::uint8_t> bytes = archive->read<std::uint8_t>("first_fit");
    for (const std::uint8_t byte : bytes)
      first_end_.push_back(std::byte{byte});
    first_context_.checkpoint_bytes = first_end_;
    first_context_.checkpoint.clear();
  }

  FitResult better_of(FitResult before, FitResult after) const {
    const EvidenceBatch evidence = EvidenceBatch::of(*judges());
    const Estimates by_first = before.model->log_likelihood(evidence, LikelihoodKind::mass, executor_);
    const Vector first = by_first.value.col(0),
                 second = after.model->log_likelihood(evidence, LikelihoodKind::mass, executor_).value.col(0),
                 gains = second - first;
    RefinementReport report;
    report.refinement = Refinement::orthant_em;
    report.students = judges()->student_count();
    report.trace = {first.mean(), second.mean()};
    const auto count = static_cast<double>(gains.size());
    const double spread = std::sqrt((gains.array() - gains.mean()).square().sum() / std::max(1.0, count - 1) / count);
    // What the Gaussian's mass may be off by is no noise that students would average out.
    report.standard_error = count > 1 ? std::hypot(spread, by_first.standard_error.mean()) : infinity;
    report.kept_round = gains.mean() > errors_above * report.standard_error ? 1 : 0;
    report.gain = report.kept_round == 1 ? gains.mean() : 0;
    FitResult& kept = report.kept_round == 1 ? after : before;
    kept.refinement = std::move(report);
    warn_of_refinement(kept);
    return std::move(kept);
  }

  const Executor& executor_;
  FitOptions first_options_, second_options_;
  TrainingContext first_context_;
  std::unique_ptr<Training> first_;
  std::vector<std::byte> first_end_;  // the last checkpoint of the first fit
};

}  // namespace

std::unique_ptr<Training> prepare_orthant_em(const TrainingTask& task) {
  return std::make_unique<OrthantEm>(task);
}

}  // namespace desirepath::inline models
