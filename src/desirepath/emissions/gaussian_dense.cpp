#include "desirepath/emissions/gaussian_dense.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <Eigen/Dense>

#include "desirepath/core/error.h"
#include "desirepath/probability/gaussian.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

std::vector<Id> known_bits(const UnknownBits& unknown, Id bits) {
  std::vector<Id> known;
  for (Id bit = 0; bit < bits; ++bit) {
    if (!unknown.contains(bit)) known.push_back(bit);
  }
  return known;
}

void factorise_surely(Matrix& covariance) {
  const Matrix given = covariance;
  for (double jitter = 0; !factorise(covariance); jitter = jitter == 0 ? 1e-14 : 100 * jitter) {
    covariance = given;
    covariance.diagonal().array() += jitter * given.diagonal().maxCoeff();
  }
}

namespace {

/// Rows of a pattern fewer than this are scored one by one, without a table of pairs.
constexpr std::int64_t few_rows = 24;

void require_factor(bool found) {
  if (!found) throw NumericalError("Gaussian: a covariance is not positive definite");
}

/// Precision of the known bits with the others integrated out, scattered to the numbers of all bits; and log|S_oo|.
double marginal_precision(const Matrix& covariance, const Matrix& precision, double log_determinant_of_all,
                          const std::vector<Id>& known, const std::vector<Id>& unknown, Matrix& out) {
  out.setZero(covariance.rows(), covariance.cols());
  if (2 * unknown.size() < known.size()) {
    // Few unknown: P_oo - P_ou P_uu^-1 P_uo.
    const Matrix whole = precision.selfadjointView<Eigen::Lower>();
    Matrix factor = whole(unknown, unknown), cross = whole(unknown, known);
    require_factor(factorise(factor));
    factor.triangularView<Eigen::Lower>().solveInPlace(cross);
    Matrix result = whole(known, known);
    result.selfadjointView<Eigen::Lower>().rankUpdate(cross.transpose(), -1);
    for (std::size_t j = 0; j < known.size(); ++j) {
      for (std::size_t i = j; i < known.size(); ++i)
        out(known[i], known[j]) = result(static_cast<Index>(i), static_cast<Index>(j));
    }
    return log_determinant_of_all + log_determinant(factor);
  }
  Matrix factor = covariance(known, known);
  require_factor(factorise(factor));
  const double log_determinant_of_known = log_determinant(factor);
  invert_lower(factor);
  Matrix result(factor.rows(), factor.cols());
  gram_of_lower(factor, result);
  for (std::size_t j = 0; j < known.size(); ++j) {
    for (std::size_t i = j; i < known.size(); ++i)
      out(known[i], known[j]) = result(static_cast<Index>(i), static_cast<Index>(j));
  }
  return log_determinant_of_known;
}

}  // namespace

DenseForm::DenseForm(const std::vector<Matrix>& precisions, const Vector& log_determinants, const RowMatrix& mean,
                     Index known_count, const Executor& executor)
    : base_(mean.cols()),
      single_(mean.rows(), mean.cols()),
      pairs_(static_cast<Id>(mean.rows()), static_cast<Index>(precisions.size())),
      precision_diagonal_(mean.rows(), static_cast<Index>(precisions.size())),
      log_determinants_(log_determinants) {
  const bool tied = precisions.size() == 1;
  for (std::size_t g = 0; g < precisions.size(); ++g)
    precision_diagonal_.col(static_cast<Index>(g)) = precisions[g].diagonal();
  executor.for_each(mean.cols(), [&](std::int64_t k) {
    const Index g = tied ? 0 : k;
    const Vector above = mean.col(k).array() + 1;
    const Vector c = precisions[static_cast<std::size_t>(g)].selfadjointView<Eigen::Lower>() * above;
    single_.col(k) = 2 * (c - precision_diagonal_.col(g));
    base_[k] =
        -0.5 * (static_cast<double>(known_count) * std::log(2 * std::numbers::pi) + log_determinants[g] + above.dot(c));
  });
  executor.for_blocks(mean.rows(), 16, [&](Range range) {
    Vector scaled;
    for (auto bit = static_cast<Id>(range.first); bit < range.last; ++bit) {
      for (std::size_t g = 0; g < precisions.size(); ++g) {
        scaled = -4 * precisions[g].col(bit).tail(mean.rows() - bit - 1);
        pairs_.set(bit, static_cast<Index>(g), scaled.data());
      }
    }
  });
}

void DenseForm::score(const StepRows& rows, Range range, RowMatrix& out, const Executor& executor) const {
  // Blocks so large that a pass over the table of pairs serves many rows.
  const std::int64_t block = std::clamp<std::int64_t>((range.size() + 7) / 8, 256, 4096);
  executor.for_blocks(range.size(), block, [&](Range part) {
    const Range here{range.first + part.first, range.first + part.last};
    RowMatrix pairs = RowMatrix::Zero(here.size(), pairs_.lane_count());
    pairs_.add_to(rows, here, pairs);
    for (std::int64_t row = here.first; row < here.last; ++row) {
      auto target = out.row(row);
      target = base_;
      for (const Id bit : rows.taken(row))
        target += single_.row(bit);
      if (pairs_.lane_count() == 1)
        target.array() += pairs(row - here.first, 0);
      else
        target += pairs.row(row - here.first);
    }
  });
}

