// Whole covariances that are no factor models, on eight bits: the mass of a row and what it says of unknown bits,
// against every orthant by tilted sampling.
#include "desirepath/emissions/gaussian_whole.h"

#include <cmath>

#include <Eigen/Cholesky>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/probability/orthant.h"

namespace desirepath::gaussian_whole_test {
namespace {

constexpr Index bits = 8;
constexpr unsigned worlds = 1U << bits;

/// State 0: all pairs exclude each other a little, as alternatives do; state 1: neighbours go together.
GaussianEmission dense_states() {
  GaussianParameters parameters;
  parameters.standard_mean.resize(bits, 2);
  for (Index j = 0; j < bits; ++j) {
    parameters.standard_mean(j, 0) = -0.2 - 0.1 * static_cast<double>(j);
    parameters.standard_mean(j, 1) = 0.3 - 0.15 * static_cast<double>(j);
  }
  parameters.mean = parameters.standard_mean;
  Matrix exclusive = Matrix::Constant(bits, bits, -0.135), chain(bits, bits);
  exclusive.diagonal().setOnes();
  for (Index i = 0; i < bits; ++i) {
    for (Index j = 0; j < bits; ++j)
      chain(i, j) = std::pow(0.75, std::abs(i - j));
  }
  for (const Matrix& covariance : {exclusive, chain})
    parameters.cholesky.emplace_back(covariance.llt().matrixL());
  return GaussianEmission(std::move(parameters));
}

/// Every world's log-probability in a state.
Vector log_worlds(const GaussianEmission& emission, Id state) {
  Vector result(worlds);
  for (unsigned world = 0; world < worlds; ++world) {
    OrthantProblem problem{
        emission.parameters().standard_mean.col(state), FullCovariance{emission.covariance(state)}, {}};
    for (Index j = 0; j < bits; ++j)
      problem.taken.push_back(world >> j & 1);
    OrthantOptions options;
    options.estimator = OrthantEstimator::tilted;
    options.samples = 1024;
    result[world] = estimate_orthant(problem, options, RandomStream(3)).log_probability;
  }
  return result;
}

/// One period of eight courses; a "?" is unknown.
RowPool rows_of(const std::vector<std::string>& students) {
  BinaryMatrixBuilder taken(bits), exceptions(bits);
  std::vector<std::string> names;
  for (const std::string& student : students) {
    names.push_back("s" + std::to_string(names.size()));
    for (Id j = 0; j < bits; ++j) {
      if (student[static_cast<std::size_t>(j)] == '1') taken.add(j);
      if (student[static_cast<std::size_t>(j)] == '?') exceptions.add(j);
    }
    taken.finish_row();
    exceptions.finish_row();
  }
  const std::vector<Presence> presence(names.size(), Presence::present);
  return pool_rows({1, bits, std::move(names), presence, std::move(taken).build(), std::move(exceptions).build()},
                   std::vector<PeriodRange>{{0, 1}});
}

bool agrees(unsigned world, const std::string& student) {
  for (Index j = 0; j < bits; ++j) {
    const char known = student[static_cast<std::size_t>(j)];
    if (known != '?' && (known == '1') != ((world >> j & 1) != 0)) return false;
  }
  return true;
}

class WholeCovariance : public testing::Test {
 protected:
  WholeCovariance() : emission_(dense_states()), log_worlds_{log_worlds(emission_, 0), log_worlds(emission_, 1)} {}
  /// P(worlds that agree and pass the test).
  double probability(const std::string& student, Id state, const std::function<bool(unsigned)>& test) const {
    double sum = 0;
    for (unsigned world = 0; world < worlds; ++world)
      sum += agrees(world, student) && test(world) ? std::exp(log_worlds_[state][world]) : 0;
    return sum;
  }
  double log_mass(const std::string& student, Id state) const {
    return std::log(probability(student, state, [](unsigned) { return true; }));
  }

