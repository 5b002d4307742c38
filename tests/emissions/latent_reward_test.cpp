// Rewards of the policy gradient and their gradients: against finite differences at fixed draws, quadrature over y on
// few bits, and orthant probabilities.
#include "desirepath/emissions/latent_reward.h"

#include <cmath>
#include <numbers>

#include <Eigen/Dense>

#include "support/support.h"

#include "desirepath/probability/normal.h"
#include "desirepath/probability/orthant.h"

namespace desirepath::latent_reward_test {
namespace {

LatentGaussian random_latent(Index bits, RandomStream stream) {
  Matrix root(bits, bits);
  for (double& value : root.reshaped())
    value = 0.5 * stream.normal();
  LatentGaussian latent;
  latent.covariance = root * root.transpose() + 0.4 * Matrix::Identity(bits, bits);
  latent.mean.resize(bits);
  for (double& value : latent.mean)
    value = 0.5 * stream.normal() - 0.2;
  return latent;
}

/// Every free parameter moved by h in turn: the means, then the entries of the covariance, pairs together.
template <class Function>
LatentGradient finite_differences(const LatentGaussian& latent, Function function, double h = 1e-5) {
  const Index bits = latent.mean.size();
  LatentGradient result(bits);
  const auto slope = [&](auto move) {
    LatentGaussian up = latent, down = latent;
    move(up, h);
    move(down, -h);
    return (function(up) - function(down)) / (2 * h);
  };
  for (Index i = 0; i < bits; ++i) {
    result.mean[i] = slope([&](LatentGaussian& moved, double by) { moved.mean[i] += by; });
    for (Index j = 0; j <= i; ++j) {
      const double pair = slope([&](LatentGaussian& moved, double by) {
        moved.covariance(i, j) += by;
        if (i != j) moved.covariance(j, i) += by;
      });
      result.covariance(i, j) = i == j ? pair : pair / 2;
    }
  }
  return result;
}

void expect_near(const LatentGradient& found, const LatentGradient& expected, double tolerance) {
  for (Index i = 0; i < found.mean.size(); ++i) {
    EXPECT_NEAR(found.mean[i], expected.mean[i], tolerance) << "mean " << i;
    for (Index j = 0; j <= i; ++j)
      EXPECT_NEAR(found.covariance(i, j), expected.covariance(i, j), tolerance) << "covariance " << i << ' ' << j;
  }
}

double log_density(const LatentGaussian& latent, const std::vector<Id>& taken, const Vector& y) {
  const Matrix covariance = latent.covariance(taken, taken);
  const Vector deviation = y - Vector(latent.mean(taken));
  return -0.5 * (deviation.dot(covariance.llt().solve(deviation)) + std::log(covariance.determinant()));
}

struct Case {
  Reward reward;
  std::vector<Id> taken, unknown;
};

UnknownBits unknown_bits(const std::vector<Id>& bits, Index all) {
  UnknownBits result;
  result.bits = bits;
  if (bits.empty()) return result;
  result.mask.assign(static_cast<std::size_t>(all), 0);
  for (const Id bit : bits)
    result.mask[static_cast<std::size_t>(bit)] = 1;
  return result;
}

class LatentRewardOfRow : public testing::TestWithParam<Case> {};

TEST_P(LatentRewardOfRow, GradientsAgreeWithFiniteDifferencesAtOneSample) {
  constexpr Index bits = 5;
  const Case& param = GetParam();
  const LatentGaussian latent = random_latent(bits, RandomStream(3));
  const UnknownBits unknown = unknown_bits(param.unknown, bits);
  const auto taken_count = static_cast<Index>(param.taken.size());
  const Index other_count = bits - taken_count - static_cast<Index>(param.unknown.size());
  RandomStream stream(4);
  Matrix y(taken_count, 1), uniforms(other_count, 1);
  for (double& value : y.reshaped())
    value = std::abs(stream.normal());
  for (double& value : uniforms.reshaped())
    value = stream.uniform_open();

  RewardSampler sampler(latent, param.reward);
  sampler.set_row(param.taken, unknown);
  sampler.evaluate(y, uniforms);
  LatentGradient score(bits), direct(bits);
  sampler.add_score_term(1, score);
  sampler.add_direct_term(1, direct);
  expect_near(score,
              finite_differences(
                  latent, [&](const LatentGaussian& moved) { return log_density(moved, param.taken, y.col(0)); }),
              1e-7);
  expect_near(direct,
              finite_differences(latent,
                                 [&](const LatentGaussian& moved) {
                                   RewardSampler other(moved, param.reward);
                                   other.set_row(param.taken, unknown);
                                   other.evaluate(y, uniforms);
                                   return other.log_mean_reward();
                                 }),
              1e-7);
}

INSTANTIATE_TEST_SUITE_P(All, LatentRewardOfRow,
                         testing::Values(Case{Reward::surrogate, {1, 3}, {}}, Case{Reward::exact, {1, 3}, {}},
                                         Case{Reward::surrogate, {0, 2, 4}, {3}}, Case{Reward::exact, {0, 2, 4}, {3}},
                                         Case{Reward::surrogate, {}, {}}, Case{Reward::exact, {}, {2}},
                                         Case{Reward::surrogate, {0, 1, 2, 3, 4}, {}},
                                         Case{Reward::exact, {0, 1, 2, 3, 4}, {}}));

TEST(LatentReward, ScoreFunctionAloneSaysNothingOfCoursesNotTaken) {
  const LatentGaussian latent = random_latent(4, RandomStream(5));
  const std::vector<Id> taken = {1};
  for (const Reward reward : {Reward::surrogate, Reward::exact}) {
    RewardSampler sampler(latent, reward);
    sampler.set_row(taken, {});
    sampler.draw(64, RandomStream(6));
    ASSERT_GT(sampler.log_mean_reward(), -infinity);
    LatentGradient score(4), both(4);
    sampler.add_score_term(1, score);
    sampler.add_gradient(1, both);
    EXPECT_NE(score.mean[1], 0);
    for (const Index bit : {0, 2, 3}) {
      EXPECT_EQ(score.mean[bit], 0);
      EXPECT_EQ(score.covariance.row(bit).cwiseAbs().maxCoeff(), 0);
      EXPECT_LT(both.mean[bit], 0);  // not taken: its mean should fall
    }
  }
}

/// J of the surrogate by quadrature over w, y = mu_G + root w, for one or two courses taken: the integrand jumps where
/// y_j = 0, so the sum over j is taken term by term and each line integral from that point on.
double surrogate_mean(const LatentGaussian& latent, const std::vector<Id>& taken, const std::vector<Id>& others) {
  const Matrix covariance = latent.covariance(taken, taken);
  const Matrix gain = latent.covariance(others, taken) * covariance.inverse();
  const Vector variance = (latent.covariance(others, others) - gain * latent.covariance(taken, others)).diagonal();
  constexpr int nodes = 400;
  constexpr double reach = 8;
  const auto reward_of_others = [&](const Vector& y) {
    double product = 1;
    for (std::size_t i = 0; i < others.size(); ++i) {
      const auto at = static_cast<Index>(i);
      const double mean = latent.mean[others[i]] + gain.row(at).dot(y - Vector(latent.mean(taken)));
      product *= normal_cdf(-mean / std::sqrt(variance[at]));
    }
    return product;
  };
  double sum = 0;
  for (std::size_t j = 0; j < taken.size(); ++j) {
    // y_j first, from 0 up, then the other given it; trapezium over the smooth rest, Simpson over the cut line.
    const auto at = static_cast<Index>(j);
    const double deviation = std::sqrt(covariance(at, at)), low = -latent.mean[taken[j]] / deviation;
    const double high = std::max(low, 0.0) + reach;
    for (int n = 0; n <= nodes; ++n) {
      const double z = low + (high - low) * n / nodes;
      const double simpson = (n == 0 || n == nodes ? 1 : n % 2 == 1 ? 4 : 2) * (high - low) / nodes / 3;
      const double weight = simpson * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
      Vector y(static_cast<Index>(taken.size()));
      y[at] = latent.mean[taken[j]] + deviation * z;
      if (taken.size() == 1) {
        sum += weight * reward_of_others(y);
        continue;
      }
      const Index b = 1 - at;
      const double slope = covariance(b, at) / covariance(at, at);
      const double left = std::sqrt(covariance(b, b) - slope * covariance(at, b));
      for (int m = -60; m <= 60; ++m) {
        const double e = reach * m / 60.0;
        y[b] = latent.mean[taken[static_cast<std::size_t>(b)]] + slope * deviation * z + left * e;
        sum += weight * reach / 60.0 * std::exp(-e * e / 2) / std::sqrt(2 * std::numbers::pi) * reward_of_others(y);
      }
    }
  }
  return sum / static_cast<double>(taken.size());
}

/// Means over many independent small batches, each an unbiased estimate of J and grad J, with their standard errors.
struct Averages {
  double value = 0, value_error = 0;
  LatentGradient mean, error;
};

Averages average(const LatentGaussian& latent, Reward reward, const std::vector<Id>& taken, int batches, int samples) {
  const Index bits = latent.mean.size();
  Averages result{0, 0, LatentGradient(bits), LatentGradient(bits)};
  RewardSampler sampler(latent, reward);
  sampler.set_row(taken, {});
  const RandomStream stream(7);
  for (int b = 0; b < batches; ++b) {
    sampler.draw(samples, stream.child(static_cast<std::uint64_t>(b)));
    LatentGradient one(bits);
    const double value = std::exp(sampler.log_mean_reward());
    sampler.add_gradient(value, one);
    result.value += value;
    result.value_error += value * value;
    result.mean.mean += one.mean;
    result.mean.covariance += one.covariance;
    result.error.mean += one.mean.cwiseAbs2();
    result.error.covariance += one.covariance.cwiseAbs2();
  }
  const double n = batches;
  result.value /= n;
  result.mean.mean /= n;
  result.mean.covariance /= n;
  result.value_error = std::sqrt((result.value_error / n - result.value * result.value) / n);
  result.error.mean = ((result.error.mean / n - result.mean.mean.cwiseAbs2()) / n).cwiseMax(0).cwiseSqrt();
  result.error.covariance =
      ((result.error.covariance / n - result.mean.covariance.cwiseAbs2()) / n).cwiseMax(0).cwiseSqrt();
  return result;
}

/// Fixed seed; without it one of the 15 or so comparisons of a case would exceed 4.5 s.e. once in 10,000 runs.
void expect_within_errors(const Averages& found, double value, const LatentGradient& gradient) {
  EXPECT_NEAR(found.value, value, 4.5 * found.value_error + 1e-7);
  for (Index i = 0; i < gradient.mean.size(); ++i) {
    EXPECT_NEAR(found.mean.mean[i], gradient.mean[i], 4.5 * found.error.mean[i] + 1e-6) << "mean " << i;
    for (Index j = 0; j <= i; ++j)
      EXPECT_NEAR(found.mean.covariance(i, j), gradient.covariance(i, j), 4.5 * found.error.covariance(i, j) + 1e-6)
          << "covariance " << i << ' ' << j;
  }
}

TEST(LatentReward, MeanOfTheSurrogateGradientIsThatOfItsMean) {
  const LatentGaussian latent = random_latent(4, RandomStream(8));
  struct Row {
    std::vector<Id> taken, others;
  };
  for (const Row& row : {Row{{2}, {0, 1, 3}}, Row{{0, 3}, {1, 2}}}) {
    const auto value = [&](const LatentGaussian& moved) { return surrogate_mean(moved, row.taken, row.others); };
    const Averages found = average(latent, Reward::surrogate, row.taken, 40000, 4);
    const LatentGradient expected = finite_differences(latent, value, 1e-4);
    expect_within_errors(found, value(latent), expected);
    // Sharp enough to notice a term that is missing.
    EXPECT_LT(found.error.mean.maxCoeff(), 0.02 * expected.mean.cwiseAbs().maxCoeff());
  }
}

TEST(LatentReward, MeanOfTheExactRewardIsTheOrthantProbability) {
  const LatentGaussian latent = random_latent(4, RandomStream(9));
  for (const std::vector<Id>& taken : {std::vector<Id>{}, std::vector<Id>{1}, std::vector<Id>{0, 2}}) {
    const auto value = [&](const LatentGaussian& moved) {
      OrthantProblem problem{moved.mean, FullCovariance{moved.covariance}, {0, 0, 0, 0}};
      for (const Id course : taken)
        problem.taken[static_cast<std::size_t>(course)] = 1;
      OrthantOptions options;
      options.estimator = OrthantEstimator::tilted;
      options.samples = 1 << 14;
      return std::exp(estimate_orthant(problem, options, RandomStream(10)).log_probability);
    };
    // The same quasi-random points on both sides: differences are far more accurate than the values.
    const Averages found = average(latent, Reward::exact, taken, 40000, 4);
    expect_within_errors(found, value(latent), finite_differences(latent, value, 1e-3));
    EXPECT_LT(found.value_error, 0.02 * found.value);
  }
}

TEST(LatentReward, ExactRewardOfManyRareCoursesHasNoSignal) {
  LatentGaussian latent{Vector::Constant(12, -2), Matrix::Identity(12, 12)};
  const std::vector<Id> taken = {0, 1, 2, 3, 4, 5};
  RewardSampler exact(latent, Reward::exact), surrogate(latent, Reward::surrogate);
  exact.set_row(taken, {});
  surrogate.set_row(taken, {});
  exact.draw(1000, RandomStream(11));
  surrogate.draw(1000, RandomStream(11));
  EXPECT_EQ(exact.log_mean_reward(), -infinity);
  EXPECT_GT(surrogate.log_mean_reward(), -infinity);
  LatentGradient nothing(12), something(12);
  exact.add_gradient(1, nothing);
  surrogate.add_gradient(1, something);
  EXPECT_EQ(nothing.mean.cwiseAbs().maxCoeff(), 0);
  EXPECT_GT(something.mean[0], 0);
}

}  // namespace
}  // namespace desirepath::latent_reward_test
