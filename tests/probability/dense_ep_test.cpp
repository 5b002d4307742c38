#include "desirepath/probability/dense_ep.h"

#include <cmath>
#include <numbers>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/probability/bivariate_normal.h"
#include "desirepath/probability/gaussian_ep.h"

namespace desirepath::dense_ep_test {
namespace {

/// Correlations of as many random directions as there are courses: no few factors have them.
Matrix random_correlation(Index size, RandomStream& stream) {
  Matrix root(size, size);
  for (double& value : root.reshaped())
    value = stream.normal();
  const Matrix covariance = root * root.transpose() + 0.2 * Matrix::Identity(size, size);
  const Vector inverse = covariance.diagonal().cwiseSqrt().cwiseInverse();
  return inverse.asDiagonal() * covariance * inverse.asDiagonal();
}

Vector random_mean(Index size, double centre, RandomStream& stream) {
  Vector mean(size);
  for (double& value : mean)
    value = centre + 0.7 * stream.normal();
  return mean;
}

OrthantProblem problem_of(const Vector& mean, const Matrix& covariance, const std::vector<Id>& taken) {
  OrthantProblem problem{mean, FullCovariance{covariance},
                         std::vector<std::uint8_t>(static_cast<std::size_t>(mean.size()), 0)};
  for (const Id course : taken)
    problem.taken[static_cast<std::size_t>(course)] = 1;
  return problem;
}

/// log P where each latent value depends on the one before alone (correlation^distance), by quadrature from course to
/// course.
double chain_log_probability(const Vector& mean, double correlation, const std::vector<Id>& taken) {
  constexpr double step = 0.02;
  constexpr int half = 400;
  const auto grid = [](int i) { return (i + 0.5) * step; };
  const double noise = std::sqrt(1 - correlation * correlation);
  const auto density = [](double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); };
  std::vector<double> now(2 * half), next(2 * half);
  for (Index j = 0; j < mean.size(); ++j) {
    const bool takes = std::ranges::count(taken, static_cast<Id>(j)) > 0;
    for (int i = -half; i < half; ++i) {
      double sum = 0;
      if (j == 0) {
        sum = density(grid(i));
      } else {
        for (int before = -half; before < half; ++before)
          sum += now[static_cast<std::size_t>(before + half)] *
                 density((grid(i) - correlation * grid(before)) / noise) / noise * step;
      }
      // The share of a cell on the right side of the threshold, so that the rule is exact where it cuts a cell.
      const double above = std::clamp((grid(i) + mean[j]) / step + 0.5, 0.0, 1.0);
      next[static_cast<std::size_t>(i + half)] = sum * (takes ? above : 1 - above);
    }
    std::swap(now, next);
  }
  double total = 0;
  for (const double value : now)
    total += value * step;
  return std::log(total);
}

TEST(DenseEp, TwoCoursesAreWithinWhatItSays) {
  const Vector mean{{-0.9, -0.3}};
  for (const double correlation : {-0.8, -0.3, 0.0, 0.5, 0.9}) {
    const Matrix sigma{{1.0, correlation}, {correlation, 1.0}};
    const DenseEp ep(mean, sigma);
    for (const std::vector<Id>& taken : {std::vector<Id>{}, {0}, {1}, {0, 1}}) {
      const double s = std::ranges::count(taken, 0) > 0 ? 1 : -1, t = std::ranges::count(taken, 1) > 0 ? 1 : -1;
      const double truth = std::log(bivariate_normal_cdf(s * mean[0], t * mean[1], s * t * correlation));
      EXPECT_NEAR(ep.solve({taken}).log_probability, truth, 0.015) << correlation;
    }
  }
}

// Every sign vector of eight courses whose covariance is no factor model, against quadrature.
TEST(DenseEp, ChainsAgreeWithQuadrature) {
  RandomStream stream(3);
  for (const double correlation : {-0.5, 0.4, 0.7}) {
    const Vector mean = random_mean(8, -0.6, stream);
    Matrix sigma(8, 8);
    for (Index i = 0; i < 8; ++i) {
      for (Index j = 0; j < 8; ++j)
        sigma(i, j) = std::pow(correlation, std::abs(i - j));
    }
    const DenseEp ep(mean, sigma);
    for (unsigned world = 0; world < 256; world += 37) {
      std::vector<Id> taken;
      for (Id j = 0; j < 8; ++j) {
        if ((world >> j & 1) != 0) taken.push_back(j);
      }
      EXPECT_NEAR(ep.solve({taken}).log_probability, chain_log_probability(mean, correlation, taken), 0.02)
          << correlation << ", world " << world;
    }
  }
}

TEST(DenseEp, DenseCovariancesAgreeWithTilting) {
  RandomStream stream(5);
  OrthantOptions options;
  options.estimator = OrthantEstimator::tilted;
  options.samples = 2048;
  for (int problem = 0; problem < 6; ++problem) {
    const Matrix sigma = random_correlation(8, stream);
    const Vector mean = random_mean(8, -0.5, stream);
    const DenseEp ep(mean, sigma);
    for (const std::vector<Id>& taken : {std::vector<Id>{}, {1}, {0, 3, 6}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
      const OrthantEstimate truth = estimate_orthant(problem_of(mean, sigma, taken), options, RandomStream(1));
      const DenseEp::Estimate found = ep.solve({taken});
      EXPECT_NEAR(found.log_probability, truth.log_probability, 0.02) << problem;
      EXPECT_NEAR(found.log_probability, truth.log_probability, 3 * found.error + 4 * *truth.standard_error);
    }
  }
}

// Many courses, most of them rare: few sites become active, and the rest enters by the correction.
TEST(DenseEp, IsTheFixedPointForManyCourses) {
  RandomStream stream(8);
  const Index size = 150;
  const Matrix sigma =
      0.7 * random_correlation(size, stream) + 0.1 * Matrix::Ones(size, size) + 0.2 * Matrix::Identity(size, size);
  const Vector mean = random_mean(size, -1.8, stream);
  const DenseEp ep(mean, sigma);
  for (const std::vector<Id>& taken : {std::vector<Id>{}, {7}, {1, 20, 33, 64, 100, 101, 149}}) {
    const GaussianEp full = gaussian_ep(problem_of(mean, sigma, taken));
    EXPECT_NEAR(ep.solve({taken}).log_probability, full.log_probability + full.correction, 0.004);
    EXPECT_NEAR(ep.rough({taken}), full.log_probability + full.correction, 2);
  }
}

TEST(DenseEp, UnknownCoursesAreLeftOut) {
  RandomStream stream(9);
  const Matrix sigma = random_correlation(40, stream);
  const Vector mean = random_mean(40, -1.2, stream);
  const std::vector<Id> taken = {2, 11, 30}, unknown = {0, 3, 12, 13, 14, 31, 39};
  std::vector<Id> known, taken_of_known;
  for (Id j = 0; j < 40; ++j) {
    if (std::ranges::count(unknown, j) > 0) continue;
    if (std::ranges::count(taken, j) > 0) taken_of_known.push_back(static_cast<Id>(known.size()));
    known.push_back(j);
  }
  const DenseEp all(mean, sigma), part(mean(known), sigma(known, known));
  EXPECT_NEAR(all.solve({taken, unknown}).log_probability, part.solve({taken_of_known}).log_probability, 0.002);
  EXPECT_NEAR(all.rough({taken, unknown}), part.rough({taken_of_known}), 0.5);
}

TEST(DenseEp, StrongCorrelationsStayNumbers) {
  for (const double correlation : {0.9999, -0.24}) {
    Matrix sigma = Matrix::Constant(5, 5, correlation);
    sigma.diagonal().setOnes();
    const Vector mean = Vector::Constant(5, -1);
    const DenseEp ep(mean, sigma);
    for (const std::vector<Id>& taken : {std::vector<Id>{}, {0, 1, 2, 3, 4}, {2}}) {
      const DenseEp::Estimate found = ep.solve({taken});
      OrthantOptions options;
      options.estimator = OrthantEstimator::tilted;
      options.samples = 4096;
      const double truth = estimate_orthant(problem_of(mean, sigma, taken), options, RandomStream(1)).log_probability;
      // Five courses that are nearly one are where it is at its worst, and worse than it says.
      const double slack = correlation > 0.9 ? 0.15 : found.error + 0.02;
      EXPECT_NEAR(found.log_probability, truth, slack) << correlation << ", " << taken.size();
      EXPECT_LE(found.log_probability, 0);
      EXPECT_NEAR(ep.rough({taken}), truth, correlation > 0.9 ? 3 : 1) << correlation << ", " << taken.size();
    }
  }
  EXPECT_THROW(DenseEp(Vector::Zero(2), Matrix{{1.0, 2.0}, {2.0, 1.0}}), InputError);
}

}  // namespace
}  // namespace desirepath::dense_ep_test
