#include "desirepath/probability/gaussian_ep.h"

#include <cmath>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/probability/bivariate_normal.h"

namespace desirepath::gaussian_ep_test {
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

}  // namespace
}  // namespace desirepath::gaussian_ep_test
