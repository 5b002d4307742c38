#include "desirepath/models/orthant_em.h"

#include <algorithm>
#include <cmath>

#include <Eigen/SVD>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/gaussian_mass.h"
#include "desirepath/models/chain_settings.h"
#include "desirepath/models/training_run.h"

namespace desirepath::inline models {

ChainParameters as_probit(const ChainParameters& gaussian, const ProbitOptions& options, const Executor& executor) {
  ChainParameters result = gaussian.answering();
  result.emissions.clear();
  for (const auto& emission : gaussian.emissions) {
    const auto& states = dynamic_cast<const GaussianEmission&>(*emission);
    const Index bits = states.bit_count(), factors = std::min<Index>(options.factors(), bits);
    const ThresholdedStates thresholded = thresholded_states(states.parameters(), executor, factors);
    RowMatrix intercepts(bits, states.state_count()), slopes(bits * states.state_count(), factors);
    for (Index k = 0; k < states.state_count(); ++k) {
      const ThresholdedFactors& state = thresholded.states[static_cast<std::size_t>(k)];
      intercepts.col(k) = state.thresholds();
      Matrix here = Matrix::Zero(bits, factors);
      here.leftCols(std::min(factors, state.factor_count())) =
          state.slopes().leftCols(std::min(factors, state.factor_count()));
      if (k > 0) {
        // The rotation that brings these slopes closest to the first state's (Procrustes).
        const Eigen::JacobiSVD<Matrix> parts(here.transpose() * slopes.topRows(bits),
                                             Eigen::ComputeFullU | Eigen::ComputeFullV);
        here = here * parts.matrixU() * parts.matrixV().transpose();
      }
      slopes.middleRows(k * bits, bits) = here;
    }
    const Id nodes = options.nodes > 0 ? options.nodes : ProbitOptions::default_nodes(static_cast<Id>(factors));
    result.emissions.push_back(
        std::make_shared<const ProbitEmission>(intercepts, slopes, factor_nodes(factors, nodes)));
  }
  return result;
}

namespace {

/// Settings of the Gaussian fit before the refinement, and of the probit fit after it.
FitOptions unrefined(const FitOptions& options) {
  FitOptions plain = options;
  return plain.unset("refine");
}
FitOptions as_probit_options(const FitOptions& options) {
  FitOptions probit = options.with_emission(ProbitEmission::family_name);
  const auto covariance = options.read<GaussianOptions>().covariance;
  if (covariance && covariance->shape != CovarianceShape::factor) probit.unset("covariance");
  return probit;
}

class OrthantEm : public TrainingRun {
 public:
  explicit OrthantEm(const TrainingTask& task)
      : TrainingRun(task),
        executor_(task.context.executor),
        gaussian_options_(unrefined(task.options)),
        probit_options_(as_probit_options(gaussian_options_)),
        gaussian_context_(task.context) {
    if (task.options.choice().emission->name != GaussianEmission::family_name)
      throw OptionError(
          concat(setting_name("refine"), " orthant-em starts from ", setting_name("emission"), " gaussian"));
    // The same split for both fits, named to both as a cohort of its own.
    if (task.context.validation == nullptr) {
      const auto validation = task.options.read<ChainSettings>().validation;
      hold_out_for("refine", validation.value_or(refinement_share));
      gaussian_options_.unset("validation");
      probit_options_.unset("validation");
      if (validation) gaussian_context_.validation = judges();
    }
    take_up();
    first_ = prepare_training({training(), gaussian_options_, gaussian_context_});
  }

  FitEstimate estimate() const override { return first_->estimate(); }

 private:
  FitResult train() override {
    FitResult before = first_->run();
    // What the first fit ended with goes along in the checkpoints of the second.
    if (checkpoint_.is_active() && first_end_.empty()) first_end_ = read_file(context_.checkpoint);
    const auto& chain = dynamic_cast<const HiddenChain&>(*before.model);
    ChainIdentity identity = chain.identity();
    identity.emission = ProbitEmission::family_name;
    identity.plain = false;
    const HiddenChain start(identity, as_probit(chain.parameters(), probit_options_.read<ProbitOptions>(), executor_));
    TrainingContext context = gaussian_context_;
    context.labels.clear();
    context.warm = &start;
    context.validation = judges();
    context.checkpoint = context_.checkpoint;
    context.resume = !gaussian_context_.checkpoint_bytes.empty();
    context.checkpoint_bytes.clear();
    context.also_save = [this](ArchiveWriter& archive) {
      std::vector<std::uint8_t> bytes(first_end_.size());
      std::ranges::transform(first_end_, bytes.begin(), [](std::byte b) { return static_cast<std::uint8_t>(b); });
      archive.add("first_fit", std::move(bytes));
    };
    FitResult after = fit_model(training(), probit_options_, context);
    return better_of(std::move(before), std::move(after));
  }

  /// A checkpoint of the second fit: the first is taken up at its end and writes none of its own.
  void take_up() {
    const std::optional<ArchiveReader> archive = checkpoint_.resumed();
    if (!archive || !archive->has("first_fit")) return;
    const std::vector<std::uint8_t> bytes = archive->read<std::uint8_t>("first_fit");
    for (const std::uint8_t byte : bytes)
      first_end_.push_back(std::byte{byte});
    gaussian_context_.checkpoint_bytes = first_end_;
    gaussian_context_.checkpoint.clear();
  }

  FitResult better_of(FitResult before, FitResult after) const {
    const EvidenceBatch evidence = EvidenceBatch::of(*judges());
    const Estimates by_gaussian = before.model->log_likelihood(evidence, LikelihoodKind::mass, executor_);
    const Vector first = by_gaussian.value.col(0),
                 second = after.model->log_likelihood(evidence, LikelihoodKind::mass, executor_).value.col(0),
                 gains = second - first;
    RefinementReport report;
    report.refinement = Refinement::orthant_em;
    report.students = judges()->student_count();
    report.trace = {first.mean(), second.mean()};
    const auto count = static_cast<double>(gains.size());
    const double spread = std::sqrt((gains.array() - gains.mean()).square().sum() / std::max(1.0, count - 1) / count);
    // What the Gaussian's mass may be off by is no noise that students would average out.
    report.standard_error = count > 1 ? std::hypot(spread, by_gaussian.standard_error.mean()) : infinity;
    report.kept_round = gains.mean() > errors_above * report.standard_error ? 1 : 0;
    report.gain = report.kept_round == 1 ? gains.mean() : 0;
    FitResult& kept = report.kept_round == 1 ? after : before;
    kept.refinement = std::move(report);
    warn_of_refinement(kept);
    return std::move(kept);
  }

  const Executor& executor_;
  FitOptions gaussian_options_, probit_options_;
  TrainingContext gaussian_context_;
  std::unique_ptr<Training> first_;
  std::vector<std::byte> first_end_;  // the last checkpoint of the first fit
};

}  // namespace

std::unique_ptr<Training> prepare_orthant_em(const TrainingTask& task) {
  return std::make_unique<OrthantEm>(task);
}

}  // namespace desirepath::inline models
