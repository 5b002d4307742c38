#include "desirepath/probability/orthant.h"

#include <cmath>
#include <numbers>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/probability/normal.h"

namespace desirepath::orthant_test {
namespace {

OrthantEstimate estimate(const OrthantProblem& problem, OrthantEstimator estimator, std::int64_t samples,
                         std::uint64_t seed = 1) {
  OrthantOptions options;
  options.estimator = estimator;
  options.samples = samples;
  return estimate_orthant(problem, options, RandomStream(seed));
}

/// log of the Euler zigzag number E_n over n!: Entringer's triangle, in logarithms of scaled integers.
double log_zigzag_over_factorial(int n) {
  // Row by row, each divided by the row's number so that nothing overflows.
  std::vector<double> row = {1};
  double log_value = 0;
  for (int k = 1; k <= n; ++k) {
    std::vector<double> next(static_cast<std::size_t>(k) + 1, 0);
    for (int i = 1; i <= k; ++i)
      next[static_cast<std::size_t>(i)] = next[static_cast<std::size_t>(i) - 1] + row[static_cast<std::size_t>(k - i)];
    const double scale = next.back();
    for (double& value : next)
      value /= scale;
    log_value += std::log(scale);
    row = std::move(next);
  }
  return log_value - std::lgamma(n + 1.0);
}

// The checks below are 6 standard errors wide (8 scrambles: once in 1,800 by chance); seeds are fixed.
void expect_close(const OrthantEstimate& found, double truth, double largest_error) {
  ASSERT_TRUE(found.standard_error.has_value());
  EXPECT_NEAR(found.log_probability, truth, 6 * *found.standard_error + 1e-12);
  EXPECT_LT(*found.standard_error, largest_error);
}

TEST(Orthant, EquallyCorrelatedHalvesHaveProbabilityOneOverDPlusOne) {
  for (const Index courses : {2, 10, 60}) {
    const OrthantProblem problem = test::all_taken(courses, Equicorrelation{0.5});
    const double truth = -std::log(courses + 1.0);
    expect_close(estimate(problem, OrthantEstimator::tilted, 1024), truth, 0.01);
    expect_close(estimate(problem, OrthantEstimator::sov, 1024), truth, 0.05);
    expect_close(estimate(problem, OrthantEstimator::factor, 1024), truth, 0.001);
    expect_close(estimate(problem, OrthantEstimator::paper, 4096), truth, 0.2);
    EXPECT_NEAR(estimate(problem, OrthantEstimator::ep, 1).log_probability, truth, 0.002);
  }
}

TEST(Orthant, ChainsOfNeighboursAreFactorialsAndZigzagNumbers) {
  EXPECT_NEAR(log_zigzag_over_factorial(6), std::log(61.0 / 720), 1e-14);
  for (const Index courses : {3, 20, 60}) {
    const OrthantProblem negative = test::all_taken(courses, NeighbourCorrelation{-0.5});
    const OrthantEstimate falling = estimate(negative, OrthantEstimator::tilted, 2048);
    expect_close(falling, -std::lgamma(courses + 2.0), 0.01);
    EXPECT_GT(*falling.log_upper_bound, -std::lgamma(courses + 2.0));
    EXPECT_NEAR(estimate(negative, OrthantEstimator::ep, 1).log_probability, -std::lgamma(courses + 2.0), 0.001);
    const OrthantProblem positive = test::all_taken(courses, NeighbourCorrelation{0.5});
    const double truth = log_zigzag_over_factorial(static_cast<int>(courses) + 1);
    const OrthantEstimate rising = estimate(positive, OrthantEstimator::tilted, 2048);
    expect_close(rising, truth, 0.03);
    EXPECT_GT(*rising.log_upper_bound, truth);
    EXPECT_NEAR(estimate(positive, OrthantEstimator::ep, 1).log_probability, truth, 0.03);
  }
}

TEST(Orthant, PlainSeparationFailsOnNegativeChainsAndSaysSo) {
  const OrthantProblem problem = test::all_taken(60, NeighbourCorrelation{-0.5});
  const OrthantEstimate found = estimate(problem, OrthantEstimator::sov, 2048);
  EXPECT_LT(found.log_probability, -std::lgamma(62.0) - 10);
  EXPECT_NE(found.note, "");
  EXPECT_EQ(estimate(problem, OrthantEstimator::tilted, 2048).note, "");
}

TEST(Orthant, TwoCenteredCoursesFollowTheArcsine) {
  for (const double correlation : {-0.9, -0.2, 0.0, 0.7}) {
    const OrthantProblem problem =
        test::all_taken(2, FullCovariance{Matrix{{4.0, 2 * correlation}, {2 * correlation, 1.0}}});
    const double truth = std::log(0.25 + std::asin(correlation) / (2 * std::numbers::pi));
    expect_close(estimate(problem, OrthantEstimator::tilted, 1024), truth, 1e-3);
    expect_close(estimate(problem, OrthantEstimator::sov, 1024), truth, 1e-3);
    expect_close(estimate(problem, OrthantEstimator::paper, 4096), truth, 0.05);
    EXPECT_NEAR(estimate(problem, OrthantEstimator::ep, 1).log_probability, truth, 0.01);
  }
}

TEST(Orthant, AgreesWithQuadratureOverTheFactors) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const test::RandomFactorProblem random(15 * static_cast<Index>(seed), 1 + static_cast<Index>(seed % 2), 0.8, seed);
    const double truth = test::quadrature_log_probability(random.factors(), {random.taken}, 0.1);
    const OrthantProblem problem = random.problem();
    expect_close(estimate(problem, OrthantEstimator::factor, 256), truth, 0.01);
    expect_close(estimate(problem, OrthantEstimator::tilted, 1024), truth, 0.02);
    expect_close(estimate(problem, OrthantEstimator::sov, 1024), truth, 0.1);
    EXPECT_NEAR(estimate(problem, OrthantEstimator::ep, 1).log_probability, truth, 0.01) << seed;
  }
}

