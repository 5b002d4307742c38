// The M step of few factors: one step of the EM of factor analysis, factors given the known bits, then each bit
// regressed on them.
#include <algorithm>

#include <Eigen/Dense>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/gaussian_factors.h"
#include "desirepath/emissions/gaussian_steps.h"

namespace desirepath::inline emissions {

namespace {

constexpr int first_factor_rounds = 8;

/// For each bit the sums over the rows that know it, of (z, 1)(z, 1)' and of x (z, 1), z the expected factors: bits by
/// entries; where all rows know everything, one row of the former for all bits.
struct FactorSums {
  RowMatrix products;
  RowMatrix responses;
};

FactorSums count_factors(const GaussianParameters& parameters, Index state, bool all_known, const StepRows& rows,
                         const RowMatrix& responsibilities, const Executor& executor) {
  const Index bits = rows.bit_count(), factors = parameters.loading.front().cols(), size = factors + 1;
  RowMatrix expected(rows.row_count(), size);  // E[z], 1
  std::vector<Matrix> by_pattern(static_cast<std::size_t>(rows.pattern_count()), Matrix::Zero(size, size));
  for (Id pattern = 0; pattern < rows.pattern_count(); ++pattern) {
    const Range range{rows.first_row(pattern), rows.end_row(pattern)};
    if (range.size() == 0) continue;
    const FactorsGivenRow posterior(parameters, state, rows.unknown(pattern));
    const Vector sums = executor.sum_over(range.size(), size * size, [&](Range part, Vector& sum) {
      Vector whitened(factors);
      Eigen::Map<Matrix> products(sum.data(), size, size);
      for (std::int64_t row = range.first + part.first; row < range.first + part.last; ++row) {
        whitened = posterior.origin;
        for (const Id bit : rows.taken(row))
          whitened += posterior.step.row(bit).transpose();
        expected.row(row).head(factors) = (posterior.root * whitened).transpose();
        expected(row, factors) = 1;
        products.noalias() += responsibilities(row, state) * expected.row(row).transpose() * expected.row(row);
      }
    });
    Matrix& products = by_pattern[static_cast<std::size_t>(pattern)];
    products = Eigen::Map<const Matrix>(sums.data(), size, size);
    products.topLeftCorner(factors, factors) +=
        products(factors, factors) * posterior.root * posterior.root.transpose();
  }
  Matrix all = Matrix::Zero(size, size);
  for (const Matrix& products : by_pattern)
    all += products;
  FactorSums sums{RowMatrix(all_known ? 1 : bits, size * size), RowMatrix(bits, size)};
  executor.for_blocks(bits, 8, [&](Range block) {
    for (auto bit = static_cast<Id>(block.first); bit < block.last; ++bit) {
      Matrix products = all;
      for (Id pattern = 1; pattern < rows.pattern_count(); ++pattern) {
        if (rows.unknown(pattern).contains(bit)) products -= by_pattern[static_cast<std::size_t>(pattern)];
      }
      Vector response = -products.col(factors);
      for (const ColumnEntry& entry : rows.column(bit))
        response += 2 * responsibilities(entry.row, state) * expected.row(entry.row).transpose();
      sums.responses.row(bit) = response.transpose();
      if (!all_known || bit == 0)
        sums.products.row(bit) = Eigen::Map<const Eigen::RowVectorXd>(products.data(), size * size);
    }
  });
  return sums;
}

void regress_on_factors(GaussianParameters& parameters, Index state, const FactorSums& sums, const Vector& pooled,
                        double prior, double ridge, const Executor& executor) {
  RowMatrix& loading = parameters.loading[static_cast<std::size_t>(state)];
  const Index bits = loading.rows(), factors = loading.cols(), size = factors + 1;
  executor.for_blocks(bits, 8, [&](Range block) {
    for (Index bit = block.first; bit < block.last; ++bit) {
      const Index at = sums.products.rows() == 1 ? 0 : bit;
      const Matrix products = Eigen::Map<const Matrix>(sums.products.row(at).data(), size, size);
      const double weight = products(factors, factors);
      if (!(weight > no_gaussian_weight)) {
        loading.row(bit).setZero();
        parameters.noise(bit, state) = pooled[bit] + ridge;
        continue;
      }
      const Vector response = sums.responses.row(bit).transpose();
      const Vector coefficients = products.ldlt().solve(response);
      loading.row(bit) = coefficients.head(factors).transpose();
      parameters.mean(bit, state) = coefficients[factors];
      const double left = std::max(0.0, weight - response.dot(coefficients));  // x squared is 1
      parameters.noise(bit, state) = (left + prior * pooled[bit]) / (weight + prior) + ridge;
    }
  });
}

/// With nothing missing the mean is the sample's, whatever the factors.
RowMatrix sample_means(const BitCounts& counts) {
  const Vector taken = counts.taken.rowwise().sum(), known = counts.known.rowwise().sum();
  RowMatrix mean(counts.taken.rows(), counts.taken.cols());
  for (Index j = 0; j < mean.rows(); ++j) {
    for (Index k = 0; k < mean.cols(); ++k) {
      const bool some = counts.known(j, k) > no_gaussian_weight;
      mean(j, k) =
          2 * (some ? counts.taken(j, k) / counts.known(j, k) : taken[j] / std::max(known[j], no_gaussian_weight)) - 1;
    }
  }
  return mean;
}

class FactorStep : public EmissionStep {
 public:
  FactorStep(const GaussianStepTask& task, GaussianParameters parameters)
      : task_(task), pooled_(pooled_variance(task.survey)), parameters_(std::move(parameters)) {
    const bool first = parameters_.mean.size() == 0;
    needs_means_ = first || task_.survey.all_known();
    rounds_ = first && parameters_.loading.front().cols() > 0 ? first_factor_rounds : 1;
  }

  Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const override {
    if (needs_means_) return to_statistics(count_bits(rows, responsibilities, executor));
    Statistics sums;
    for (Index k = 0; k < responsibilities.cols(); ++k) {
      FactorSums state = count_factors(parameters_, k, task_.survey.all_known(), rows, responsibilities, executor);
      sums.add(std::move(state.products));
      sums.add(std::move(state.responses));
    }
    return sums;
  }

  StepResult maximise(Statistics sums, const Executor& executor) override {
    if (needs_means_) {
      parameters_.mean = sample_means(to_bit_counts(std::move(sums)));
      needs_means_ = false;
      return StepResult::count_again();
    }
    for (std::size_t k = 0; 2 * k < sums.table_count(); ++k) {
      const FactorSums state{std::move(sums.table(2 * k)), std::move(sums.table(2 * k + 1))};
      regress_on_factors(parameters_, static_cast<Index>(k), state, pooled_, task_.prior, task_.ridge, executor);
    }
    if (--rounds_ > 0) return StepResult::count_again();
    return {uncalibrated_gaussian(std::move(parameters_))};
  }

 private:
  GaussianStepTask task_;
  Vector pooled_;
  GaussianParameters parameters_;
  bool needs_means_ = false;
  int rounds_ = 1;
};

}  // namespace

std::unique_ptr<EmissionStep> factor_gaussian_step(const GaussianStepTask& task, GaussianParameters parameters) {
  return std::make_unique<FactorStep>(task, std::move(parameters));
}

}  // namespace desirepath::inline emissions
