#include "desirepath/models/orthant_em.h"

#include <cmath>

#include <Eigen/SVD>

#include "desirepath/core/error.h"
#include "desirepath/emissions/gaussian_mass.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline models {

ChainParameters as_probit(const ChainParameters& gaussian, const ProbitOptions& options, const Compute& compute) {
  ChainParameters result{gaussian.prior, {}, gaussian.has_left_state, gaussian.departures};
  for (const auto& emission : gaussian.emissions) {
    const auto& states = dynamic_cast<const GaussianEmission&>(*emission);
    const Index bits = states.bit_count(), factors = std::min<Index>(options.factors, bits);
    const ThresholdedStates thresholded = thresholded_states(states.parameters(), compute, factors);
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
    result.emissions.push_back(std::make_unique<ProbitEmission>(intercepts, slopes, factor_nodes(factors, nodes)));
  }
  return result;
}

FitResult fit_by_orthant_em(const Cohort& cohort, const FitOptions& options, const Compute& compute,
                            const ProgressSink& progress) {
  if (!options.checkpoint.empty())
    throw OptionError("--refine orthant-em keeps no checkpoints: fit, then fit --emission probit --warm");
  // The same split for both, named to both as a cohort of its own.
  std::optional<Cohort> training, held_out;
  FitOptions gaussian_options = options;
  gaussian_options.refine = Refinement::none;
  if (options.validation == nullptr) {
    const double share = options.validation_share.value_or(FitOptions::refinement_share);
    const Split split = split_by_share(cohort, {share, 0}, RandomStream(options.seed).child("validation"));
    if (split.training.empty() || split.validation.empty())
      throw OptionError("--refine: too few students to hold some out");
    training = cohort.select(split.training);
    held_out = cohort.select(split.validation);
    gaussian_options.validation_share.reset();
    if (options.validation_share) gaussian_options.validation = &*held_out;
  }
  const Cohort& students = training ? *training : cohort;
  const Cohort& judges = held_out ? *held_out : *options.validation;
  FitResult before = fit_model(students, gaussian_options, compute, progress);

  FitOptions probit_options = gaussian_options;
  probit_options.choice.emission = ProbitEmission::family_name;
  if (probit_options.covariance && probit_options.covariance->shape != CovarianceShape::factor)
    probit_options.covariance.reset();
  probit_options.covariance_prior.reset();
  probit_options.ridge = 0;
  ChainIdentity identity = before.model->identity();
  identity.emission = ProbitEmission::family_name;
  const HiddenChain start(identity, as_probit(before.model->parameters(), probit_options.probit_options(), compute));
  probit_options.start = StartKind::model;
  probit_options.warm = &start;
  probit_options.validation = &judges;
  FitResult after = fit_model(students, probit_options, compute, progress);

  const EvidenceBatch evidence = EvidenceBatch::of(judges);
  const Vector first = before.model->log_likelihood(evidence, LikelihoodKind::mass, compute).value.col(0);
  const Vector second = after.model->log_likelihood(evidence, LikelihoodKind::mass, compute).value.col(0);
  const Vector gains = second - first;
  RefinementReport report;
  report.refinement = Refinement::orthant_em;
  report.students = judges.student_count();
  report.trace = {first.mean(), second.mean()};
  report.kept_round = second.mean() > first.mean() ? 1 : 0;
  report.gain = report.kept_round == 1 ? gains.mean() : 0;
  const auto count = static_cast<double>(gains.size());
  report.standard_error =
      count > 1 ? std::sqrt((gains.array() - gains.mean()).square().sum() / (count - 1) / count) : 0;
  const double seconds = before.seconds + after.seconds;
  FitResult& kept = report.kept_round == 1 ? after : before;
  if (report.kept_round == 0)
    kept.warnings.emplace_back("the refinement found nothing better for the students held out: EM's model is kept");
  kept.refinement = std::move(report);
  kept.seconds = seconds;
  return std::move(kept);
}

}  // namespace desirepath::inline models