TEST(Orthant, AllWorldsTogetherHaveProbabilityOne) {
  OrthantProblem problem = test::RandomFactorProblem(5, 2, 1, 9).problem();
  problem.covariance = FullCovariance{dense_covariance(problem)};
  for (const OrthantEstimator estimator :
       {OrthantEstimator::tilted, OrthantEstimator::sov, OrthantEstimator::ep, OrthantEstimator::paper}) {
    double total = 0, variance = 0;
    for (std::uint64_t world = 0; world < 32; ++world) {
      for (std::size_t j = 0; j < 5; ++j)
        problem.taken[j] = (world >> j) & 1;
      const OrthantEstimate found = estimate(problem, estimator, 2048, world);
      const double p = std::exp(found.log_probability);
      total += p;
      if (found.standard_error && p > 0) variance += std::pow(p * *found.standard_error, 2);
    }
    EXPECT_NEAR(total, 1, estimator == OrthantEstimator::ep ? 2e-3 : 6 * std::sqrt(variance) + 1e-9)
        << to_string(estimator);
  }
}

// The mean over 400 independent runs of the paper's estimator: 5 standard errors.
TEST(Orthant, ThePapersEstimatorIsUnbiased) {
  for (const bool by_factors : {true, false}) {
    const test::RandomFactorProblem random(9, 2, 0.8, 2);
    OrthantProblem problem = random.problem();
    problem.mean.array() += 0.8;
    problem.taken = {1, 0, 0, 1, 0, 0, 0, 1, 0};
    if (!by_factors) problem.covariance = FullCovariance{dense_covariance(problem)};
    const std::vector<Id> taken = {0, 3, 7};
    const ThresholdedFactors factors = ThresholdedFactors::from_loadings(problem.mean, random.loadings, random.noise);
    const double truth = std::exp(test::quadrature_log_probability(factors, {taken}));
    double sum = 0, squares = 0;
    constexpr int runs = 400;
    for (std::uint64_t run = 0; run < runs; ++run) {
      const double p = std::exp(estimate(problem, OrthantEstimator::paper, 64, run).log_probability) / truth;
      sum += p;
      squares += p * p;
    }
    const double mean = sum / runs;
    const double error = std::sqrt((squares / runs - mean * mean) / runs);
    EXPECT_NEAR(mean, 1, 5 * error) << by_factors;
    EXPECT_LT(error, 0.1);
  }
}

