#include "desirepath/probability/factor_ep.h"

#include <cmath>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/probability/normal.h"

namespace desirepath::factor_ep_test {
namespace {

double corrected(FactorEp& ep, const KnownSigns& signs) {
  const double plain = ep.solve(signs).log_probability;
  return plain + ep.correction();
}

TEST(FactorEp, IsExactWhereTheCoursesAreIndependent) {
  const Vector thresholds{{-1.3, 0.2, -3.5, 4.0, -40.0}};
  const std::vector<Id> taken = {1, 4};
  double expected = 0;
  for (Id j = 0; j < 5; ++j)
    expected += log_normal_cdf(j == 1 || j == 4 ? thresholds[j] : -thresholds[j]);
  for (const Index factor_count : {0, 1, 3}) {
    const ThresholdedFactors factors(thresholds, RowMatrix::Zero(5, factor_count));
    FactorEp ep(factors);
    EXPECT_NEAR(ep.solve({taken}).log_probability, expected, 1e-12 * std::abs(expected)) << factor_count;
    EXPECT_NEAR(ep.correction(), 0, 1e-14);
    EXPECT_TRUE(ep.solve({taken}).converged);
  }
}

TEST(FactorEp, IsExactForOneCourse) {
  const ThresholdedFactors factors(Vector{{-0.7}}, RowMatrix{{1.1, -0.4}});
  FactorEp ep(factors);
  const double expected = log_normal_cdf(-0.7 / std::sqrt(1 + 1.21 + 0.16));
  EXPECT_NEAR(ep.solve({std::vector<Id>{0}}).log_probability, expected, 1e-12);
  EXPECT_NEAR(ep.correction(), 0, 1e-12);
}

TEST(FactorEp, IsCloseToQuadratureAndTheCorrectionCloser) {
  double plain_squares = 0, corrected_squares = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Index factor_count = 1 + static_cast<Index>(seed % 2);
    const test::RandomFactorProblem problem(8 + 6 * static_cast<Index>(seed), factor_count, 0.8, seed);
    const ThresholdedFactors factors = problem.factors();
    const double truth = test::quadrature_log_probability(factors, {problem.taken});
    FactorEp ep(factors);
    const double plain = ep.solve({problem.taken}).log_probability;
    EXPECT_NEAR(plain, truth, 0.05) << seed;
    EXPECT_NEAR(plain + ep.correction(), truth, 0.005) << seed;
    plain_squares += (plain - truth) * (plain - truth);
    corrected_squares += std::pow(plain + ep.correction() - truth, 2);
  }
  EXPECT_LT(corrected_squares, 0.1 * plain_squares);
}

TEST(FactorEp, AllWorldsTogetherHaveProbabilityOne) {
  const test::RandomFactorProblem problem(7, 2, 1.2, 5);
  const ThresholdedFactors factors = problem.factors();
  FactorEp ep(factors);
  double total = 0;
  for (std::uint64_t world = 0; world < 128; ++world) {
    const std::vector<Id> taken = test::taken_in_world(world, 7);
    total += std::exp(corrected(ep, {taken}));
  }
  EXPECT_NEAR(total, 1, 2e-3);
}

TEST(FactorEp, UnknownCoursesAreLeftOut) {
  const test::RandomFactorProblem problem(9, 2, 1, 3);
  const ThresholdedFactors factors = problem.factors();
  const std::vector<Id> taken = {1, 4};
  const std::vector<Id> unknown = {0, 2, 8};
  const std::vector<Id> known = {1, 3, 4, 5, 6, 7};
  const Vector some_thresholds = factors.thresholds()(known);
  const RowMatrix some_slopes = factors.slopes()(known, Eigen::all);
  const ThresholdedFactors fewer(some_thresholds, some_slopes);
  const std::vector<Id> taken_of_fewer = {0, 2};
  FactorEp ep(factors, 1e-9), ep_of_fewer(fewer, 1e-9);
  EXPECT_NEAR(corrected(ep, {taken, unknown}), corrected(ep_of_fewer, {taken_of_fewer}), 1e-10);
}

TEST(FactorEp, AStudentDoesNotDependOnThoseBefore) {
  const test::RandomFactorProblem problem(40, 3, 0.7, 8);
  const ThresholdedFactors factors = problem.factors();
  FactorEp used(factors), fresh(factors);
  const std::vector<Id> other = {0, 3, 20}, unknown = {5, 6};
  used.solve({other, unknown});
  EXPECT_EQ(corrected(used, {problem.taken}), corrected(fresh, {problem.taken}));
}

TEST(FactorEp, SurvivesExtremes) {
  for (const double loading : {0.01, 3.0, 30.0, 300.0}) {
    for (const double level : {-30.0, 0.0, 6.0}) {
      const Index courses = 50;
      Vector thresholds = Vector::Constant(courses, level);
      RowMatrix slopes = RowMatrix::Constant(courses, 2, loading);
      for (Index j = 0; j < courses; ++j)
        slopes(j, j % 2) *= -0.7;
      const ThresholdedFactors factors(thresholds, slopes);
      FactorEp ep(factors);
      for (const std::vector<Id>& taken : {std::vector<Id>{}, std::vector<Id>{0, 1, 2, 7, 9}}) {
        const FactorPosterior& posterior = ep.solve({taken});
        // All courses together are no likelier than the least likely of them.
        double least = 0;
        for (Id j = 0; j < courses; ++j) {
          const double alone = level / std::sqrt(1 + slopes.row(j).squaredNorm());
          least = std::min(least, log_normal_cdf(std::ranges::count(taken, j) > 0 ? alone : -alone));
        }
        EXPECT_LE(posterior.log_probability, least + 0.05) << loading << " " << level;
        if (loading < 0.1) {
          EXPECT_NEAR(posterior.log_probability, test::quadrature_log_probability(factors, {taken}),
                      1e-3 * (1 - posterior.log_probability));
        }
        EXPECT_TRUE(std::isfinite(ep.correction()));
        EXPECT_TRUE(posterior.mean.allFinite() && posterior.precision_factor.allFinite());
      }
    }
  }
}

TEST(FactorEp, ManyFactorsTakeTheOtherWayToTheSameCorrection) {
  // Nine factors, the last of which no course has: the correction by pairs must equal that by tensors.
  const test::RandomFactorProblem problem(30, 4, 0.8, 2);
  const ThresholdedFactors few = problem.factors();
  RowMatrix slopes = RowMatrix::Zero(30, 9);
  slopes.leftCols(4) = few.slopes();
  const ThresholdedFactors many(few.thresholds(), slopes);
  FactorEp ep_few(few, 1e-10), ep_many(many, 1e-10);
  EXPECT_NEAR(ep_few.solve({problem.taken}).log_probability, ep_many.solve({problem.taken}).log_probability, 1e-10);
  EXPECT_NEAR(ep_few.correction(), ep_many.correction(), 1e-11);
}

TEST(ThresholdedFactors, RefusesWhatIsNoModel) {
  EXPECT_THROW(ThresholdedFactors(Vector::Zero(2), RowMatrix::Zero(3, 1)), InputError);
  EXPECT_THROW(ThresholdedFactors(Vector{{0.0, NAN}}, RowMatrix::Zero(2, 1)), InputError);
  EXPECT_THROW(ThresholdedFactors::from_loadings(Vector::Zero(2), RowMatrix::Zero(2, 1), Vector{{1.0, 0.0}}),
               InputError);
  EXPECT_THROW(ThresholdedFactors::from_loadings(Vector::Ones(2), RowMatrix::Zero(2, 1), Vector{{1.0, 1e-300}}),
               InputError);
  const std::vector<Id> taken = {1, 2}, repeated = {2, 0}, beyond = {7};
  EXPECT_NO_THROW(check_signs({taken}, 3));
  EXPECT_THROW(check_signs({taken, repeated}, 3), InputError);
  EXPECT_THROW(check_signs({beyond}, 3), InputError);
}

}  // namespace
}  // namespace desirepath::factor_ep_test
