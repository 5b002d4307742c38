#include "desirepath/probability/orthant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/orthant_estimators.h"

namespace desirepath::inline probability {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

struct NamedEstimator {
  OrthantEstimator estimator;
  std::string_view name;
};

constexpr std::array<NamedEstimator, 5> estimators = {{
    {OrthantEstimator::paper, "paper"},
    {OrthantEstimator::sov, "sov"},
    {OrthantEstimator::tilted, "tilted"},
    {OrthantEstimator::ep, "ep"},
    {OrthantEstimator::factor, "factor"},
}};

/// A matrix in full of more courses than this is refused rather than let the memory run out.
constexpr Index largest_full = 10000;

void check_length(std::string_view what, Index found, Index expected) {
  if (found != expected) throw InputError(concat(what, " has ", found, " rows; there are ", expected, " courses"));
}

void validate_covariance(const FullCovariance& full, Index size) {
  check_length("Sigma", full.covariance.rows(), size);
  if (full.covariance.cols() != size) throw InputError("Sigma is not square");
  if (!full.covariance.allFinite()) throw InputError("Sigma holds a value that is not a finite number");
  for (Index j = 0; j < size; ++j) {
    if (!(full.covariance(j, j) > 0)) {
      throw InputError(concat("Sigma[", j, "][", j, "] is ", full.covariance(j, j), "; a variance must be positive"));
    }
    for (Index i = 0; i < j; ++i) {
      const double scale = std::sqrt(full.covariance(i, i) * full.covariance(j, j));
      if (!(std::abs(full.covariance(i, j) - full.covariance(j, i)) <= 1e-9 * scale)) {
        throw InputError(concat("Sigma is not symmetric: [", i, "][", j, "] is ", full.covariance(i, j), ", [", j, "][",
                                i, "] is ", full.covariance(j, i)));
      }
    }
  }
}

void validate_covariance(const FactorCovariance& factors, Index size) {
  check_length("Lambda", factors.loadings.rows(), size);
  check_length("D", factors.noise.size(), size);
  if (!factors.loadings.allFinite()) throw InputError("Lambda holds a value that is not a finite number");
  for (Index j = 0; j < size; ++j) {
    if (!(factors.noise[j] > 0 && factors.noise[j] < infinity)) {
      throw InputError(concat("D[", j, "] is ", factors.noise[j], "; a variance must be positive"));
    }
  }
}

void validate_covariance(const Equicorrelation& equal, Index size) {
  const double least = size > 1 ? -1 / static_cast<double>(size - 1) : -1;
  if (!(equal.correlation > least && equal.correlation < 1)) {
    throw InputError(concat("rho is ", equal.correlation, "; ", size, " equally correlated courses need more than ",
                            least, " and less than 1"));
  }
}

void validate_covariance(const NeighbourCorrelation& neighbours, Index size) {
  const double most = size > 1 ? 0.5 / std::cos(std::numbers::pi / static_cast<double>(size + 1)) : 1;
  if (!(std::abs(neighbours.correlation) < most)) {
    throw InputError(concat("neighbour_corr is ", neighbours.correlation, "; a chain of ", size,
                            " courses needs less than ", most, " either way"));
  }
}

}  // namespace

void OrthantProblem::validate() const {
  const Index size = course_count();
  if (size < 1) throw InputError("there are no courses");
  if (!mean.allFinite()) throw InputError("the mean holds a value that is not a finite number");
  check_length("x", static_cast<Index>(taken.size()), size);
  for (std::size_t j = 0; j < taken.size(); ++j) {
    if (taken[j] > 1) throw InputError(concat("x[", j, "] is ", int{taken[j]}, "; it must be 0 or 1"));
  }
  std::visit([&](const auto& covariance_of_kind) { validate_covariance(covariance_of_kind, size); }, covariance);
}

std::vector<Id> courses_taken(const OrthantProblem& problem) {
  std::vector<Id> taken;
  for (Id course = 0; course < problem.course_count(); ++course) {
    if (problem.taken[static_cast<std::size_t>(course)] != 0) taken.push_back(course);
  }
  return taken;
}

double rounding_error(Index course_count, double log_probability) {
  return 1e-15 * (static_cast<double>(course_count) + std::abs(log_probability));
}

OrthantEstimate estimate_of_scrambles(std::span<const double> log_means, Index course_count) {
  const ScrambleMean mean = mean_of_scrambles(log_means);
  OrthantEstimate estimate;
  estimate.log_probability = mean.log_mean;
  estimate.standard_error = mean.log_mean == -infinity
                                ? infinity
                                : std::max(mean.standard_error, rounding_error(course_count, mean.log_mean));
  return estimate;
}