TEST(Orthant, ThePapersEstimatorStarvesOnStudentsWithManyCourses) {
  // Ten courses of share 2 % each, independent: a hit in 10^17 samples.
  OrthantProblem problem{Vector::Constant(40, normal_quantile(0.02)), Equicorrelation{0.0},
                         std::vector<std::uint8_t>(40, 0)};
  for (std::size_t j = 0; j < 10; ++j)
    problem.taken[j] = 1;
  const OrthantEstimate starved = estimate(problem, OrthantEstimator::paper, 4096);
  EXPECT_EQ(starved.log_probability, -infinity);
  EXPECT_EQ(*starved.standard_error, infinity);
  EXPECT_TRUE(test::says(starved.note, {"32,768", "10"}));
  const double truth = 10 * std::log(0.02) + 30 * std::log(0.98);
  EXPECT_NEAR(estimate(problem, OrthantEstimator::tilted, 64).log_probability, truth, 1e-9);
  EXPECT_NEAR(estimate(problem, OrthantEstimator::factor, 64).log_probability, truth, 1e-9);
}

TEST(Orthant, StructuresOfTheSameProblemAgree) {
  const Index courses = 24;
  Vector mean(courses);
  std::vector<std::uint8_t> taken;
  for (Index j = 0; j < courses; ++j) {
    mean[j] = -1.5 + 0.1 * static_cast<double>(j);
    taken.push_back(j % 7 == 3);
  }
  const double rho = 0.3;
  const OrthantProblem equal{mean, Equicorrelation{rho}, taken};
  const OrthantProblem factors{
      mean, FactorCovariance{RowMatrix::Constant(courses, 1, std::sqrt(rho)), Vector::Constant(courses, 1 - rho)},
      taken};
  const OrthantProblem full{mean, FullCovariance{dense_covariance(equal)}, taken};
  for (const OrthantEstimator estimator : {OrthantEstimator::tilted, OrthantEstimator::sov}) {
    const double first = estimate(equal, estimator, 256).log_probability;
    EXPECT_NEAR(estimate(factors, estimator, 256).log_probability, first, 1e-9);
    EXPECT_NEAR(estimate(full, estimator, 256).log_probability, first, 1e-9);
  }
  EXPECT_EQ(estimate(equal, OrthantEstimator::factor, 256).log_probability,
            estimate(factors, OrthantEstimator::factor, 256).log_probability);
  // Negative equal correlation has no factor but is handled without a full matrix too.
  const OrthantProblem negative{mean, Equicorrelation{-0.04}, taken};
  const OrthantProblem negative_full{mean, FullCovariance{dense_covariance(negative)}, taken};
  EXPECT_NEAR(estimate(negative, OrthantEstimator::tilted, 256).log_probability,
              estimate(negative_full, OrthantEstimator::tilted, 256).log_probability, 1e-9);
  EXPECT_NEAR(estimate(negative, OrthantEstimator::ep, 256).log_probability,
              estimate(negative_full, OrthantEstimator::ep, 256).log_probability, 1e-9);
}

TEST(Orthant, ScaleDoesNotMatter) {
  OrthantProblem problem = test::RandomFactorProblem(20, 2, 0.8, 4).problem();
  OrthantProblem scaled = problem;
  const Vector scale = Vector::LinSpaced(20, 0.01, 50);
  scaled.mean = scale.cwiseProduct(problem.mean);
  scaled.covariance = FullCovariance{scale.asDiagonal() * dense_covariance(problem) * scale.asDiagonal()};
  problem.covariance = FullCovariance{dense_covariance(problem)};
  EXPECT_NEAR(estimate(scaled, OrthantEstimator::tilted, 128).log_probability,
              estimate(problem, OrthantEstimator::tilted, 128).log_probability, 1e-9);
}

