#include "desirepath/probability/factor_fit.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline probability {

namespace {

constexpr int fit_sweep_limit = 200;
constexpr double fit_tolerance = 1e-8;  // on the relative fall of the squares in a sweep

double squares_off_diagonal(const Matrix& correlation, const RowMatrix& loadings) {
  Matrix rest = correlation - loadings * loadings.transpose();
  rest.diagonal().setZero();
  return rest.squaredNorm();
}

void limit_length(Eigen::Ref<Vector> loading, double most_explained) {
  const double explained = loading.squaredNorm();
  if (explained > most_explained) loading *= std::sqrt(most_explained / explained);
}

/// The leading eigenvectors, the diagonal first guessed from the largest correlation of each course.
RowMatrix leading_factors(Matrix correlation, Index factor_count, double most_explained) {
  correlation.diagonal().setZero();
  const Vector largest = correlation.cwiseAbs().colwise().maxCoeff().transpose();
  correlation.diagonal() = largest.cwiseMin(most_explained);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(correlation);
  RowMatrix loadings(correlation.rows(), factor_count);
  for (Index k = 0; k < factor_count; ++k) {
    const Index place = correlation.rows() - 1 - k;  // ascending
    loadings.col(k) = std::sqrt(std::max(eigen.eigenvalues()[place], 1e-6)) * eigen.eigenvectors().col(place);
  }
  return loadings;
}

}  // namespace

FactorFit fit_factors(const Matrix& correlation, Index factor_count, double most_explained) {
  const Index size = correlation.rows();
  if (correlation.cols() != size || !correlation.allFinite() ||
      (correlation - correlation.transpose()).cwiseAbs().maxCoeff() > 1e-9) {
    throw InputError("factor fit: the correlations are not a symmetric matrix of finite numbers");
  }
  if (factor_count < 0 || factor_count > size) {
    throw InputError(concat("factor fit: ", factor_count, " factors of ", size, " courses"));
  }
  FactorFit fit;
  RowMatrix& loadings = fit.covariance.loadings;
  loadings = leading_factors(correlation, factor_count, most_explained);
  for (Index j = 0; j < size; ++j) {
    Vector loading = loadings.row(j).transpose();
    limit_length(loading, most_explained);
    loadings.row(j) = loading.transpose();
  }
  double squares = squares_off_diagonal(correlation, loadings);
  Matrix products = loadings.transpose() * loadings;
  while (!fit.converged && fit.sweeps < fit_sweep_limit && factor_count > 0) {
    // One course after the other, the others held: a small linear system each. The squares fall at every step.
    const RowMatrix before = loadings;
    for (Index j = 0; j < size; ++j) {
      const Vector old = loadings.row(j).transpose();
      Matrix system = products - old * old.transpose();
      system.diagonal().array() += 1e-10 * (1 + products.trace());
      const Vector target = loadings.transpose() * correlation.col(j) - correlation(j, j) * old;
      Vector loading = system.ldlt().solve(target);
      limit_length(loading, most_explained);
      loadings.row(j) = loading.transpose();
      products += loading * loading.transpose() - old * old.transpose();
    }
    ++fit.sweeps;
    const double now = squares_off_diagonal(correlation, loadings);
    if (!(now < squares)) {
      // Only where the limit on what is explained binds can a step fail to help.
      loadings = before;
      break;
    }
    fit.converged = squares - now <= fit_tolerance * squares;
    squares = now;
    products = loadings.transpose() * loadings;
  }
  fit.covariance.noise = 1 - loadings.rowwise().squaredNorm().array();
  const auto pairs = static_cast<double>(size) * static_cast<double>(size - 1);
  fit.residual = pairs > 0 ? std::sqrt(squares / pairs) : 0;
  fit.converged = fit.converged || squares < 1e-20 || factor_count == 0;
  return fit;
}

}  // namespace desirepath::inline probability