DenseConditional condition(const Matrix& covariance, const UnknownBits& unknown) {
  DenseConditional result{known_bits(unknown, static_cast<Id>(covariance.rows())), unknown.bits, {}, {}};
  Matrix factor = covariance(result.known, result.known);
  Matrix cross = covariance(result.known, result.unknown);
  require_factor(factorise(factor));
  factor.triangularView<Eigen::Lower>().solveInPlace(cross);
  result.covariance = covariance(result.unknown, result.unknown);
  result.covariance.noalias() -= cross.transpose() * cross;
  factor.triangularView<Eigen::Lower>().transpose().solveInPlace(cross);
  result.gain = cross.transpose();
  return result;
}

Matrix covariance_of(const Matrix& cholesky) {
  return cholesky.triangularView<Eigen::Lower>() * Matrix(cholesky.triangularView<Eigen::Lower>()).transpose();
}

std::vector<Matrix> covariances_of(const std::vector<Matrix>& cholesky, const Executor& executor) {
  std::vector<Matrix> covariances(cholesky.size());
  executor.for_each(static_cast<std::int64_t>(cholesky.size()), [&](std::int64_t g) {
    covariances[static_cast<std::size_t>(g)] = covariance_of(cholesky[static_cast<std::size_t>(g)]);
  });
  return covariances;
}

std::vector<Matrix> precisions_of(const std::vector<Matrix>& cholesky, const Executor& executor) {
  std::vector<Matrix> precisions(cholesky.size());
  executor.for_each(static_cast<std::int64_t>(cholesky.size()), [&](std::int64_t g) {
    Matrix inverse = cholesky[static_cast<std::size_t>(g)];
    invert_lower(inverse);
    Matrix& precision = precisions[static_cast<std::size_t>(g)];
    precision.resize(inverse.rows(), inverse.cols());
    gram_of_lower(inverse, precision);
  });
  return precisions;
}

RowMatrix dense_scores(const GaussianEmission& emission, const StepRows& rows, const Executor& executor) {
  const GaussianParameters& parameters = emission.parameters();
  RowMatrix out(rows.row_count(), emission.state_count());
  if (rows.end_row(0) > rows.first_row(0))
    emission.dense_form(executor).score(rows, {rows.first_row(0), rows.end_row(0)}, out, executor);
  if (rows.all_known()) return out;

  const std::vector<Matrix> covariances = covariances_of(parameters.cholesky, executor);
  std::vector<Matrix> precisions = precisions_of(parameters.cholesky, executor);
  const auto groups = static_cast<std::int64_t>(covariances.size());
  const bool tied = parameters.is_tied();
  for (Id pattern = 1; pattern < rows.pattern_count(); ++pattern) {
    const Range range{rows.first_row(pattern), rows.end_row(pattern)};
    if (range.size() == 0) continue;
    const std::vector<Id>& unknown = rows.unknown(pattern).bits;
    const std::vector<Id> known = known_bits(rows.unknown(pattern), emission.bit_count());
    if (range.size() >= few_rows) {
      std::vector<Matrix> marginal(covariances.size());
      Vector log_determinants(groups);
      executor.for_each(groups, [&](std::int64_t number) {
        const auto g = static_cast<std::size_t>(number);
        log_determinants[number] = marginal_precision(
            covariances[g], precisions[g], log_determinant(parameters.cholesky[g]), known, unknown, marginal[g]);
      });
      DenseForm(marginal, log_determinants, parameters.mean, static_cast<Index>(known.size()), executor)
          .score(rows, range, out, executor);
      continue;
    }
    std::vector<Id> place(static_cast<std::size_t>(emission.bit_count()), -1);
    for (std::size_t i = 0; i < known.size(); ++i)
      place[static_cast<std::size_t>(known[i])] = static_cast<Id>(i);
    executor.for_each(groups, [&](std::int64_t g) {
      Matrix factor = covariances[static_cast<std::size_t>(g)](known, known);
      require_factor(factorise(factor));
      const double base =
          -0.5 * (static_cast<double>(known.size()) * std::log(2 * std::numbers::pi) + log_determinant(factor));
      for (Index k = tied ? 0 : g; k < (tied ? emission.state_count() : g + 1); ++k) {
        Matrix deviation(known.size(), range.size());
        for (std::int64_t row = range.first; row < range.last; ++row) {
          auto column = deviation.col(row - range.first);
          column = -(parameters.mean.col(k)(known).array() + 1);
          for (const Id bit : rows.taken(row))
            column[place[static_cast<std::size_t>(bit)]] += 2;
        }
        factor.triangularView<Eigen::Lower>().solveInPlace(deviation);
        for (std::int64_t row = range.first; row < range.last; ++row)
          out(row, k) = base - 0.5 * deviation.col(row - range.first).squaredNorm();
      }
    });
  }
  return out;
}

