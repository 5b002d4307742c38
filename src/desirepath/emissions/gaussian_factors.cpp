#include "desirepath/emissions/gaussian_factors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <Eigen/Dense>

#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

FactorsGivenRow::FactorsGivenRow(const GaussianParameters& parameters, Index state, const UnknownBits& unknown) {
  const RowMatrix& loading = parameters.loading[static_cast<std::size_t>(state)];
  const Index bits = loading.rows(), factors = loading.cols();
  Matrix precision = Matrix::Identity(factors, factors);
  Vector towards = Vector::Zero(factors);
  step = RowMatrix::Zero(bits, factors);
  single = Vector::Zero(bits);
  double sum = 0;
  for (Index j = 0; j < bits; ++j) {
    if (unknown.contains(static_cast<Id>(j))) continue;
    const double noise = parameters.noise(j, state), mean = parameters.mean(j, state), above = 1 + mean;
    precision.noalias() += loading.row(j).transpose() * loading.row(j) / noise;
    towards -= loading.row(j).transpose() * (above / noise);
    step.row(j) = loading.row(j) * (2 / noise);
    single[j] = 2 * mean / noise;
    sum += std::log(2 * std::numbers::pi * noise) + above * above / noise;
  }
  const Eigen::LLT<Matrix> decomposition(precision);
  const Matrix lower = decomposition.matrixL();
  for (Index q = 0; q < factors; ++q)
    sum += 2 * std::log(lower(q, q));
  log_base = -0.5 * sum;
  // covariance = root root' with root = lower^-T.
  root = decomposition.matrixU().solve(Matrix::Identity(factors, factors));
  origin = root.transpose() * towards;
  step = step * root;
}

namespace {

/// All states of a pattern side by side, so that a row adds long runs.
struct PatternForm {
  Eigen::RowVectorXd base;    // by states
  RowMatrix single;           // bits by states
  Eigen::RowVectorXd origin;  // by (state, factor)
  RowMatrix step;             // bits by (state, factor)

  PatternForm(const GaussianParameters& parameters, const UnknownBits& unknown) {
    const Index bits = parameters.mean.rows(), states = parameters.mean.cols();
    const Index factors = parameters.loading.front().cols();
    base.resize(states);
    single.resize(bits, states);
    origin.resize(states * factors);
    step.resize(bits, states * factors);
    for (Index k = 0; k < states; ++k) {
      const FactorsGivenRow posterior(parameters, k, unknown);
      base[k] = posterior.log_base;
      single.col(k) = posterior.single;
      origin.segment(k * factors, factors) = posterior.origin.transpose();
      step.middleCols(k * factors, factors) = posterior.step;
    }
  }
};

}  // namespace

RowMatrix factor_scores(const GaussianEmission& emission, const StepRows& rows, const Executor& executor) {
  const GaussianParameters& parameters = emission.parameters();
  const Index states = emission.state_count(), factors = parameters.loading.front().cols();
  RowMatrix out(rows.row_count(), states);
  for (Id pattern = 0; pattern < rows.pattern_count(); ++pattern) {
    const Range range{rows.first_row(pattern), rows.end_row(pattern)};
    if (range.size() == 0) continue;
    const PatternForm form(parameters, rows.unknown(pattern));
    executor.for_blocks(range.size(), 512, [&](Range part) {
      Eigen::RowVectorXd sum(states * factors);
      for (std::int64_t row = range.first + part.first; row < range.first + part.last; ++row) {
        auto target = out.row(row);
        target = form.base;
        sum = form.origin;
        for (const Id bit : rows.taken(row)) {
          target += form.single.row(bit);
          sum += form.step.row(bit);
        }
        for (Index k = 0; k < states; ++k)
          target[k] += 0.5 * sum.segment(k * factors, factors).squaredNorm();
      }
    });
  }
  return out;
}

namespace {

class FactorGiven : public GivenPattern {
 public:
  FactorGiven(const GaussianEmission& emission, const UnknownBits& unknown)
      : parameters_(emission.parameters()), unknown_(unknown) {
    const RowMatrix variances = parameters_.variances();
    mean_ = parameters_.standard_mean.array() * variances.array().sqrt();
    deviation_.resize(mean_.rows(), mean_.cols());
    for (Index k = 0; k < mean_.cols(); ++k) {
      posteriors_.emplace_back(parameters_, k, unknown);
      const RowMatrix spread = parameters_.loading[static_cast<std::size_t>(k)] * posteriors_.back().root;
      deviation_.col(k) = (spread.rowwise().squaredNorm() + parameters_.noise.col(k)).cwiseSqrt();
    }
  }

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    for (Index k = 0; k < mean_.cols(); ++k) {
      const Vector factors = factor_mean(taken, k);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const Id bit = asked[i];
        if (!unknown_.contains(bit)) {
          out(k, static_cast<Index>(i)) = std::ranges::binary_search(taken, bit) ? 1 : 0;
          continue;
        }
        const double mean = mean_(bit, k) + parameters_.loading[static_cast<std::size_t>(k)].row(bit).dot(factors);
        out(k, static_cast<Index>(i)) = normal_cdf(mean / deviation_(bit, k));
      }
    }
  }

  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    result.assign(taken.begin(), taken.end());
    const FactorsGivenRow& posterior = posteriors_[static_cast<std::size_t>(state)];
    Vector noise(posterior.root.cols());
    for (double& value : noise)
      value = stream.normal();
    const Vector factors = factor_mean(taken, state) + posterior.root * noise;
    for (const Id bit : unknown_.bits) {
      const double mean =
          mean_(bit, state) + parameters_.loading[static_cast<std::size_t>(state)].row(bit).dot(factors);
      if (mean + std::sqrt(parameters_.noise(bit, state)) * stream.normal() > 0) result.push_back(bit);
    }
    std::ranges::sort(result);
  }

 private:
  Vector factor_mean(std::span<const Id> taken, Index state) const {
    const FactorsGivenRow& posterior = posteriors_[static_cast<std::size_t>(state)];
    Vector whitened = posterior.origin;
    for (const Id bit : taken)
      whitened += posterior.step.row(bit).transpose();
    return posterior.root * whitened;
  }

  const GaussianParameters& parameters_;
  const UnknownBits& unknown_;
  RowMatrix mean_, deviation_;  // bits by states: calibrated mean of the latent, its deviation given what is known
  std::vector<FactorsGivenRow> posteriors_;
};

}  // namespace

std::unique_ptr<GivenPattern> factor_given(const GaussianEmission& emission, const UnknownBits& unknown) {
  return std::make_unique<FactorGiven>(emission, unknown);
}

}  // namespace desirepath::inline emissions
