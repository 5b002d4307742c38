#include "desirepath/probability/factor_sampler.h"

#include <cmath>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::factor_sampler_test {
namespace {

FactorEstimate estimate(const ThresholdedFactors& factors, const KnownSigns& signs, std::int64_t points,
                        std::uint64_t seed = 1) {
  FactorEp ep(factors);
  const FactorSampler sampler(factors, {points, 8}, RandomStream(seed));
  return sampler.estimate(signs, ep.solve(signs));
}

// Eight scrambles give a t statistic of 7 degrees: beyond 6 once in 1,800; fixed seeds.
TEST(FactorSampler, AgreesWithQuadratureWithinItsStandardError) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Index factor_count = 1 + static_cast<Index>(seed % 2);
    const test::RandomFactorProblem problem(5 + 7 * static_cast<Index>(seed), factor_count, 1, seed);
    const ThresholdedFactors factors = problem.factors();
    const double truth = test::quadrature_log_probability(factors, {problem.taken});
    const FactorEstimate found = estimate(factors, {problem.taken}, 512);
    EXPECT_NEAR(found.log_probability, truth, 6 * found.standard_error + 1e-10) << seed;
    EXPECT_LT(found.standard_error, 0.004) << seed;
    EXPECT_GT(found.effective_share, 0.7) << seed;
  }
}

TEST(FactorSampler, AllWorldsTogetherHaveProbabilityOne) {
  const test::RandomFactorProblem problem(6, 3, 1.5, 4);
  const ThresholdedFactors factors = problem.factors();
  double total = 0;
  for (std::uint64_t world = 0; world < 64; ++world) {
    const std::vector<Id> taken = test::taken_in_world(world, 6);
    total += std::exp(estimate(factors, {taken}, 1024).log_probability);
  }
  EXPECT_NEAR(total, 1, 1e-3);
}

TEST(FactorSampler, KeepsItsPrecisionWhereThePosteriorIsSkewed) {
  // Equicorrelation 1/2, all taken: P = 1/(d + 1); the posterior is cut off sharply on one side.
  for (const Index courses : {10, 200, 2000}) {
    const ThresholdedFactors factors(Vector::Zero(courses), RowMatrix::Ones(courses, 1));
    std::vector<Id> taken;
    for (Id j = 0; j < courses; ++j)
      taken.push_back(j);
    const FactorEstimate found = estimate(factors, {taken}, 1024);
    EXPECT_NEAR(found.log_probability, -std::log(courses + 1.0), 2e-3) << courses;
    EXPECT_LT(found.standard_error, 5e-4) << courses;
  }
}

TEST(FactorSampler, IsExactWithoutFactors) {
  const test::RandomFactorProblem problem(20, 0, 1, 4);
  const ThresholdedFactors factors = problem.factors();
  const FactorEstimate found = estimate(factors, {problem.taken}, 16);
  EXPECT_NEAR(found.log_probability, test::quadrature_log_probability(factors, {problem.taken}), 1e-12);
  EXPECT_LT(found.standard_error, 1e-14);
}

TEST(FactorSampler, PartialEvidenceIsTheSumOverWhatIsUnknown) {
  const test::RandomFactorProblem problem(8, 2, 1, 12);
  const ThresholdedFactors factors = problem.factors();
  const std::vector<Id> unknown = {1, 5}, taken = {0, 3};
  const double part = estimate(factors, {taken, unknown}, 4096).log_probability;
  double sum = 0;
  for (int world = 0; world < 4; ++world) {
    std::vector<Id> more = taken;
    if (world & 1) more.push_back(1);
    if (world & 2) more.push_back(5);
    sum += std::exp(estimate(factors, {more}, 4096).log_probability);
  }
  EXPECT_NEAR(part, std::log(sum), 5e-4);
  EXPECT_NEAR(part, test::quadrature_log_probability(factors, {taken, unknown}), 5e-4);
}

TEST(FactorSampler, ThreadsAndWaysOfAskingDoNotChangeABit) {
  const test::RandomFactorProblem problem(30, 3, 1, 6);
  const ThresholdedFactors factors = problem.factors();
  FactorEp ep(factors);
  const FactorPosterior centre = ep.solve({problem.taken});
  for (const std::int64_t points : {5, 64, 1500}) {
    const FactorSampler sampler(factors, {points, 8}, RandomStream(3));
    const FactorEstimate serial = sampler.estimate({problem.taken}, centre);
    const FactorEstimate threaded = sampler.estimate({problem.taken}, centre, Executor(3));
    EXPECT_EQ(serial.log_probability, threaded.log_probability);
    EXPECT_EQ(serial.standard_error, threaded.standard_error);
    const FactorSample sample = sampler.sample({problem.taken}, centre);
    EXPECT_NEAR(sample.estimate.log_probability, serial.log_probability, 1e-13);
    EXPECT_EQ(sample.points.rows(), 8 * points);
    EXPECT_NEAR(sample.log_weights.array().exp().sum(), 1, 1e-12);
  }
}

TEST(FactorSampler, RefusesNoPoints) {
  const ThresholdedFactors factors(Vector::Zero(2), RowMatrix::Zero(2, 1));
  EXPECT_THROW(FactorSampler(factors, {0, 8}, RandomStream(1)), OptionError);
  EXPECT_THROW(FactorSampler(factors, {8, 0}, RandomStream(1)), OptionError);
}

}  // namespace
}  // namespace desirepath::factor_sampler_test
