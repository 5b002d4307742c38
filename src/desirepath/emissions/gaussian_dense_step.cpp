// The M step of whole covariances.
#include <algorithm>

#include <Eigen/Dense>

#include "desirepath/core/error.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/gaussian_dense.h"
#include "desirepath/emissions/gaussian_steps.h"
#include "desirepath/probability/gaussian.h"

namespace desirepath::inline emissions {

namespace {

/// Expected moments of complete rows b under the responsibilities.
struct Moments {
  std::vector<Matrix> second;  // lower triangles of the sum of bb': one a covariance
  RowMatrix first;             // bits by states
  Vector weight;               // by states
};

/// Adds what rows of a pattern are expected to hold in the bits they do not know (docs/models/gaussian.md, "missing
/// periods"). `gain` without entries: the unknown are independent of the known.
void add_unknown(Moments& moments, std::size_t group, const std::vector<Index>& states, const DenseConditional& split,
                 const Matrix& known_second, const RowMatrix& first, const Vector& weight, const RowMatrix& mean) {
  const bool dependent = split.gain.size() > 0;
  const auto unknown_count = static_cast<Index>(split.unknown.size()),
             known_count = static_cast<Index>(split.known.size());
  Matrix cross = Matrix::Zero(unknown_count, known_count);
  Matrix both = Matrix::Zero(unknown_count, unknown_count);
  if (dependent) {
    const Matrix observed = Matrix(known_second.selfadjointView<Eigen::Lower>())(split.known, split.known);
    cross.noalias() = split.gain * observed;
    both.noalias() = cross * split.gain.transpose();
  }
  for (const Index k : states) {
    const Vector sum = first.col(k)(split.known);
    Vector constant = mean.col(k)(split.unknown), explained = Vector::Zero(unknown_count);
    if (dependent) {
      constant -= split.gain * Vector(mean.col(k)(split.known));
      explained = split.gain * sum;
    }
    cross.noalias() += constant * sum.transpose();
    both.noalias() += explained * constant.transpose() + constant * explained.transpose() +
                      weight[k] * constant * constant.transpose();
    both += weight[k] * split.covariance;
    for (Index i = 0; i < unknown_count; ++i)
      moments.first(split.unknown[static_cast<std::size_t>(i)], k) += explained[i] + weight[k] * constant[i];
  }
  Matrix& target = moments.second[group];
  for (Index j = 0; j < known_count; ++j) {
    const Id known = split.known[static_cast<std::size_t>(j)];
    for (Index i = 0; i < unknown_count; ++i) {
      const Id unknown = split.unknown[static_cast<std::size_t>(i)];
      target(std::max(known, unknown), std::min(known, unknown)) += cross(i, j);
    }
  }
  for (Index j = 0; j < unknown_count; ++j) {
    for (Index i = j; i < unknown_count; ++i)
      target(split.unknown[static_cast<std::size_t>(i)], split.unknown[static_cast<std::size_t>(j)]) += both(i, j);
  }
}

/// share: of the bits in each state where there is no emission before, bits by states.
Moments expected_moments(const StepRows& rows, const RowMatrix& responsibilities, bool tied,
                         const GaussianEmission* previous, const RowMatrix& share, const Executor& executor) {
  const Id bits = rows.bit_count();
  const Index states = responsibilities.cols();
  const auto groups = static_cast<std::size_t>(tied ? 1 : states);
  const RowMatrix total = tied ? RowMatrix(responsibilities.rowwise().sum()) : RowMatrix();
  const RowMatrix& lanes = tied ? total : responsibilities;
  const auto first_moments = [&](Range range, const std::vector<Matrix>& second) {
    RowMatrix first = RowMatrix::Zero(bits, states);
    if (!tied) {  // b squared is b
      for (Index k = 0; k < states; ++k)
        first.col(k) = second[static_cast<std::size_t>(k)].diagonal();
      return first;
    }
    executor.for_blocks(bits, 8, [&](Range block) {
      for (auto bit = static_cast<Id>(block.first); bit < block.last; ++bit) {
        for (const ColumnEntry& entry : rows.column(bit, range.first, range.last))
          first.row(bit) += responsibilities.row(entry.row);
      }
    });
    return first;
  };

  const Range complete{rows.first_row(0), rows.end_row(0)};
  Moments moments;
  moments.second = pair_moments(rows, complete, lanes, executor);
  moments.first = first_moments(complete, moments.second);
  const RowMatrix weights = weights_by_pattern(rows, responsibilities, executor);
  moments.weight = weights.row(0).transpose();
  if (rows.all_known()) return moments;

  RowMatrix mean = share;
  std::vector<Matrix> covariances;
  if (previous != nullptr) {
    mean = (previous->parameters().mean.array() + 1) / 2;
    covariances = covariances_of(previous->parameters().cholesky, executor);
  }
  for (Id pattern = 1; pattern < rows.pattern_count(); ++pattern) {
    const Range range{rows.first_row(pattern), rows.end_row(pattern)};
    if (range.size() == 0) continue;
    const std::vector<Matrix> second = pair_moments(rows, range, lanes, executor);
    const RowMatrix first = first_moments(range, second);
    const Vector weight = weights.row(pattern).transpose();
    moments.first += first;
    moments.weight += weight;
    executor.for_each(static_cast<std::int64_t>(groups), [&](std::int64_t number) {
      const auto g = static_cast<std::size_t>(number);
      std::vector<Index> members;
      for (Index k = tied ? 0 : number; k < (tied ? states : number + 1); ++k) {
        if (weight[k] > no_gaussian_weight) members.push_back(k);
      }
      if (members.empty()) return;
      moments.second[g].triangularView<Eigen::Lower>() += second[g];
      DenseConditional split;
      if (previous != nullptr) {
        split = condition(covariances[g], rows.unknown(pattern));
        split.covariance /= 4;
      } else {
        for (Id bit = 0; bit < bits; ++bit)
          (rows.unknown(pattern).contains(bit) ? split.unknown : split.known).push_back(bit);
        Vector variance = Vector::Zero(static_cast<Index>(split.unknown.size()));
        double sum = 0;
        for (const Index k : members) {
          const auto here = mean.col(k)(split.unknown).array();
          variance.array() += weight[k] * here * (1 - here);
          sum += weight[k];
        }
        split.covariance = Matrix((variance / sum).asDiagonal());
      }
      add_unknown(moments, g, members, split, second[g], first, weight, mean);
    });
  }
  return moments;
}

/// The memory of a matrix, column by column, as a table, and back. A second copy of all moments would not fit where one
/// does: each is given up when it is copied.
RowMatrix table_of(Matrix& matrix) {
  RowMatrix table = Eigen::Map<const RowMatrix>(matrix.data(), matrix.rows(), matrix.cols());
  matrix.resize(0, 0);
  return table;
}
Matrix matrix_of(RowMatrix& table) {
  Matrix matrix = Eigen::Map<const Matrix>(table.data(), table.rows(), table.cols());
  table.resize(0, 0);
  return matrix;
}

class DenseStep : public EmissionStep {
 public:
  DenseStep(const GaussianStepTask& task, const GaussianEmission* previous)
      : task_(task), previous_(previous), needs_shares_(previous == nullptr && !task.survey.all_known()) {}

  Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const override {
    if (needs_shares_) return to_statistics(count_bits(rows, responsibilities, executor));
    Moments moments = expected_moments(rows, responsibilities, task_.tied, previous_, share_, executor);
    Statistics sums;
    sums.add(std::move(moments.first));
    sums.add(RowMatrix(moments.weight));
    for (Matrix& second : moments.second)
      sums.add(table_of(second));
    return sums;
  }

