#include "desirepath/probability/orthant_moments.h"

#include <cmath>

#include <Eigen/Cholesky>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/gaussian_ep.h"
#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/orthant_paths.h"
#include "desirepath/probability/orthant_tilt.h"

namespace desirepath::inline probability {

namespace {

Eigen::LLT<Matrix> factored(const Matrix& covariance) {
  Eigen::LLT<Matrix> cholesky(covariance);
  if (cholesky.info() != Eigen::Success) throw InputError("the covariance is not positive definite");
  return cholesky;
}

/// The courses known as a problem of their own.
OrthantProblem known_part(const PartialOrthant& evidence) {
  const Index size = evidence.mean.size();
  if (evidence.known.size() != evidence.taken.size()) {
    throw InputError(concat(evidence.known.size(), " courses are known but ", evidence.taken.size(), " signs given"));
  }
  for (const Id course : evidence.known) {
    if (course < 0 || course >= size) {
      throw InputError(concat("course ", course, " is out of range: there are ", size));
    }
  }
  if (evidence.covariance.rows() != size || evidence.covariance.cols() != size) {
    throw InputError(concat("the covariance is ", evidence.covariance.rows(), " by ", evidence.covariance.cols(),
                            "; there are ", size, " courses"));
  }
  OrthantProblem problem;
  problem.mean = evidence.mean(evidence.known);
  problem.covariance = FullCovariance{evidence.covariance(evidence.known, evidence.known)};
  problem.taken = evidence.taken;
  return problem;
}

std::vector<Id> checked(std::span<const Id> asked, Index size) {
  for (const Id course : asked) {
    if (course < 0 || course >= size) {
      throw InputError(concat("course ", course, " is out of range: there are ", size));
    }
  }
  return {asked.begin(), asked.end()};
}

ConditionalMarginals marginals_without_evidence(const PartialOrthant& evidence, const std::vector<Id>& asked) {
  ConditionalMarginals marginals{Vector(static_cast<Index>(asked.size())),
                                 Vector::Zero(static_cast<Index>(asked.size()))};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Id course = asked[i];
    marginals.probability[static_cast<Index>(i)] =
        normal_cdf(evidence.mean[course] / std::sqrt(evidence.covariance(course, course)));
  }
  return marginals;
}

double total_weight(const std::vector<PathSums>& sums) {
  double weight = 0;
  for (const PathSums& one : sums)
    weight += one.weight;
  if (!(weight > 0)) throw NumericalError("orthant: every path has weight zero");
  return weight;
}

}  // namespace

OrthantMoments orthant_moments_by_ep(const OrthantProblem& problem) {
  problem.validate();
  GaussianEp ep = gaussian_ep(problem);
  OrthantMoments moments;
  moments.log_probability = ep.log_probability;
  moments.second = ep.covariance + ep.mean * ep.mean.transpose();
  moments.mean = std::move(ep.mean);
  return moments;
}

OrthantMoments orthant_moments_by_tilting(const OrthantProblem& problem, const OrthantOptions& options,
                                          const RandomStream& stream) {
  problem.validate();
  const OrderedRegion region = OrderedRegion::least_probable_first(problem);
  const OrthantTilt tilt = solve_tilt(region);
  const PathPlan plan(region, tilt.shift);
  const Index size = region.size();
  const std::int64_t paths = options.samples.value_or(default_samples(OrthantEstimator::tilted));
  const PathAverages averages{size, [](const Eigen::Ref<const RowMatrix>& z, RowMatrix& values) { values = z; }, true};
  const std::vector<PathSums> sums =
      path_sums(plan, averages, tilt.log_upper_bound, paths, options.scrambles, stream, options.parallel_for);

  const double weight = total_weight(sums);
  Vector mean = Vector::Zero(size);
  Matrix second = Matrix::Zero(size, size);
  std::vector<double> log_means;
  for (const PathSums& one : sums) {
    mean += one.values / weight;
    second += one.second / weight;
    log_means.push_back(std::log(one.weight / static_cast<double>(paths)) + tilt.log_upper_bound);
  }
  const ScrambleMean probability = mean_of_scrambles(log_means);

  // From z in the order of integration back to xbar - mu: s_j (L z) at the place of course j.
  const Matrix factor = region.cholesky_factor();
  const Vector ordered_mean = factor * mean;
  const Matrix ordered_second = factor * second.selfadjointView<Eigen::Lower>() * factor.transpose();
  OrthantMoments moments;
  moments.log_probability = std::min(0.0, probability.log_mean);
  moments.standard_error = probability.standard_error;
  moments.mean.resize(size);
  moments.second.resize(size, size);
  const auto sign = [&](Id course) { return problem.taken[static_cast<std::size_t>(course)] != 0 ? 1.0 : -1.0; };
  for (Index i = 0; i < size; ++i) {
    const Id course = region.order()[static_cast<std::size_t>(i)];
    moments.mean[course] = sign(course) * ordered_mean[i];
    for (Index j = 0; j < size; ++j) {
      const Id other = region.order()[static_cast<std::size_t>(j)];
      moments.second(course, other) = sign(course) * sign(other) * ordered_second(i, j);
    }
  }
  return moments;
}