  GaussianEmission emission_;
  Vector log_worlds_[2];
  std::vector<std::string> students_ = {"00000000", "11111111", "10101010", "11000000", "00000011",
                                        "01?1?0?0", "????1111", "0???????", "1??????1", "00110?00"};
  Executor executor_{2};
};

TEST_F(WholeCovariance, MassIsItsOwn) {
  const RowPool pool = rows_of(students_);
  const RowScores quick = emission_.score(pool.rows, LikelihoodKind::mass, Precision::quick, executor_);
  const RowScores sampled = emission_.score(pool.rows, LikelihoodKind::mass, Precision::sampled, executor_);
  const RowScores fitted = emission_.score(pool.rows, LikelihoodKind::mass, Precision::fitted, executor_);
  double missed = 0;
  for (std::size_t s = 0; s < students_.size(); ++s) {
    const std::int32_t row = pool.row_of[0][s];
    for (Id k = 0; k < 2; ++k) {
      const double truth = log_mass(students_[s], k);
      EXPECT_NEAR(quick.log_likelihood(row, k), truth, 0.02) << students_[s] << ", state " << k;
      EXPECT_NEAR(sampled.log_likelihood(row, k), truth, 5 * sampled.standard_error(row, k) + 0.002) << students_[s];
      missed = std::max(missed, std::abs(fitted.log_likelihood(row, k) - truth));
    }
  }
  // The fit is another model, and says so.
  const ScoreError gap = emission_.score_error(pool.rows, LikelihoodKind::mass, Precision::fitted, executor_);
  EXPECT_GT(missed, 0.05);
  EXPECT_TRUE(test::says(gap.of, {"4"}));
  EXPECT_EQ(gap.rows, 10);
  EXPECT_GT(gap.largest, 0.02);
  EXPECT_GT(gap.root_mean_square, 0.01);
  EXPECT_EQ(emission_.score_error(pool.rows, LikelihoodKind::mass, Precision::quick, executor_).of, "");
}

// 42 answers; an error is a t statistic with 7 degrees, beyond 5.5 about once in 1,000 times.
TEST_F(WholeCovariance, ExactConditioningIsWithinItsError) {
  const RowPool pool = rows_of(students_);
  double squares = 0;
  int count = 0;
  for (std::size_t s = 0; s < students_.size(); ++s) {
    const std::int32_t row = pool.row_of[0][s];
    const UnknownBits& unknown = pool.rows.unknown(pool.rows.pattern_of(row));
    const auto given = emission_.given_exactly(unknown);
    std::vector<Id> asked(bits);
    for (Id j = 0; j < bits; ++j)
      asked[static_cast<std::size_t>(j)] = j;
    RowMatrix answer(2, bits), errors(2, bits);
    given->marginals_with_errors(pool.rows.taken(row), asked, answer, errors);
    for (Id k = 0; k < 2; ++k) {
      for (Id j = 0; j < bits; ++j) {
        const double truth = probability(students_[s], k, [&](unsigned world) { return (world >> j & 1) != 0; }) /
                             std::exp(log_mass(students_[s], k));
        EXPECT_NEAR(answer(k, j), truth, 5.5 * errors(k, j) + 0.0005) << students_[s] << ", bit " << j;
        EXPECT_LT(errors(k, j), 0.01);
        if (!unknown.contains(j)) continue;
        squares += std::pow((answer(k, j) - truth) / std::max(errors(k, j), 2e-4), 2);
        ++count;
      }
    }
  }
  EXPECT_EQ(count, 42);
  EXPECT_LT(squares / count, 2.5);  // a t statistic with 7 degrees has 1.4
}

// Completions against the joint distribution of the unknown bits, not their marginals alone: chi-squared of 8 worlds,
// above 30 once in 10,000 times.
TEST_F(WholeCovariance, CompletionsFollowTheJointDistribution) {
  const std::string student = "1?0?0?10";
  const RowPool pool = rows_of({student});
  const auto given = emission_.given_exactly(pool.rows.unknown(1));
  constexpr int draws = 2000;
  for (Id k = 0; k < 2; ++k) {
    std::vector<int> counts(worlds, 0);
    std::vector<Id> drawn;
    for (std::uint64_t d = 0; d < draws; ++d) {
      RandomStream stream = RandomStream(4).child(static_cast<std::uint64_t>(k)).child(d);
      given->complete(pool.rows.taken(0), k, stream, drawn);
      unsigned world = 0;
      for (const Id bit : drawn)
        world |= 1U << bit;
      ++counts[world];
    }
    double statistic = 0;
    for (unsigned world = 0; world < worlds; ++world) {
      if (!agrees(world, student)) {
        EXPECT_EQ(counts[world], 0);
        continue;
      }
      const double expected = draws * std::exp(log_worlds_[k][world] - log_mass(student, k));
      statistic += std::pow(counts[world] - expected, 2) / expected;
    }
    EXPECT_LT(statistic, 30) << "state " << k;
  }
}

TEST_F(WholeCovariance, ThreadsDoNotChangeABit) {
  const RowPool pool = rows_of(students_);
  for (const Precision precision : {Precision::quick, Precision::sampled, Precision::fitted}) {
    const RowScores one = emission_.score(pool.rows, LikelihoodKind::mass, precision, Executor(1));
    for (const int threads : {2, 3, 7}) {
      const RowScores many = emission_.score(pool.rows, LikelihoodKind::mass, precision, Executor(threads));
      EXPECT_TRUE((one.log_likelihood.array() == many.log_likelihood.array()).all());
      EXPECT_TRUE((one.standard_error.array() == many.standard_error.array()).all());
    }
  }
}

}  // namespace
}  // namespace desirepath::gaussian_whole_test
