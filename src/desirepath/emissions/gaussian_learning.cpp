// The M step of Gaussian steps. Moments are kept of b and turned into those of x = 2b - 1 at the end: S = 4 cov(b).
#include <algorithm>
#include <cmath>
#include <tuple>

#include <Eigen/Dense>

#include "desirepath/core/error.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/gaussian_dense.h"
#include "desirepath/emissions/gaussian_factors.h"
#include "desirepath/probability/gaussian.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

namespace {

constexpr double no_weight = 1e-12;  // students' worth that count for nothing
constexpr int first_factor_steps = 8;

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

Moments expected_moments(const StepRows& rows, const RowMatrix& responsibilities, bool tied,
                         const GaussianEmission* previous, const Executor& executor) {
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

  // At the start the unknown are taken to be independent, with the shares of those who know them.
  RowMatrix mean(bits, states);
  std::vector<Matrix> covariances;
  if (previous != nullptr) {
    mean = (previous->parameters().mean.array() + 1) / 2;
    covariances = covariances_of(previous->parameters().cholesky, executor);
  } else {
    const BitCounts counts = count_bits(rows, responsibilities, executor);
    mean = (counts.taken.array() + 0.5) / (counts.known.array() + 1);
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
        if (weight[k] > no_weight) members.push_back(k);
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
          const auto share = mean.col(k)(split.unknown).array();
          variance.array() += weight[k] * share * (1 - share);
          sum += weight[k];
        }
        split.covariance = Matrix((variance / sum).asDiagonal());
      }
      add_unknown(moments, g, members, split, second[g], first, weight, mean);
    });
  }
  return moments;
}

}  // namespace

Vector pooled_variance(const StepRows& rows) {
  const std::span<const double> weights = rows.weights();
  double total = 0;
  for (const double weight : weights)
    total += weight;
  Vector known = Vector::Constant(rows.bit_count(), total), taken = Vector::Zero(rows.bit_count());
  for (Id pattern = 1; pattern < rows.pattern_count(); ++pattern) {
    double sum = 0;
    for (std::int64_t row = rows.first_row(pattern); row < rows.end_row(pattern); ++row)
      sum += weights[static_cast<std::size_t>(row)];
    for (const Id bit : rows.unknown(pattern).bits)
      known[bit] -= sum;
  }
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    for (const Id bit : rows.taken(row))
      taken[bit] += weights[static_cast<std::size_t>(row)];
  }
  const Eigen::ArrayXd share = (taken.array() + 0.5) / (known.array().max(taken.array()) + 1);
  return 4 * share * (1 - share);
}

CovarianceChoice GaussianOptions::covariance_for(Id bits) const {
  if (covariance) return *covariance;
  return bits > most_dense_bits ? CovarianceChoice{CovarianceShape::factor, 8} : CovarianceChoice{};
}

void GaussianOptions::validate() const {
  const std::string prior = setting_name("covariance-prior"), floor = setting_name("ridge");
  if (covariance_prior && *covariance_prior == 0 && ridge == 0)
    throw OptionError(concat(prior, " 0 needs a ", floor, " above 0: without a floor the likelihood has no bound"));
  // Variances of courses are about one: what lies below these is lost in their rounding.
  for (const auto& [name, value, least] :
       {std::tuple{prior, covariance_prior.value_or(0), 1e-9}, {floor, ridge, 1e-12}}) {
    if (value > 0 && value < least) throw OptionError(concat(name, " must be 0 or at least ", shortest(least)));
  }
  if (ridge > 0 && covariance_prior && *covariance_prior > 0)
    throw OptionError(concat(floor, " and ", prior, ": one or the other"));
}

double GaussianLearner::prior_students(Id bits) const {
  if (options_.ridge > 0) return 0;
  if (options_.covariance_prior) return *options_.covariance_prior;
  return covariance_.is_dense() ? static_cast<double>(bits) : 2;
}

namespace {

std::unique_ptr<Emission> uncalibrated(GaussianParameters parameters) {
  parameters.standard_mean = parameters.mean.array() / parameters.variances().array().sqrt();
  return std::make_unique<GaussianEmission>(std::move(parameters));
}

}  // namespace