TEST(Orthant, ThreadsDoNotChangeABitAndTheSeedDoes) {
  const OrthantProblem by_factors = test::RandomFactorProblem(30, 2, 0.8, 4).problem();
  OrthantProblem in_full = by_factors;
  in_full.covariance = FullCovariance{dense_covariance(by_factors)};
  for (const OrthantProblem& problem : {by_factors, in_full}) {
    for (const OrthantEstimator estimator :
         {OrthantEstimator::paper, OrthantEstimator::sov, OrthantEstimator::tilted, OrthantEstimator::factor}) {
      if (estimator == OrthantEstimator::factor && !factor_covariance(problem)) continue;
      OrthantOptions options;
      options.estimator = estimator;
      options.samples = 3000;
      const OrthantEstimate serial = estimate_orthant(problem, options, RandomStream(5));
      for (const int threads : {2, 3, 7}) {
        const OrthantEstimate threaded = estimate_orthant(problem, options, RandomStream(5), Executor(threads));
        EXPECT_EQ(serial.log_probability, threaded.log_probability);
        EXPECT_EQ(*serial.standard_error, *threaded.standard_error);
      }
      EXPECT_NE(serial.log_probability, estimate_orthant(problem, options, RandomStream(6)).log_probability);
    }
  }
}

TEST(Orthant, TheStandardErrorIsThatOfManyRuns) {
  OrthantProblem problem = test::RandomFactorProblem(20, 2, 0.8, 14).problem();
  for (const OrthantEstimator estimator : {OrthantEstimator::factor, OrthantEstimator::tilted, OrthantEstimator::sov}) {
    double sum = 0, squares = 0, reported = 0;
    constexpr int runs = 60;
    for (std::uint64_t run = 0; run < runs; ++run) {
      const OrthantEstimate found = estimate(problem, estimator, 64, run);
      sum += found.log_probability;
      squares += found.log_probability * found.log_probability;
      reported += *found.standard_error * *found.standard_error;
    }
    const double variance = squares / runs - sum / runs * sum / runs;
    EXPECT_NEAR(std::sqrt(reported / runs) / std::sqrt(variance), 1, 0.5) << to_string(estimator);
  }
}

TEST(Orthant, ChoosesByStructure) {
  const Index courses = 8;
  OrthantProblem problem = test::all_taken(courses, Equicorrelation{0.2});
  EXPECT_EQ(choose_orthant_estimator(problem), OrthantEstimator::factor);
  problem.covariance = Equicorrelation{-0.1};
  EXPECT_EQ(choose_orthant_estimator(problem), OrthantEstimator::tilted);
  problem.covariance = NeighbourCorrelation{0.2};
  EXPECT_EQ(choose_orthant_estimator(problem), OrthantEstimator::tilted);
  problem.covariance = FullCovariance{Matrix::Identity(courses, courses)};
  EXPECT_EQ(choose_orthant_estimator(problem), OrthantEstimator::tilted);
  problem.covariance = FactorCovariance{RowMatrix::Ones(courses, 3), Vector::Ones(courses)};
  EXPECT_EQ(choose_orthant_estimator(problem), OrthantEstimator::factor);
  problem.covariance = FactorCovariance{RowMatrix::Ones(courses, 9), Vector::Ones(courses)};
  EXPECT_EQ(choose_orthant_estimator(problem), OrthantEstimator::tilted);
  const OrthantEstimate found = estimate_orthant(problem, {}, RandomStream(1));
  EXPECT_EQ(found.estimator, OrthantEstimator::tilted);
  EXPECT_EQ(found.samples, default_samples(OrthantEstimator::tilted));
  EXPECT_EQ(found.scrambles, 8);
}

