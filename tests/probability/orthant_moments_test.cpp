#include "desirepath/probability/orthant_moments.h"

#include <cmath>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/probability/bivariate_normal.h"
#include "desirepath/probability/gaussian_ep.h"
#include "desirepath/probability/normal.h"

namespace desirepath {
namespace {

/// log P of two courses, exactly.
double two_courses(const Vector& mean, const Matrix& sigma, bool first, bool second) {
  const double s = first ? 1 : -1, t = second ? 1 : -1;
  return std::log(bivariate_normal_cdf(s * mean[0] / std::sqrt(sigma(0, 0)), t * mean[1] / std::sqrt(sigma(1, 1)),
                                       s * t * sigma(0, 1) / std::sqrt(sigma(0, 0) * sigma(1, 1))));
}

TEST(GaussianEp, AgreesWithTheExactProbabilityOfTwoCourses) {
  for (const double correlation : {-0.8, -0.3, 0.0, 0.5, 0.9}) {
    const Vector mean{{-0.5, 0.4}};
    const Matrix sigma{{2.0, correlation}, {correlation, 0.5}};
    for (const bool first : {false, true}) {
      for (const bool second : {false, true}) {
        const OrthantProblem problem{mean, FullCovariance{sigma}, {std::uint8_t{first}, std::uint8_t{second}}};
        const GaussianEp ep = gaussian_ep(problem);
        const double truth = two_courses(mean, sigma, first, second);
        EXPECT_TRUE(ep.converged);
        EXPECT_NEAR(ep.log_probability, truth, 0.05) << correlation;
        EXPECT_NEAR(ep.log_probability + ep.correction, truth, 0.015) << correlation;
      }
    }
  }
}

TEST(GaussianEp, IsTheSameAsOnTheFactors) {
  const test::RandomFactorProblem random(70, 3, 0.8, 6);
  const OrthantProblem problem = random.problem();
  const GaussianEp full = gaussian_ep(problem);
  OrthantOptions options;
  options.estimator = OrthantEstimator::ep;
  const OrthantEstimate by_factors = estimate_orthant(problem, options, RandomStream(1));
  EXPECT_NEAR(full.log_probability + full.correction, by_factors.log_probability, 1e-6);
}

TEST(OrthantMoments, AreThoseOfTwoTruncatedVariables) {
  // Moments by brute force over a grid.
  const Vector mean{{-0.4, 0.6}};
  const Matrix sigma{{1.0, 0.55}, {0.55, 1.5}};
  const Matrix precision = sigma.inverse();
  double mass = 0;
  Vector first = Vector::Zero(2);
  Matrix second = Matrix::Zero(2, 2);
  constexpr double step = 0.01;
  for (double a = step / 2; a < 7; a += step) {
    for (double b = step / 2; b < 8; b += step) {
      const Vector centred = Vector{{a, -b}} - mean;  // course 0 taken, course 1 not
      const double density = std::exp(-0.5 * centred.dot(precision * centred));
      mass += density;
      first += density * centred;
      second += density * centred * centred.transpose();
    }
  }
  first /= mass;
  second /= mass;
  const OrthantProblem problem{mean, FullCovariance{sigma}, {1, 0}};
  OrthantOptions options;
  options.samples = 4096;
  const OrthantMoments tilted = orthant_moments_by_tilting(problem, options, RandomStream(2));
  EXPECT_LT((tilted.mean - first).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_LT((tilted.second - second).cwiseAbs().maxCoeff(), 3e-3);
  EXPECT_NEAR(tilted.log_probability, two_courses(mean, sigma, true, false), 6 * *tilted.standard_error + 1e-12);
  const OrthantMoments ep = orthant_moments_by_ep(problem);
  EXPECT_LT((ep.mean - first).cwiseAbs().maxCoeff(), 0.01);
  EXPECT_LT((ep.second - second).cwiseAbs().maxCoeff(), 0.05);
  EXPECT_FALSE(ep.standard_error.has_value());
}

TEST(OrthantMoments, GradientIsThatOfTheLogProbability) {
  const Vector mean{{-0.4, 0.6}};
  const Matrix sigma{{1.0, -0.35}, {-0.35, 1.5}};
  const OrthantProblem problem{mean, FullCovariance{sigma}, {1, 0}};
  OrthantOptions options;
  options.samples = 16384;
  const OrthantMoments moments = orthant_moments_by_tilting(problem, options, RandomStream(2));
  const OrthantGradient gradient = orthant_gradient(problem, moments);
  const Vector by_mean =
      test::finite_differences([&](const Vector& at) { return two_courses(at, sigma, true, false); }, mean);
  EXPECT_LT((by_mean - gradient.mean).cwiseAbs().maxCoeff(), 1e-3);
  const Vector by_sigma = test::finite_differences(
      [&](const Vector& at) {
        return two_courses(mean, Matrix{{at[0], at[1]}, {at[1], at[2]}}, true, false);
      },
      Vector{{sigma(0, 0), sigma(0, 1), sigma(1, 1)}});
  EXPECT_NEAR(by_sigma[0], gradient.covariance(0, 0), 2e-3);
  EXPECT_NEAR(by_sigma[1], gradient.covariance(0, 1) + gradient.covariance(1, 0), 2e-3);
  EXPECT_NEAR(by_sigma[2], gradient.covariance(1, 1), 2e-3);
  const OrthantGradient by_ep = orthant_gradient(problem, orthant_moments_by_ep(problem));
  EXPECT_LT((by_mean - by_ep.mean).norm(), 0.02 * by_mean.norm());
}

TEST(OrthantMoments, GradientInManyDimensionsAgreesWithTheFactors) {
  const test::RandomFactorProblem random(40, 1, 0.7, 13);
  const OrthantProblem problem = random.problem();
  OrthantOptions options;
  options.samples = 4096;
  const OrthantGradient gradient =
      orthant_gradient(problem, orthant_moments_by_tilting(problem, options, RandomStream(2)));
  const Vector exact = test::finite_differences(
      [&](const Vector& mean) {
        return test::quadrature_log_probability(ThresholdedFactors::from_loadings(mean, random.loadings, random.noise),
                                                {random.taken}, 0.1);
      },
      random.mean, 1e-3);
  EXPECT_LT((gradient.mean - exact).norm(), 0.01 * exact.norm());
}

TEST(ConditionalMarginals, AreRatiosOfProbabilities) {
  const test::RandomFactorProblem random(10, 1, 1.1, 5);
  const ThresholdedFactors factors = random.factors();
  PartialOrthant evidence;
  evidence.mean = random.mean;
  evidence.covariance = dense_covariance(random.problem());
  evidence.known = {7, 1, 4, 0};
  evidence.taken = {1, 0, 1, 0};
  const std::vector<Id> asked = {2, 3, 9};
  OrthantOptions options;
  options.samples = 2048;
  const ConditionalMarginals tilted = conditional_marginals_by_tilting(evidence, asked, options, RandomStream(6));
  const ConditionalMarginals ep = conditional_marginals_by_ep(evidence, asked);
  const std::vector<Id> taken = {4, 7};
  const double known = test::quadrature_log_probability(factors, {taken, std::vector<Id>{2, 3, 5, 6, 8, 9}});
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::vector<Id> with = taken, unknown;
    with.push_back(asked[i]);
    for (const Id course : {2, 3, 5, 6, 8, 9}) {
      if (course != asked[i]) unknown.push_back(course);
    }
    const double truth = std::exp(test::quadrature_log_probability(factors, {with, unknown}) - known);
    const auto place = static_cast<Index>(i);
    EXPECT_NEAR(tilted.probability[place], truth, 6 * tilted.standard_error[place] + 1e-6);
    EXPECT_LT(tilted.standard_error[place], 1e-3);
    EXPECT_NEAR(ep.probability[place], truth, 0.01);
  }
}

TEST(ConditionalMarginals, WithoutEvidenceAreTheMarginals) {
  PartialOrthant evidence{Vector{{0.5, -1.0}}, Matrix{{1.0, 0.2}, {0.2, 4.0}}, {}, {}};
  const std::vector<Id> asked = {1, 0};
  const ConditionalMarginals marginals = conditional_marginals_by_ep(evidence, asked);
  EXPECT_NEAR(marginals.probability[0], normal_cdf(-0.5), 1e-15);
  EXPECT_NEAR(marginals.probability[1], normal_cdf(0.5), 1e-15);
  evidence.known = {5};
  evidence.taken = {1};
  EXPECT_THROW(conditional_marginals_by_ep(evidence, asked), InputError);
}

}  // namespace
}  // namespace desirepath