std::unique_ptr<Emission> GaussianLearner::start(const StepRows& rows, const RowMatrix& responsibilities,
                                                 const RandomStream& stream, const Executor& executor) const {
  if (covariance_.is_dense()) return maximise(rows, responsibilities, nullptr, executor);
  // Loadings at random, a third of each variance; the first steps turn them like a power iteration.
  const Index bits = rows.bit_count(), states = responsibilities.cols();
  const Index factors = std::min<Index>(covariance_.factors, bits);
  const Vector pooled = pooled_variance(rows);
  GaussianParameters parameters;
  parameters.noise = pooled.replicate(1, states);
  for (Index k = 0; k < states; ++k) {
    RandomStream draws = stream.child("loading").child(static_cast<std::uint64_t>(k));
    RowMatrix loading(bits, factors);
    for (Index j = 0; j < bits; ++j) {
      for (Index q = 0; q < factors; ++q)
        loading(j, q) = std::sqrt(pooled[j] / (3.0 * static_cast<double>(factors))) * draws.normal();
    }
    parameters.loading.push_back(std::move(loading));
  }
  return uncalibrated(maximise_factors(rows, responsibilities, std::move(parameters), pooled, executor));
}

std::unique_ptr<Emission> GaussianLearner::maximise(const StepRows& rows, const RowMatrix& responsibilities,
                                                    const Emission* previous, const Executor& executor) const {
  const auto* before = dynamic_cast<const GaussianEmission*>(previous);
  // A diagonal covariance draws nothing.
  if (before == nullptr && !covariance_.is_dense()) return start(rows, responsibilities, RandomStream(0), executor);
  const Vector pooled = pooled_variance(rows);
  return uncalibrated(covariance_.is_dense()
                          ? maximise_dense(rows, responsibilities, before, pooled, executor)
                          : maximise_factors(rows, responsibilities, before->parameters(), pooled, executor));
}

