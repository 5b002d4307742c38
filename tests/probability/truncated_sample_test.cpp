#include "desirepath/probability/truncated_sample.h"

#include <cmath>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/probability/normal.h"

namespace desirepath::truncated_sample_test {
namespace {

TEST(TruncatedSample, HasTheMomentsOfTwoTruncatedVariables) {
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
  const TruncatedSample sample = truncated_sample({mean, FullCovariance{sigma}, {1, 0}}, 4096, 8, RandomStream(2));
  EXPECT_NEAR(sample.weights.sum(), 1, 1e-12);
  EXPECT_TRUE((sample.latent.row(0).array() + mean[0] > 0).all());
  EXPECT_TRUE((sample.latent.row(1).array() + mean[1] < 0).all());
  EXPECT_LT((sample.latent * sample.weights - first).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_LT((sample.latent * sample.weights.asDiagonal() * sample.latent.transpose() - second).cwiseAbs().maxCoeff(),
            3e-3);
}

// P(course | signs of others) is a ratio of probabilities, here of one factor by quadrature. The error is a t statistic
// with 7 degrees: beyond 6 once in 2,000 times.
TEST(TruncatedSample, MeansAreWithinTheirErrors) {
  const test::RandomFactorProblem random(10, 1, 1.1, 5);
  const ThresholdedFactors factors = random.factors();
  const Matrix sigma = dense_covariance(random.problem());
  const std::vector<Id> known = {0, 1, 4, 7}, taken = {4, 7};
  const TruncatedSample sample = truncated_sample(
      {random.mean(known), FullCovariance{sigma(known, known)}, {0, 0, 1, 1}}, 512, 8, RandomStream(6));
  const double all = test::quadrature_log_probability(factors, {taken, std::vector<Id>{2, 3, 5, 6, 8, 9}});
  for (const Id asked : {2, 3, 9}) {
    std::vector<Id> with = taken, unknown;
    with.push_back(asked);
    for (const Id course : {2, 3, 5, 6, 8, 9}) {
      if (course != asked) unknown.push_back(course);
    }
    std::ranges::sort(with);
    const double truth = std::exp(test::quadrature_log_probability(factors, {with, unknown}) - all);
    const std::vector<Id> one = {asked};
    const Matrix gain = sigma(one, known) * Matrix(sigma(known, known)).inverse();
    const double deviation = std::sqrt(sigma(asked, asked) - (gain * sigma(known, one))(0, 0));
    Eigen::RowVectorXd shares = gain * sample.latent;
    for (double& value : shares)
      value = normal_cdf((random.mean[asked] + value) / deviation);
    const SampleMean found = mean_of(sample, shares);
    EXPECT_NEAR(found.value, truth, 6 * found.standard_error + 1e-6);
    EXPECT_LT(found.standard_error, 2e-3);
  }
}

}  // namespace
}  // namespace desirepath::truncated_sample_test
