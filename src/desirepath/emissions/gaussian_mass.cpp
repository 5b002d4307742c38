#include "desirepath/emissions/gaussian_mass.h"

#include <algorithm>
#include <cmath>

#include <Eigen/SVD>

#include "desirepath/emissions/gaussian_dense.h"
#include "desirepath/emissions/gaussian_whole.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/emissions/thresholded_rows.h"
#include "desirepath/probability/factor_ep.h"
#include "desirepath/probability/factor_fit.h"
#include "desirepath/probability/factor_sampler.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

namespace {

/// States this many nats below a row's best have no part in its probability: their values need no sampling.
constexpr double near_best = 8;
/// What expectation propagation with its correction is off by, at most, on all but extreme problems.
constexpr double ep_error = 0.01;

}  // namespace

ThresholdedStates thresholded_states(const GaussianParameters& parameters, const Executor& executor, Index factors) {
  const Index states = parameters.mean.cols(), bits = parameters.mean.rows();
  std::vector<std::optional<ThresholdedFactors>> made(static_cast<std::size_t>(states));
  Vector residual = Vector::Zero(states);
  std::optional<FactorFit> tied;
  const auto fit = [&](Index state) {
    const Matrix covariance = covariance_of(parameters.factor_of(state));
    return fit_factors(correlation_of(covariance), std::clamp<Index>(bits / 2, 1, factors));
  };
  if (parameters.is_tied()) tied = fit(0);
  executor.for_each(states, [&](std::int64_t k) {
    const Vector threshold = parameters.standard_mean.col(k);
    RowMatrix loading;
    Vector noise;
    if (parameters.is_dense()) {
      const FactorFit found = tied ? *tied : fit(k);
      loading = found.covariance.loadings;
      noise = found.covariance.noise;
      residual[k] = found.residual;
    } else {
      const Vector variance = parameters.variances().col(k);
      loading = variance.cwiseSqrt().cwiseInverse().asDiagonal() * parameters.loading[static_cast<std::size_t>(k)];
      noise = parameters.noise.col(k).array() / variance.array();
      if (loading.cols() == 0) loading = RowMatrix::Zero(bits, 1);
    }
    made[static_cast<std::size_t>(k)] = ThresholdedFactors::from_loadings(threshold, loading, noise);
  });
  ThresholdedStates result;
  for (auto& state : made)
    result.states.push_back(std::move(*state));
  result.residual = residual.maxCoeff();
  return result;
}

RowScores factor_mass_scores(const ThresholdedStates& thresholded, const StepRows& rows, Precision precision,
                             const Executor& executor) {
  const auto states = static_cast<Index>(thresholded.states.size());
  RowScores scores;
  scores.log_likelihood = scores_by_ep(thresholded.states, rows, executor);
  scores.standard_error = RowMatrix::Constant(rows.row_count(), states, ep_error);
  if (precision != Precision::sampled) return scores;
  const RowMatrix approximate = scores.log_likelihood;
  std::vector<FactorSampler> samplers;
  for (const ThresholdedFactors& factors : thresholded.states)
    samplers.emplace_back(factors, FactorSamplerOptions{.points = 32}, RandomStream(0).child("mass"));
  executor.for_blocks(rows.row_count(), 128, [&](Range range) {
    for (Index k = 0; k < states; ++k) {
      FactorEp ep(thresholded.states[static_cast<std::size_t>(k)], score_tolerance);
      for (std::int64_t row = range.first; row < range.last; ++row) {
        if (approximate(row, k) < approximate.row(row).maxCoeff() - near_best) continue;
        const KnownSigns signs = signs_of(rows, row);
        const FactorEstimate found = samplers[static_cast<std::size_t>(k)].estimate(signs, ep.solve(signs), executor);
        scores.log_likelihood(row, k) = std::min(0.0, found.log_probability);
        scores.standard_error(row, k) = std::max(found.standard_error, found.log_probability);
      }
    }
  });
  return scores;
}

namespace {

class ThresholdedGiven : public GivenPattern {
 public:
  ThresholdedGiven(const ThresholdedStates& thresholded, const UnknownBits& unknown)
      : thresholded_(thresholded), unknown_(unknown) {
    for (const ThresholdedFactors& factors : thresholded.states)
      samplers_.emplace_back(factors, FactorSamplerOptions{.points = 128}, RandomStream(0).child("given"));
  }

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    RowMatrix errors(out.rows(), out.cols());
    marginals_with_errors(taken, asked, out, errors);
  }

  void marginals_with_errors(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out,
                             Eigen::Ref<RowMatrix> errors) const override {
    for (Index k = 0; k < out.rows(); ++k) {
      const FactorSample sample = sample_factors(taken, k);
      const Vector weights = sample.log_weights.array().exp();
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto column = static_cast<Index>(i);
        errors(k, column) = 0;
        if (!unknown_.contains(asked[i])) {
          out(k, column) = std::ranges::binary_search(taken, asked[i]) ? 1 : 0;
          continue;
        }
        const Vector shares = shares_of(asked[i], k, sample.points);
        const double share = weights.dot(shares);
        out(k, column) = share;
        errors(k, column) = std::sqrt((weights.array() * (shares.array() - share)).square().sum());
      }
    }
  }

  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    complete_at_sample(thresholded_.states[static_cast<std::size_t>(state)], sample_factors(taken, state), taken,
                       unknown_, stream, result);
  }

 private:
  FactorSample sample_factors(std::span<const Id> taken, Index state) const {
    FactorEp ep(thresholded_.states[static_cast<std::size_t>(state)], score_tolerance);
    const KnownSigns signs{taken, unknown_.bits};
    return samplers_[static_cast<std::size_t>(state)].sample(signs, ep.solve(signs));
  }
  Vector shares_of(Id bit, Index state, const Matrix& points) const {
    const ThresholdedFactors& factors = thresholded_.states[static_cast<std::size_t>(state)];
    Vector result = points * factors.slopes().row(bit).transpose();
    result.array() += factors.thresholds()[bit];
    for (double& value : result)
      value = normal_cdf(value);
    return result;
  }

  const ThresholdedStates& thresholded_;
  const UnknownBits& unknown_;
  std::vector<FactorSampler> samplers_;
};

}  // namespace

std::unique_ptr<GivenPattern> thresholded_given(const ThresholdedStates& thresholded, const UnknownBits& unknown) {
  return std::make_unique<ThresholdedGiven>(thresholded, unknown);
}

std::unique_ptr<Emission> GaussianEmission::continued(const SettingValues& settings, const Executor& executor) const {
  const auto options = settings_from<ProbitOptions>(settings);
  const Index bits = bit_count(), factors = std::min<Index>(options.factors(), bits);
  const ThresholdedStates thresholded = thresholded_states(parameters_, executor, factors);
  RowMatrix intercepts(bits, state_count()), slopes(bits * state_count(), factors);
  for (Index k = 0; k < state_count(); ++k) {
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
  return std::make_unique<ProbitEmission>(intercepts, slopes, factor_nodes(factors, nodes));
}

}  // namespace desirepath::inline emissions