  StepResult maximise(Statistics sums, const Executor& executor) override {
    if (needs_shares_) {
      // Of those who know them.
      const BitCounts counts = to_bit_counts(std::move(sums));
      share_ = (counts.taken.array() + 0.5) / (counts.known.array() + 1);
      needs_shares_ = false;
      return StepResult::count_again();
    }
    Moments moments;
    moments.first = std::move(sums.table(0));
    moments.weight = sums.table(1);
    for (std::size_t g = 2; g < sums.table_count(); ++g)
      moments.second.push_back(matrix_of(sums.table(g)));
    return {uncalibrated_gaussian(maximised(std::move(moments), executor))};
  }

 private:
  GaussianParameters maximised(Moments moments, const Executor& executor) const;

  GaussianStepTask task_;
  const GaussianEmission* previous_;
  bool needs_shares_;
  RowMatrix share_;
};

GaussianParameters DenseStep::maximised(Moments moments, const Executor& executor) const {
  const bool tied = task_.tied;
  const Index bits = moments.first.rows(), states = moments.first.cols();
  const double prior = task_.prior;
  const Vector pooled = pooled_variance(task_.survey);
  GaussianParameters parameters;
  parameters.mean.resize(bits, states);
  RowMatrix share(bits, states);
  for (Index k = 0; k < states; ++k) {
    // A state without students stands where the whole does, until it is re-seeded.
    share.col(k) = moments.weight[k] > no_gaussian_weight
                       ? Vector(moments.first.col(k) / moments.weight[k])
                       : Vector(moments.first.rowwise().sum() / std::max(moments.weight.sum(), no_gaussian_weight));
    parameters.mean.col(k) = 2 * share.col(k).array() - 1;
  }
  executor.for_each(static_cast<std::int64_t>(moments.second.size()), [&](std::int64_t g) {
    Matrix& matrix = moments.second[static_cast<std::size_t>(g)];
    double weight = 0;
    for (Index k = tied ? 0 : g; k < (tied ? states : g + 1); ++k) {
      matrix.selfadjointView<Eigen::Lower>().rankUpdate(Vector(share.col(k)), -moments.weight[k]);
      weight += moments.weight[k];
    }
    if (weight > no_gaussian_weight)
      matrix.triangularView<Eigen::Lower>() *= 4 / (weight + prior);
    else
      matrix.setZero();
    // Rounding may leave a hair below zero where a course never varies.
    matrix.diagonal() = matrix.diagonal().cwiseMax(0);
    if (prior > 0 || !(weight > no_gaussian_weight)) {
      const double part = weight > no_gaussian_weight ? prior / (weight + prior) : 1;
      matrix.diagonal() += part * pooled;
    }
    matrix.diagonal().array() += task_.ridge;
    matrix.triangularView<Eigen::StrictlyUpper>().setZero();
    const Vector diagonal = matrix.diagonal();
    Matrix whole;
    // A floor so small that rounding outweighs it is raised as far as the factorisation needs.
    for (double raised = 1e-12;; raised *= 100) {
      whole = matrix;
      if (factorise(whole)) break;
      if (raised > 1) throw NumericalError("Gaussian: a covariance is not positive definite");
      matrix.diagonal() = diagonal.array() + raised * diagonal.maxCoeff();
    }
    matrix = std::move(whole);
  });
  parameters.cholesky = std::move(moments.second);
  return parameters;
}

}  // namespace

std::unique_ptr<EmissionStep> dense_gaussian_step(const GaussianStepTask& task, const GaussianEmission* previous) {
  return std::make_unique<DenseStep>(task, previous);
}

}  // namespace desirepath::inline emissions