namespace {

class DenseGiven : public GivenPattern {
 public:
  DenseGiven(const GaussianEmission& emission, const UnknownBits& unknown)
      : emission_(emission), unknown_(unknown), place_(static_cast<std::size_t>(emission.bit_count()), -1) {
    const GaussianParameters& parameters = emission.parameters();
    const RowMatrix deviation = parameters.variances().cwiseSqrt();
    const std::vector<Id> known = known_bits(unknown, emission.bit_count());
    for (std::size_t i = 0; i < known.size(); ++i)
      place_[static_cast<std::size_t>(known[i])] = static_cast<Id>(i);
    for (std::size_t i = 0; i < unknown.bits.size(); ++i)
      place_[static_cast<std::size_t>(unknown.bits[i])] = static_cast<Id>(i);
    mean_ = (parameters.standard_mean.array() * deviation.array()).matrix()(unknown.bits, Eigen::all);
    nothing_known_ = known.empty();
    const Index groups = static_cast<Index>(parameters.cholesky.size());
    factor_made_ = std::make_unique<std::once_flag[]>(static_cast<std::size_t>(groups));
    factors_.resize(static_cast<std::size_t>(groups));
    if (nothing_known_) {
      deviation_ = deviation;
      return;
    }
    if (unknown.bits.empty()) return;
    deviation_.resize(mean_.rows(), mean_.cols());
    for (Index g = 0; g < groups; ++g) {
      const Matrix covariance = covariance_of(parameters.cholesky[static_cast<std::size_t>(g)]);
      DenseConditional conditional = condition(covariance, unknown);
      for (Index k = 0; k < mean_.cols(); ++k) {
        if (!parameters.is_tied() && k != g) continue;
        mean_.col(k) -= conditional.gain * (parameters.mean.col(k)(known).array() + 1).matrix();
        deviation_.col(k) = conditional.covariance.diagonal().cwiseMax(1e-300).cwiseSqrt();
      }
      gains_.push_back(std::move(conditional.gain));
      factors_[static_cast<std::size_t>(g)] = std::move(conditional.covariance);
    }
  }

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const Id bit = asked[i];
      const auto column = static_cast<Index>(i);
      if (!unknown_.contains(bit)) {
        out.col(column).setConstant(std::ranges::binary_search(taken, bit) ? 1 : 0);
        continue;
      }
      const Index at = place_[static_cast<std::size_t>(bit)];
      for (Index k = 0; k < mean_.cols(); ++k) {
        double mean = mean_(at, k);
        for (const Id known : taken)
          mean += 2 * gain_of(k)(at, place_[static_cast<std::size_t>(known)]);
        out(k, column) = normal_cdf(mean / deviation_(at, k));
      }
    }
  }

  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    result.assign(taken.begin(), taken.end());
    if (unknown_.bits.empty()) return;
    const Matrix& factor = factor_of(state);
    Vector noise(mean_.rows());
    for (double& value : noise)
      value = stream.normal();
    Vector latent = mean_.col(state);
    for (const Id known : taken)
      latent += 2 * gain_of(state).col(place_[static_cast<std::size_t>(known)]);
    latent.noalias() += factor.triangularView<Eigen::Lower>() * noise;
    for (Index i = 0; i < latent.size(); ++i) {
      if (latent[i] > 0) result.push_back(unknown_.bits[static_cast<std::size_t>(i)]);
    }
    std::ranges::sort(result);
  }

 private:
  std::size_t group_of(Index state) const {
    return emission_.parameters().is_tied() ? 0 : static_cast<std::size_t>(state);
  }
  const Matrix& gain_of(Index state) const { return gains_[group_of(state)]; }
  const Matrix& factor_of(Index state) const {
    if (nothing_known_) return emission_.parameters().factor_of(state);
    const std::size_t g = group_of(state);
    std::call_once(factor_made_[g], [&] { factorise_surely(factors_[g]); });
    return factors_[g];
  }

  const GaussianEmission& emission_;
  const UnknownBits& unknown_;
  std::vector<Id> place_;  // of a bit among the known, or among the unknown
  bool nothing_known_ = false;
  RowMatrix mean_, deviation_;           // unknown by states: of the latent given that no known bit is taken
  std::vector<Matrix> gains_;            // unknown by known
  mutable std::vector<Matrix> factors_;  // conditional covariances, factorised when first drawn from
  std::unique_ptr<std::once_flag[]> factor_made_;
};

}  // namespace

std::unique_ptr<GivenPattern> dense_given(const GaussianEmission& emission, const UnknownBits& unknown) {
  return std::make_unique<DenseGiven>(emission, unknown);
}

}  // namespace desirepath::inline emissions