TEST(Orthant, EdgesWork) {
  for (const OrthantEstimator estimator : {OrthantEstimator::paper, OrthantEstimator::sov, OrthantEstimator::tilted,
                                           OrthantEstimator::ep, OrthantEstimator::factor}) {
    // One course; no factors; nothing taken.
    const OrthantProblem one{Vector{{-0.3}}, Equicorrelation{0.0}, {0}};
    EXPECT_NEAR(estimate(one, estimator, 64).log_probability, log_normal_cdf(0.3), 1e-12) << to_string(estimator);
    const OrthantProblem independent{
        Vector{{-0.3, 0.2, 9.0}}, FactorCovariance{RowMatrix::Zero(3, 0), Vector{{1.0, 4.0, 0.25}}}, {0, 0, 1}};
    EXPECT_NEAR(estimate(independent, estimator, 64).log_probability, log_normal_cdf(0.3) + log_normal_cdf(-0.1), 1e-12)
        << to_string(estimator);
    // Almost certain: never above zero.
    const OrthantProblem certain{Vector::Constant(50, -9), Equicorrelation{0.5}, std::vector<std::uint8_t>(50, 0)};
    const OrthantEstimate found = estimate(certain, estimator, 64);
    EXPECT_LE(found.log_probability, 0) << to_string(estimator);
    EXPECT_GT(found.log_probability, -1e-9) << to_string(estimator);
  }
}

TEST(Orthant, AnEstimateAboveZeroIsClampedAndItsErrorSaysSo) {
  // A probability so near one that sampling error takes some seeds above it.
  const OrthantProblem problem{Vector::Constant(6, -3.2), Equicorrelation{0.6}, std::vector<std::uint8_t>(6, 0)};
  bool clamped = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const OrthantEstimate found = estimate(problem, OrthantEstimator::factor, 4, seed);
    EXPECT_LE(found.log_probability, 0);
    if (found.note.empty()) continue;
    clamped = true;
    EXPECT_EQ(found.log_probability, 0);
    EXPECT_GT(*found.standard_error, 0);
  }
  EXPECT_TRUE(clamped);
}

TEST(Orthant, TenThousandCoursesWork) {
  test::RandomFactorProblem random(10000, 3, 0.4, 4);
  random.mean.array() -= 4;
  OrthantProblem problem = random.problem();
  problem.taken.assign(10000, 0);
  problem.taken[17] = problem.taken[9000] = 1;
  const OrthantEstimate by_factors = estimate(problem, OrthantEstimator::factor, 64);
  const OrthantEstimate tilted = estimate(problem, OrthantEstimator::tilted, 64);
  const OrthantEstimate ep = estimate(problem, OrthantEstimator::ep, 1);
  EXPECT_LT(*by_factors.standard_error, 0.02);
  EXPECT_NEAR(ep.log_probability, by_factors.log_probability, 0.05);
  EXPECT_NEAR(tilted.log_probability, by_factors.log_probability,
              6 * std::hypot(*by_factors.standard_error, *tilted.standard_error));
  EXPECT_GT(*tilted.log_upper_bound, by_factors.log_probability);
  EXPECT_EQ(estimate(problem, OrthantEstimator::paper, 64).note.empty(), false);
}

TEST(Orthant, RareEventsStayNumbers) {
  for (const double level : {-10.0, -100.0, -3000.0}) {
    OrthantProblem problem = test::RandomFactorProblem(12, 2, 0.8, 3).problem();
    problem.mean.setConstant(level);
    problem.taken.assign(12, 0);
    problem.taken[2] = problem.taken[9] = 1;
    for (const OrthantEstimator estimator :
         {OrthantEstimator::sov, OrthantEstimator::tilted, OrthantEstimator::ep, OrthantEstimator::factor}) {
      const OrthantEstimate found = estimate(problem, estimator, 128);
      EXPECT_TRUE(std::isfinite(found.log_probability)) << to_string(estimator) << " " << level;
      EXPECT_FALSE(found.standard_error && std::isnan(*found.standard_error));
    }
    const double tilted = estimate(problem, OrthantEstimator::tilted, 1024).log_probability;
    EXPECT_NEAR(estimate(problem, OrthantEstimator::ep, 1).log_probability / tilted, 1, 1e-3) << level;
    EXPECT_NEAR(estimate(problem, OrthantEstimator::factor, 1024).log_probability / tilted, 1, 1e-3) << level;
  }
}