GaussianParameters GaussianLearner::maximise_dense(const StepRows& rows, const RowMatrix& responsibilities,
                                                   const GaussianEmission* previous, const Vector& pooled,
                                                   const Executor& executor) const {
  const bool tied = covariance_.shape == CovarianceShape::tied;
  const Index bits = rows.bit_count(), states = responsibilities.cols();
  const double prior = prior_students(rows.bit_count());
  Moments moments = expected_moments(rows, responsibilities, tied, previous, executor);
  GaussianParameters parameters;
  parameters.mean.resize(bits, states);
  RowMatrix share(bits, states);
  for (Index k = 0; k < states; ++k) {
    // A state without students stands where the whole does, until it is re-seeded.
    share.col(k) = moments.weight[k] > no_weight
                       ? Vector(moments.first.col(k) / moments.weight[k])
                       : Vector(moments.first.rowwise().sum() / std::max(moments.weight.sum(), no_weight));
    parameters.mean.col(k) = 2 * share.col(k).array() - 1;
  }
  executor.for_each(static_cast<std::int64_t>(moments.second.size()), [&](std::int64_t g) {
    Matrix& matrix = moments.second[static_cast<std::size_t>(g)];
    double weight = 0;
    for (Index k = tied ? 0 : g; k < (tied ? states : g + 1); ++k) {
      matrix.selfadjointView<Eigen::Lower>().rankUpdate(Vector(share.col(k)), -moments.weight[k]);
      weight += moments.weight[k];
    }
    if (weight > no_weight)
      matrix.triangularView<Eigen::Lower>() *= 4 / (weight + prior);
    else
      matrix.setZero();
    // Rounding may leave a hair below zero where a course never varies.
    matrix.diagonal() = matrix.diagonal().cwiseMax(0);
    if (prior > 0 || !(weight > no_weight)) {
      const double part = weight > no_weight ? prior / (weight + prior) : 1;
      matrix.diagonal() += part * pooled;
    }
    matrix.diagonal().array() += options_.ridge;
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

namespace {

/// One step of the EM of factor analysis for one state: factors given the known bits, then each bit regressed on them.
void step_factors(GaussianParameters& parameters, Index state, const StepRows& rows, const RowMatrix& responsibilities,
                  const Vector& pooled, double prior, double ridge, const Executor& executor) {
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
  RowMatrix& loading = parameters.loading[static_cast<std::size_t>(state)];
  executor.for_blocks(bits, 8, [&](Range block) {
    for (auto bit = static_cast<Id>(block.first); bit < block.last; ++bit) {
      Matrix products = all;
      for (Id pattern = 1; pattern < rows.pattern_count(); ++pattern) {
        if (rows.unknown(pattern).contains(bit)) products -= by_pattern[static_cast<std::size_t>(pattern)];
      }
      const double weight = products(factors, factors);
      if (!(weight > no_weight)) {
        loading.row(bit).setZero();
        parameters.noise(bit, state) = pooled[bit] + ridge;
        continue;
      }
      Vector response = -products.col(factors);
      for (const ColumnEntry& entry : rows.column(bit))
        response += 2 * responsibilities(entry.row, state) * expected.row(entry.row).transpose();
      const Vector coefficients = products.ldlt().solve(response);
      loading.row(bit) = coefficients.head(factors).transpose();
      parameters.mean(bit, state) = coefficients[factors];
      const double left = std::max(0.0, weight - response.dot(coefficients));  // x squared is 1
      parameters.noise(bit, state) = (left + prior * pooled[bit]) / (weight + prior) + ridge;
    }
  });
}

}  // namespace

GaussianParameters GaussianLearner::maximise_factors(const StepRows& rows, const RowMatrix& responsibilities,
                                                     GaussianParameters parameters, const Vector& pooled,
                                                     const Executor& executor) const {
  const Index bits = rows.bit_count(), states = responsibilities.cols();
  const double prior = prior_students(rows.bit_count());
  const bool first = parameters.mean.size() == 0;
  if (first || rows.all_known()) {
    // With nothing missing the mean is the sample's, whatever the factors.
    const BitCounts counts = count_bits(rows, responsibilities, executor);
    const Vector taken = counts.taken.rowwise().sum(), known = counts.known.rowwise().sum();
    parameters.mean.resize(bits, states);
    for (Index j = 0; j < bits; ++j) {
      for (Index k = 0; k < states; ++k) {
        const bool some = counts.known(j, k) > no_weight;
        parameters.mean(j, k) =
            2 * (some ? counts.taken(j, k) / counts.known(j, k) : taken[j] / std::max(known[j], no_weight)) - 1;
      }
    }
  }
  const int steps = first && parameters.loading.front().cols() > 0 ? first_factor_steps : 1;
  for (int step = 0; step < steps; ++step) {
    for (Index k = 0; k < states; ++k)
      step_factors(parameters, k, rows, responsibilities, pooled, prior, options_.ridge, executor);
  }
  return parameters;
}

std::unique_ptr<Emission> GaussianLearner::finish(const StepRows& rows, const RowMatrix& responsibilities,
                                                  const Emission& emission, const Executor& executor) const {
  if (options_.calibrate == Calibration::none) return nullptr;
  GaussianParameters parameters = dynamic_cast<const GaussianEmission&>(emission).parameters();
  const BitCounts counts = count_bits(rows, responsibilities, executor);
  const double a = std::max(options_.pseudocount, 1e-6);  // a share of 0 or 1 has no finite mean
  for (Index j = 0; j < parameters.mean.rows(); ++j) {
    for (Index k = 0; k < parameters.mean.cols(); ++k)
      parameters.standard_mean(j, k) = normal_quantile((counts.taken(j, k) + a) / (counts.known(j, k) + 2 * a));
  }
  return std::make_unique<GaussianEmission>(std::move(parameters));
}

std::unique_ptr<Emission> GaussianLearner::balance(const StepRows& rows, const RowMatrix& state_shares,
                                                   const Emission& emission, const Executor& executor) const {
  GaussianParameters parameters = dynamic_cast<const GaussianEmission&>(emission).parameters();
  const RowMatrix weights = Eigen::Map<const Vector>(rows.weights().data(), static_cast<Index>(rows.weights().size()));
  const BitCounts counts = count_bits(rows, weights, executor);
  const double a = std::max(options_.pseudocount, 1e-6);
  const Index courses = parameters.mean.rows() / state_shares.rows();
  for (Index j = 0; j < parameters.mean.rows(); ++j) {
    const double share = (counts.taken(j, 0) + a) / (counts.known(j, 0) + 2 * a);
    const auto states = state_shares.row(j / courses);
    auto mean = parameters.standard_mean.row(j);
    // All states move together, so that what tells them apart stays; the sum of their shares grows with the step.
    double low = -20, high = 20;
    for (int halving = 0; halving < 60; ++halving) {
      const double step = 0.5 * (low + high);
      double found = 0;
      for (Index k = 0; k < states.size(); ++k)
        found += states[k] * normal_cdf(mean[k] + step);
      (found < share ? low : high) = step;
    }
    mean.array() += 0.5 * (low + high);
  }
  return std::make_unique<GaussianEmission>(std::move(parameters));
}

double GaussianLearner::term_size(const Emission& emission) const {
  const auto& gaussian = dynamic_cast<const GaussianEmission&>(emission);
  const GaussianParameters& parameters = gaussian.parameters();
  return parameters.is_dense() ? gaussian.dense_form(Executor(1)).precision_diagonal().colwise().sum().maxCoeff()
                               : parameters.noise.array().inverse().colwise().sum().maxCoeff();
}

std::string GaussianLearner::misfit(const Emission& emission) const {
  const auto* gaussian = dynamic_cast<const GaussianEmission*>(&emission);
  if (gaussian == nullptr) return "no Gaussian states";
  const GaussianParameters& given = gaussian->parameters();
  const bool tied = covariance_.shape == CovarianceShape::tied;
  if (given.is_dense() == covariance_.is_dense()) {
    const auto count = static_cast<Index>(given.cholesky.size());
    if (given.is_dense() ? count == (tied ? 1 : given.mean.cols())
                         : given.loading.front().cols() == std::min<Index>(covariance_.factors, given.mean.rows()))
      return {};
  }
  const CovarianceChoice own =
      !given.is_dense()
          ? CovarianceChoice{given.loading.front().cols() == 0 ? CovarianceShape::diagonal : CovarianceShape::factor,
                             static_cast<Id>(given.loading.front().cols())}
          : CovarianceChoice{given.cholesky.size() == 1 ? CovarianceShape::tied : CovarianceShape::full};
  return concat(setting_name("covariance"), " ", to_text(own), ", not ", to_text(covariance_));
}

double GaussianLearner::log_prior(const StepRows& rows, const Emission& emission) const {
  const double prior = prior_students(rows.bit_count());
  if (prior == 0) return 0;
  const auto& gaussian = dynamic_cast<const GaussianEmission&>(emission);
  const GaussianParameters& parameters = gaussian.parameters();
  const Vector pooled = pooled_variance(rows);
  // `prior` students who vary as all do, each course on its own.
  double sum = 0;
  if (parameters.is_dense()) {
    const DenseForm& form = gaussian.dense_form(Executor(1));
    sum = form.log_determinants().sum() + (form.precision_diagonal().transpose() * pooled).sum();
  } else {
    for (Index k = 0; k < parameters.noise.cols(); ++k)
      sum += (parameters.noise.col(k).array().log() + pooled.array() / parameters.noise.col(k).array()).sum();
  }
  return -0.5 * prior * sum;
}

double GaussianLearner::memory_estimate(Id bits, Id states, int) const {
  const double cells = static_cast<double>(bits) * bits;
  if (covariance_.is_dense()) {
    // Old and new factors, the table of pairs, precisions and moments on the way.
    return 8 * cells * (covariance_.shape == CovarianceShape::tied ? 1 : states) * 4.5;
  }
  return 8.0 * bits * states * (4.0 + 3.0 * covariance_.factors);
}

double GaussianLearner::work_estimate(const StepRows& rows, Id states) const {
  double singles = 0, pairs = 0;
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const auto count = static_cast<double>(rows.taken(row).size());
    singles += count;
    pairs += count * count / 2;
  }
  const double bits = rows.bit_count();
  const double lanes = covariance_.shape == CovarianceShape::tied ? 1 : states;
  if (!covariance_.is_dense())
    return states * (covariance_.factors + 1.0) *
           (4 * singles + static_cast<double>(rows.row_count()) * (covariance_.factors + 1));
  // A multiplication of matrices runs some ten times faster than looking up.
  return lanes * (0.5 * pairs + 0.1 * bits * bits * bits * (1 + 3.0 * (rows.pattern_count() - 1)));
}

std::vector<EmissionNote> GaussianLearner::notes(const StepRows& rows, const RowMatrix& responsibilities,
                                                 const Emission&) const {
  if (covariance_.shape != CovarianceShape::full) return {};
  const auto small = ((responsibilities.colwise().sum().array()) < rows.bit_count()).count();
  if (small == 0) return {};
  return {{-1, -1,
           concat(small, " of ", responsibilities.cols(),
                  " states have fewer students than courses: which courses go together in them is ",
                  options_.ridge > 0 ? concat("kept faint by ", setting_name("ridge")) : "mostly assumed",
                  ", hardly seen; trust these pairs little, or ask for fewer ", setting_name("states"))}};
}

}  // namespace desirepath::inline emissions
