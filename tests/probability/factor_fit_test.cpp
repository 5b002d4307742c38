#include "desirepath/probability/factor_fit.h"

#include <cmath>

#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/core/random_stream.h"

namespace desirepath::factor_fit_test {
namespace {

RowMatrix random_loadings(Index courses, Index factors, double scale, std::uint64_t seed) {
  RandomStream stream(seed);
  RowMatrix loadings(courses, factors);
  for (Index i = 0; i < loadings.size(); ++i)
    loadings.data()[i] = scale * stream.normal();
  for (Index j = 0; j < courses; ++j)
    loadings.row(j) *= std::min(1.0, 0.9 / loadings.row(j).norm());
  return loadings;
}

TEST(FactorFit, FindsFactorsThatAreThere) {
  for (const Index factors : {1, 2, 4}) {
    const RowMatrix truth = random_loadings(40, factors, 0.4, 3);
    Matrix correlation = truth * truth.transpose();
    correlation.diagonal().setOnes();
    const FactorFit fit = fit_factors(correlation, factors);
    EXPECT_LT(fit.residual, 1e-4) << factors;
    const RowMatrix& found = fit.covariance.loadings;
    // Up to a rotation of the factors: the communalities and correlations are what is found again.
    EXPECT_LT((found * found.transpose() - truth * truth.transpose()).cwiseAbs().maxCoeff(), 0.01);
    EXPECT_LT((fit.covariance.noise - (1 - truth.rowwise().squaredNorm().array()).matrix()).cwiseAbs().maxCoeff(),
              0.01);
  }
}

TEST(FactorFit, TakesNoisyMatricesThatAreNoCorrelations) {
  RandomStream stream(4);
  Matrix noisy = Matrix::Zero(30, 30);
  for (Index i = 0; i < 30; ++i) {
    for (Index j = 0; j < i; ++j)
      noisy(i, j) = noisy(j, i) = 1.8 * stream.uniform() - 0.9;
    noisy(i, i) = 1;
  }
  const FactorFit fit = fit_factors(noisy, 3);
  EXPECT_TRUE(fit.covariance.loadings.allFinite());
  EXPECT_GE(fit.covariance.noise.minCoeff(), 0.05 - 1e-12);
  double zero = 0;
  for (Index i = 0; i < 30; ++i) {
    for (Index j = 0; j < 30; ++j)
      zero += i == j ? 0 : noisy(i, j) * noisy(i, j);
  }
  EXPECT_LT(fit.residual, 0.95 * std::sqrt(zero / (30 * 29)));
}

TEST(FactorFit, EdgesAndRefusals) {
  EXPECT_EQ(fit_factors(Matrix::Identity(3, 3), 0).covariance.loadings.cols(), 0);
  EXPECT_LT(fit_factors(Matrix::Identity(5, 5), 2).covariance.loadings.norm(), 0.1);
  EXPECT_NEAR(fit_factors(Matrix::Ones(4, 4), 1).covariance.noise.minCoeff(), 0.05, 1e-9);
  EXPECT_EQ(fit_factors(Matrix::Ones(1, 1), 1).covariance.loadings.rows(), 1);
  EXPECT_THROW(fit_factors(Matrix::Ones(2, 3), 1), InputError);
  EXPECT_THROW(fit_factors(Matrix{{1, 0.5}, {0.1, 1}}, 1), InputError);
  EXPECT_THROW(fit_factors(Matrix::Identity(2, 2), 3), InputError);
}

}  // namespace
}  // namespace desirepath::factor_fit_test