TEST(Orthant, NamesAreReadAndMisreadKindly) {
  for (const OrthantEstimator estimator : {OrthantEstimator::paper, OrthantEstimator::sov, OrthantEstimator::tilted,
                                           OrthantEstimator::ep, OrthantEstimator::factor})
    EXPECT_EQ(parse_orthant_estimator(to_string(estimator)), estimator);
  EXPECT_TRUE(test::says(test::message_of<OptionError>([] { parse_orthant_estimator("tiltd"); }), {"tiltd", "tilted"}));
}

TEST(Orthant, RefusesWhatIsNoProblem) {
  const OrthantProblem good = test::all_taken(3, Equicorrelation{0.5});
  std::vector<std::string> messages;
  const auto refuses = [&](auto change, const std::vector<std::string>& facts) {
    OrthantProblem bad = good;
    change(bad);
    const std::string message = test::message_of<InputError>([&] { estimate_orthant(bad, {}, RandomStream(1)); });
    EXPECT_TRUE(test::says(message, facts));
    EXPECT_EQ(std::ranges::count(messages, message), 0) << message;  // no two faults are told alike
    messages.push_back(message);
  };
  refuses([](OrthantProblem& p) { p.mean[1] = NAN; }, {"mean"});
  refuses([](OrthantProblem& p) { p.taken.pop_back(); }, {"x", "2", "3"});
  refuses([](OrthantProblem& p) { p.taken[0] = 2; }, {"x[0]", "2"});
  refuses([](OrthantProblem& p) { p.covariance = Equicorrelation{1.0}; }, {"rho", "1"});
  refuses([](OrthantProblem& p) { p.covariance = Equicorrelation{-0.5}; }, {"rho", "-0.5"});
  refuses([](OrthantProblem& p) { p.covariance = NeighbourCorrelation{0.8}; }, {"neighbour_corr", "0.8"});
  refuses([](OrthantProblem& p) { p.covariance = FullCovariance{Matrix::Identity(2, 2)}; }, {"Sigma", "2", "3"});
  refuses([](OrthantProblem& p) { p.covariance = FullCovariance{Matrix::Ones(3, 3)}; },
          {"1", "0"});  // course, variance
  refuses(
      [](OrthantProblem& p) {
        p.covariance = FullCovariance{Matrix{{1, 2, 0}, {0, 1, 0}, {0, 0, 1}}};
      },
      {"Sigma", "2", "0"});
  refuses(
      [](OrthantProblem& p) {
        p.covariance = FactorCovariance{RowMatrix::Ones(3, 1), Vector{{1.0, 0.0, 1.0}}};
      },
      {"D[1]", "0"});
  refuses(
      [](OrthantProblem& p) {
        p.covariance = FactorCovariance{RowMatrix::Ones(2, 1), Vector::Ones(3)};
      },
      {"Lambda", "2", "3"});
  refuses([](OrthantProblem& p) { p = {Vector(), Equicorrelation{0.5}, {}}; }, {});

  OrthantOptions options;
  options.estimator = OrthantEstimator::factor;
  OrthantProblem full = good;
  full.covariance = FullCovariance{Matrix::Identity(3, 3)};
  EXPECT_THROW(estimate_orthant(full, options, RandomStream(1)), OptionError);
  options.samples = 0;
  EXPECT_THROW(estimate_orthant(good, options, RandomStream(1)), OptionError);
  options.samples = 10;
  options.scrambles = 1;
  EXPECT_THROW(estimate_orthant(good, options, RandomStream(1)), OptionError);
  const OrthantProblem vast = test::all_taken(20000, NeighbourCorrelation{0.1});
  EXPECT_THROW(estimate_orthant(vast, {}, RandomStream(1)), OptionError);
}

}  // namespace
}  // namespace desirepath::orthant_test