Matrix dense_covariance(const OrthantProblem& problem) {
  const Index size = problem.course_count();
  if (size > largest_full) {
    throw OptionError(concat("a full covariance of ", size, " courses would take ",
                             as_bytes_text(8.0 * static_cast<double>(size) * static_cast<double>(size)),
                             "; the most is ", largest_full, " courses"));
  }
  return std::visit(Overloaded{
                        [](const FullCovariance& full) -> Matrix { return full.covariance; },
                        [](const FactorCovariance& factors) -> Matrix {
                          Matrix sigma = factors.loadings * factors.loadings.transpose();
                          sigma.diagonal() += factors.noise;
                          return sigma;
                        },
                        [&](const Equicorrelation& equal) -> Matrix {
                          Matrix sigma = Matrix::Constant(size, size, equal.correlation);
                          sigma.diagonal().setOnes();
                          return sigma;
                        },
                        [&](const NeighbourCorrelation& neighbours) -> Matrix {
                          Matrix sigma = Matrix::Identity(size, size);
                          sigma.diagonal(1).setConstant(neighbours.correlation);
                          sigma.diagonal(-1).setConstant(neighbours.correlation);
                          return sigma;
                        },
                    },
                    problem.covariance);
}

std::optional<FactorCovariance> factor_covariance(const OrthantProblem& problem) {
  if (const auto* factors = std::get_if<FactorCovariance>(&problem.covariance)) return *factors;
  const auto* equal = std::get_if<Equicorrelation>(&problem.covariance);
  if (equal == nullptr || equal->correlation < 0) return std::nullopt;
  const Index size = problem.course_count();
  return FactorCovariance{RowMatrix::Constant(size, 1, std::sqrt(equal->correlation)),
                          Vector::Constant(size, 1 - equal->correlation)};
}

std::string_view to_string(OrthantEstimator estimator) {
  for (const NamedEstimator& named : estimators) {
    if (named.estimator == estimator) return named.name;
  }
  return "";
}

OrthantEstimator parse_orthant_estimator(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedEstimator& named : estimators) {
    if (named.name == name) return named.estimator;
    names.emplace_back(named.name);
  }
  throw OptionError(concat("no estimator '", name, "'", did_you_mean(name, names), "; there are ", join(names, ", ")));
}

OrthantEstimator choose_orthant_estimator(const OrthantProblem& problem) {
  const std::optional<FactorCovariance> factors = factor_covariance(problem);
  // Beyond some thirty factors, or as many as courses, the integral over factors is no easier than that over courses.
  if (factors && factors->loadings.cols() <= std::min<Index>(30, problem.course_count())) {
    return OrthantEstimator::factor;
  }
  return OrthantEstimator::tilted;
}

std::int64_t default_samples(OrthantEstimator estimator) {
  switch (estimator) {
    case OrthantEstimator::ep:
      return 0;
    case OrthantEstimator::factor:
      return 1024;
    case OrthantEstimator::paper:
    case OrthantEstimator::sov:
    case OrthantEstimator::tilted:
      break;
  }
  return 4096;
}

OrthantEstimate estimate_orthant(const OrthantProblem& problem, const OrthantOptions& options,
                                 const RandomStream& stream, const Executor& executor) {
  problem.validate();
  if (options.samples && *options.samples < 1) {
    throw OptionError(concat("samples is ", *options.samples, "; at least 1 is needed"));
  }
  if (options.scrambles < 2) {
    throw OptionError(concat("scrambles is ", options.scrambles, "; a standard error needs at least 2"));
  }
  const OrthantEstimator estimator = options.estimator.value_or(choose_orthant_estimator(problem));
  const SampleOptions sampling{options.samples.value_or(default_samples(estimator)), options.scrambles, executor};
  OrthantEstimate estimate;
  switch (estimator) {
    case OrthantEstimator::paper:
      estimate = estimate_by_paper(problem, sampling, stream);
      break;
    case OrthantEstimator::sov:
      estimate = estimate_by_sov(problem, sampling, stream);
      break;
    case OrthantEstimator::tilted:
      estimate = estimate_by_tilting(problem, sampling, stream);
      break;
    case OrthantEstimator::ep:
      estimate = estimate_by_ep(problem);
      break;
    case OrthantEstimator::factor:
      estimate = estimate_by_factors(problem, sampling, stream);
      break;
  }
  estimate.estimator = estimator;
  if (std::isnan(estimate.log_probability)) {
    throw NumericalError(concat("orthant: estimator '", to_string(estimator), "' gave no number"));
  }
  if (estimator != OrthantEstimator::ep) {
    estimate.samples = sampling.samples;
    estimate.scrambles = sampling.scrambles;
  }
  if (estimate.standard_error && *estimate.standard_error > 0.5 && estimate.log_probability > -infinity) {
    estimate.note = "the scrambles disagree: a few samples hold nearly all the weight, the true value is likely larger";
  }
  if (estimate.log_probability > 0) {
    estimate.note = concat("the estimate ", estimate.log_probability, " was above 0 and is clamped there");
    if (estimate.standard_error) {
      estimate.standard_error = std::max(*estimate.standard_error, estimate.log_probability);
    }
    estimate.log_probability = 0;
  }
  return estimate;
}

}  // namespace desirepath::inline probability
