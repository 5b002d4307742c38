#include "desirepath/probability/ordered_region.h"

#include <cmath>

#include <Eigen/LU>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::ordered_region_test {
namespace {

/// S = Sigma with signs folded in, in the order of the region.
Matrix ordered_covariance(const OrthantProblem& problem, const OrderedRegion& region) {
  const Matrix sigma = dense_covariance(problem);
  Matrix ordered(sigma.rows(), sigma.cols());
  for (Index i = 0; i < sigma.rows(); ++i) {
    for (Index j = 0; j < sigma.cols(); ++j) {
      const Id a = region.order()[static_cast<std::size_t>(i)];
      const Id b = region.order()[static_cast<std::size_t>(j)];
      const bool same = problem.taken[static_cast<std::size_t>(a)] == problem.taken[static_cast<std::size_t>(b)];
      ordered(i, j) = (same ? 1 : -1) * sigma(a, b);
    }
  }
  return ordered;
}

std::vector<OrthantProblem> problems() {
  std::vector<OrthantProblem> all;
  const test::RandomFactorProblem random(130, 3, 0.8, 3);
  all.push_back(random.problem());
  all.push_back(random.problem());
  all.back().covariance = FullCovariance{dense_covariance(random.problem())};
  all.push_back(random.problem());
  all.back().covariance = Equicorrelation{0.3};
  all.push_back(random.problem());
  all.back().covariance = Equicorrelation{-1 / 129.5};
  all.push_back(random.problem());
  all.back().covariance = NeighbourCorrelation{-0.45};
  all.push_back(test::RandomFactorProblem(1, 1, 0.8, 3).problem());
  all.push_back(test::RandomFactorProblem(9, 0, 0.8, 3).problem());
  all.push_back(test::RandomFactorProblem(4, 3, 0.8, 3).problem());
  return all;
}

TEST(OrderedRegion, FactorsTheCovarianceInItsOrder) {
  for (const OrthantProblem& problem : problems()) {
    const OrderedRegion region = OrderedRegion::least_probable_first(problem);
    const Matrix covariance = ordered_covariance(problem, region);
    const Matrix factor = region.cholesky_factor();
    EXPECT_LT((factor * factor.transpose() - covariance).cwiseAbs().maxCoeff(), 1e-11);
    std::vector<Id> sorted = region.order();
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      EXPECT_EQ(sorted[i], static_cast<Id>(i));
    for (Index k = 0; k < region.size(); ++k) {
      const Id course = region.order()[static_cast<std::size_t>(k)];
      const double sign = problem.taken[static_cast<std::size_t>(course)] != 0 ? 1 : -1;
      EXPECT_NEAR(region.lower()[k] * region.scale()[k], -sign * problem.mean[course], 1e-12);
    }
  }
}

TEST(OrderedRegion, BothFormsAreTheSame) {
  const test::RandomFactorProblem random(60, 4, 0.8, 3);
  OrthantProblem by_factors = random.problem();
  OrthantProblem in_full = by_factors;
  in_full.covariance = FullCovariance{dense_covariance(by_factors)};
  const OrderedRegion a = OrderedRegion::least_probable_first(by_factors);
  const OrderedRegion b = OrderedRegion::least_probable_first(in_full);
  EXPECT_TRUE(a.has_factors());
  EXPECT_FALSE(b.has_factors());
  EXPECT_EQ(a.order(), b.order());
  EXPECT_LT((a.centre() - b.centre()).cwiseAbs().maxCoeff(), 1e-10);
  const Vector x = Vector::LinSpaced(60, -1, 2);
  EXPECT_LT((a.conditional_means(x) - b.conditional_means(x)).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_LT((a.transposed_means(x) - b.transposed_means(x)).cwiseAbs().maxCoeff(), 1e-11);
}

TEST(OrderedRegion, ProductsAndSystemsAreThoseOfTheMatrix) {
  for (const OrthantProblem& problem : problems()) {
    const OrderedRegion region = OrderedRegion::least_probable_first(problem);
    const Index size = region.size();
    const Matrix unit = region.scale().cwiseInverse().asDiagonal() * region.cholesky_factor();
    const Vector x = Vector::LinSpaced(size, -1, 2);
    EXPECT_LT((unit * x - x - region.conditional_means(x)).cwiseAbs().maxCoeff(), 1e-10);
    EXPECT_LT((unit.transpose() * x - x - region.transposed_means(x)).cwiseAbs().maxCoeff(), 1e-10);
    const Vector root = Vector::LinSpaced(size, 0.1, 0.9);
    Matrix inner = unit * unit.transpose();
    inner(size - 1, size - 1) -= 1;
    const Matrix system = Matrix::Identity(size, size) + root.asDiagonal() * inner * root.asDiagonal();
    EXPECT_LT((system * region.solve_newton(root, x) - x).cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(OrderedRegion, TheCentreIsInside) {
  for (const OrthantProblem& problem : problems()) {
    const OrderedRegion region = OrderedRegion::least_probable_first(problem);
    const Vector distance = region.centre() + region.conditional_means(region.centre()) - region.lower();
    EXPECT_GT(distance.minCoeff(), 0);
  }
}

TEST(OrderedRegion, TheOrderGivenIsKept) {
  const OrthantProblem problem = test::RandomFactorProblem(12, 2, 0.8, 3).problem();
  const std::vector<Id> order = {5, 0, 11, 3, 1, 2, 4, 6, 10, 9, 8, 7};
  const OrderedRegion region = OrderedRegion::in_order(problem, order);
  EXPECT_EQ(region.order(), order);
  const Matrix factor = region.cholesky_factor();
  EXPECT_LT((factor * factor.transpose() - ordered_covariance(problem, region)).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(OrderedRegion, ASingularCovarianceIsRefused) {
  OrthantProblem problem = test::all_taken(3, FullCovariance{Matrix::Ones(3, 3)});
  EXPECT_THROW(OrderedRegion::least_probable_first(problem), InputError);
  problem.covariance = FullCovariance{Matrix{{1, 0.9, 0.1}, {0.9, 1, 0.9}, {0.1, 0.9, 1}}};
  const std::string message = test::message_of<InputError>([&] { OrderedRegion::least_probable_first(problem); });
  EXPECT_TRUE(test::says(message, {"1", "-0.472727"}));  // the course, and its variance given the others: -0.468 / 0.99
}

}  // namespace
}  // namespace desirepath::ordered_region_test