OrthantGradient orthant_gradient(const OrthantProblem& problem, const OrthantMoments& moments) {
  const Matrix covariance = dense_covariance(problem);
  const Eigen::LLT<Matrix> cholesky = factored(covariance);
  OrthantGradient gradient;
  gradient.mean = cholesky.solve(moments.mean);
  gradient.covariance = 0.5 * cholesky.solve(cholesky.solve(moments.second - covariance).transpose());
  return gradient;
}

ConditionalMarginals conditional_marginals_by_ep(const PartialOrthant& evidence, std::span<const Id> asked_courses) {
  const std::vector<Id> asked = checked(asked_courses, evidence.mean.size());
  if (evidence.known.empty()) return marginals_without_evidence(evidence, asked);
  const OrthantProblem problem = known_part(evidence);
  problem.validate();
  const GaussianEp ep = gaussian_ep(problem);
  const Vector root = ep.site_precision.cwiseSqrt();
  Matrix system = root.asDiagonal() * std::get<FullCovariance>(problem.covariance).covariance * root.asDiagonal();
  system.diagonal().array() += 1;
  const Eigen::LLT<Matrix> cholesky(system);
  // Sigma^-1 m, without Sigma^-1.
  const Vector pull = ep.site_shift - ep.site_precision.cwiseProduct(ep.mean);
  const Matrix across = evidence.covariance(evidence.known, asked);
  const Matrix explained = cholesky.matrixL().solve(root.asDiagonal() * across);
  ConditionalMarginals marginals = marginals_without_evidence(evidence, asked);
  for (Index i = 0; i < across.cols(); ++i) {
    const Id course = asked[static_cast<std::size_t>(i)];
    const double variance = evidence.covariance(course, course) - explained.col(i).squaredNorm();
    const double mean = evidence.mean[course] + across.col(i).dot(pull);
    marginals.probability[i] = normal_cdf(mean / std::sqrt(std::max(variance, 1e-300)));
  }
  return marginals;
}

ConditionalMarginals conditional_marginals_by_tilting(const PartialOrthant& evidence, std::span<const Id> asked_courses,
                                                      const OrthantOptions& options, const RandomStream& stream) {
  const std::vector<Id> asked = checked(asked_courses, evidence.mean.size());
  if (evidence.known.empty()) return marginals_without_evidence(evidence, asked);
  const OrthantProblem problem = known_part(evidence);
  problem.validate();
  const OrderedRegion region = OrderedRegion::least_probable_first(problem);
  const OrthantTilt tilt = solve_tilt(region);
  const PathPlan plan(region, tilt.shift);

  // Given z the asked courses are normal: mean mu_u + C z, C' = L^-1 times the signed covariance with the known.
  Matrix across = evidence.covariance(evidence.known, asked);
  Matrix ordered(across.rows(), across.cols());
  for (Index i = 0; i < across.rows(); ++i) {
    const Id course = region.order()[static_cast<std::size_t>(i)];
    ordered.row(i) = (problem.taken[static_cast<std::size_t>(course)] != 0 ? 1.0 : -1.0) * across.row(course);
  }
  const Matrix factor = region.cholesky_factor();
  Matrix slopes = factor.triangularView<Eigen::Lower>().solve(ordered);
  Vector offset(across.cols());
  for (Index i = 0; i < across.cols(); ++i) {
    const Id course = asked[static_cast<std::size_t>(i)];
    const double own = evidence.covariance(course, course);
    const double deviation = std::sqrt(std::max(own - slopes.col(i).squaredNorm(), 1e-12 * own));
    slopes.col(i) /= deviation;
    offset[i] = evidence.mean[course] / deviation;
  }
  const PathAverages averages{across.cols(),
                              [&](const Eigen::Ref<const RowMatrix>& z, RowMatrix& values) {
                                values.noalias() = slopes.transpose() * z;
                                values.colwise() += offset;
                                const auto count = static_cast<std::size_t>(values.size());
                                log_normal_cdf({values.data(), count}, {values.data(), count});
                                for (Index i = 0; i < values.size(); ++i)
                                  values.data()[i] = std::exp(values.data()[i]);
                              },
                              false};
  const std::int64_t paths = options.samples.value_or(default_samples(OrthantEstimator::tilted));
  const std::vector<PathSums> sums =
      path_sums(plan, averages, tilt.log_upper_bound, paths, options.scrambles, stream, options.parallel_for);
  const double weight = total_weight(sums);
  ConditionalMarginals marginals{Vector::Zero(across.cols()), Vector::Zero(across.cols())};
  for (const PathSums& one : sums)
    marginals.probability += one.values / weight;
  for (const PathSums& one : sums)
    marginals.standard_error += (one.values - one.weight * marginals.probability).cwiseAbs2();
  const auto count = static_cast<double>(sums.size());
  marginals.standard_error = (marginals.standard_error * (count / (count - 1))).cwiseSqrt() / weight;
  return marginals;
}

}  // namespace desirepath::inline probability
