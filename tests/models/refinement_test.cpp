// The refinement after EM: what it moves, what it never does, and that it is reproducible.
#include "desirepath/models/refinement.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>
#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/gaussian.h"
#include "desirepath/emissions/latent_parameters.h"

namespace desirepath::refinement_test {
namespace {

constexpr Id courses = 6, periods = 2;

/// Courses 1-3 go together and against 4-6; the second kind of student takes more of the last.
Cohort correlated_cohort(std::int64_t students, std::uint64_t seed, double unknown = 0) {
  RandomStream stream(seed);
  test::CohortMaker made(courses, periods);
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    const bool second = stream.bernoulli(0.4);
    for (Id t = 0; t < periods; ++t) {
      if (stream.bernoulli(unknown)) made.set(t, Presence::unknown);
      const double interest = stream.normal();
      for (Id c = 0; c < courses; ++c) {
        const double mean = (c % 3 == 0 ? -0.3 : -1.1) + (second && c >= 3 ? 0.8 : 0);
        const double latent = mean + (c < 3 ? 0.85 : -0.85) * interest + 0.53 * stream.normal();
        if (latent > 0) made.take(t, c);
      }
    }
  }
  return made.build();
}

FitOptions options_for(const std::string& model, Id states) {
  FitOptions options(model);
  options.set("states", states).set("restarts", 1).set("iterations", 15).set("tolerance", 0.0);
  return options.set("refine", "policy-gradient").set("refine-rounds", 8);
}

FitResult validated_fit(const Cohort& training, const FitOptions& options, const Cohort& validation, int threads = 2) {
  const Executor executor(threads);
  TrainingContext context{executor};
  context.validation = &validation;
  return fit_model(training, options, context);
}

double held_out_mean(const Model& model, const Cohort& cohort) {
  return model.log_likelihood(EvidenceBatch::of(cohort), LikelihoodKind::mass, Executor(2)).value.mean();
}

const GaussianParameters& gaussian_of(const FitResult& fit, std::size_t pool = 0) {
  return dynamic_cast<const GaussianEmission&>(*test::chain_of(fit).parameters().emissions[pool]).parameters();
}

struct Case {
  std::string model, covariance;
  Reward reward;
  double unknown;
};

class Refine : public testing::TestWithParam<Case> {};

TEST_P(Refine, NeverLeavesAWorseModelAndMovesOnlyWhatItShould) {
  const Case& param = GetParam();
  const Cohort training = correlated_cohort(400, 1, param.unknown),
               validation = correlated_cohort(300, 2, param.unknown);
  FitOptions options = options_for(param.model, 2);
  options.set("covariance", param.covariance);
  options.set("reward", std::string(name_of_value(param.reward)));
  const FitResult refined = validated_fit(training, options, validation);
  options.set("refine", "none");
  const FitResult plain = validated_fit(training, options, validation);

  ASSERT_TRUE(refined.refinement);
  const RefinementReport& report = *refined.refinement;
  const double before = held_out_mean(*plain.model, validation), after = held_out_mean(*refined.model, validation);
  const double rounding = 1e-12;
  EXPECT_NEAR(report.trace.front(), before, rounding);
  EXPECT_NEAR(report.trace[static_cast<std::size_t>(report.kept_round)], after, rounding);
  EXPECT_GE(after, before - rounding);
  EXPECT_NEAR(report.gain, after - before, rounding);
  ASSERT_GT(report.trace.size(), 1);
  EXPECT_NE(report.trace[1], report.trace[0]);
  // States and density rest on EM's means and variances; the chain is EM's too.
  EXPECT_EQ(gaussian_of(refined).mean, gaussian_of(plain).mean);
  EXPECT_LT((gaussian_of(refined).variances() - gaussian_of(plain).variances()).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_EQ(test::chain_of(refined).parameters().prior.initial, test::chain_of(plain).parameters().prior.initial);
  EXPECT_EQ(gaussian_of(refined).cholesky.front() == gaussian_of(plain).cholesky.front(), report.kept_round == 0);
  EXPECT_EQ(gaussian_of(refined).standard_mean == gaussian_of(plain).standard_mean, report.kept_round == 0);
}

INSTANTIATE_TEST_SUITE_P(All, Refine,
                         testing::Values(Case{"cmm", "full", Reward::surrogate, 0},
                                         Case{"cmm", "tied", Reward::surrogate, 0.2},
                                         Case{"gmm", "full", Reward::surrogate, 0.2},
                                         Case{"hmm+gaussian", "full", Reward::exact, 0.2},
                                         Case{"cmm", "full", Reward::exact, 0}));

TEST(Refinement, FindsLatentCorrelationsThatTheDensityUnderstates) {
  const Cohort training = correlated_cohort(1500, 14), validation = correlated_cohort(500, 15);
  FitOptions options = options_for("cmm", 1);
  options.set("reward", "exact");
  options.set("refine-rounds", 15);
  options.set("refine-rate", 0.01);
  const FitResult refined = validated_fit(training, options, validation);
  options.set("refine", "none");
  const FitResult plain = validated_fit(training, options, validation);
  EXPECT_GT(refined.refinement->gain, 3 * refined.refinement->standard_error);
  const auto correlation = [](const FitResult& fit) {
    LatentParameters parameters(gaussian_of(fit).standard_mean, gaussian_of(fit).cholesky.front());
    return parameters.correlation_factor().row(1).dot(parameters.correlation_factor().row(0));
  };
  // 0.85^2 in truth; of the bits themselves it is less.
  EXPECT_LT(correlation(plain), 0.5);
  EXPECT_GT(correlation(refined), correlation(plain) + 0.05);
}

TEST(Refinement, KeepsTheStartWhereNothingIsBetter) {
  // Every course by itself: correlations of the training students are noise, and steps this long only add to it.
  const Cohort training = test::random_cohort({.students = 60, .courses = 6, .periods = 2}, RandomStream(3)),
               validation = test::random_cohort({.students = 400, .courses = 6, .periods = 2}, RandomStream(4));
  FitOptions options = options_for("cmm", 1);
  options.set("refine-rate", 0.5);
  const FitResult refined = validated_fit(training, options, validation);
  options.set("refine", "none");
  const FitResult plain = validated_fit(training, options, validation);
  EXPECT_EQ(refined.refinement->kept_round, 0);
  EXPECT_EQ(refined.refinement->gain, 0);
  EXPECT_EQ(gaussian_of(refined).standard_mean, gaussian_of(plain).standard_mean);
  EXPECT_EQ(gaussian_of(refined).cholesky.front(), gaussian_of(plain).cholesky.front());
  EXPECT_EQ(refined.log_likelihood, plain.log_likelihood);
  EXPECT_GT(refined.warnings.size(), plain.warnings.size());  // it says so
}

TEST(Refinement, IsTheSameForAnyNumberOfThreadsAndFollowsTheSeed) {
  const Cohort training = correlated_cohort(300, 5, 0.2), validation = correlated_cohort(100, 6, 0.2);
  FitOptions options = options_for("cmm", 2);
  options.set("refine-rounds", 3);
  for (const Reward reward : {Reward::surrogate, Reward::exact}) {
    options.set("reward", std::string(name_of_value(reward)));
    options.seed = 1;
    const FitResult one = validated_fit(training, options, validation, 1);
    for (const int threads : {2, 3, 7}) {
      const FitResult more = validated_fit(training, options, validation, threads);
      EXPECT_EQ(more.refinement->trace, one.refinement->trace) << threads;
      for (std::size_t pool = 0; pool < 2; ++pool) {
        EXPECT_EQ(gaussian_of(more, pool).standard_mean, gaussian_of(one, pool).standard_mean);
        EXPECT_EQ(gaussian_of(more, pool).cholesky.back(), gaussian_of(one, pool).cholesky.back());
      }
    }
    options.seed = 2;
    EXPECT_NE(validated_fit(training, options, validation).refinement->trace, one.refinement->trace);
  }
}

TEST(Refinement, HoldsStudentsOutOfTrainingWhereNoValidationIsNamed) {
  const Cohort cohort = correlated_cohort(300, 7);
  FitOptions options = options_for("cmm", 1);
  options.set("refine-rounds", 1);
  const FitResult fit = test::fit(cohort, options);
  EXPECT_EQ(fit.students + fit.refinement->students, 300);
  EXPECT_NEAR(static_cast<double>(fit.refinement->students), 30, 16);
  EXPECT_TRUE(fit.validation_trace.empty());  // EM does not look at them
  EXPECT_TRUE(test::any_says(fit.warnings, {"refine", std::to_string(fit.refinement->students), "validation"}));
  const nlohmann::ordered_json json = fit.answer().to_json();
  EXPECT_EQ(json["refinement"]["refine"], "policy-gradient");
  EXPECT_EQ(json["refinement"]["trace"].size(), 2);
}

TEST(Refinement, SignalOfTheExactRewardFadesWithTheNumberOfCourses) {
  const Cohort training = correlated_cohort(400, 8), validation = correlated_cohort(50, 9);
  FitOptions options = options_for("gmm", 1);
  options.set("refine-rounds", 1);
  options.set("reward", "exact");
  const std::vector<RewardSignal> exact = validated_fit(training, options, validation).refinement->signal;
  options.set("reward", "surrogate");
  const std::vector<RewardSignal> surrogate = validated_fit(training, options, validation).refinement->signal;
  ASSERT_EQ(exact.size(), surrogate.size());
  double weight = 0;
  for (const RewardSignal& row : exact)
    weight += row.weight;
  EXPECT_NEAR(weight, 400, 1e-9);
  EXPECT_GT(exact[1].rewarded / exact[1].weight, 0.9);
  EXPECT_LT(exact[6].rewarded / exact[6].weight, 0.5);
  EXPECT_GT(surrogate[6].rewarded / surrogate[6].weight, 0.99);
}

TEST(Refinement, OptionsThatDoNotFitAreRefusedWithAReason) {
  const Cohort cohort = correlated_cohort(30, 10);
  const auto refusal = [&](const std::string& model, const char* setting, const char* value) {
    return test::message_of<OptionError>([&] { test::fit(cohort, options_for(model, 1).set(setting, value)); });
  };
  EXPECT_TRUE(test::says(refusal("cmm", "covariance", "factor:2"), {"--covariance", "full", "tied"}));
  EXPECT_TRUE(test::says(refusal("nb", "reward", "surrogate"), {"--refine", "--emission gaussian"}));
  EXPECT_TRUE(test::says(refusal("cmm", "refine", "gradient"), {"--refine", "policy-gradient"}));
  EXPECT_TRUE(test::says(refusal("cmm", "reward", "true"), {"--reward", "surrogate"}));
}

TEST(LatentParameters, RoundTripAndGradientByFiniteDifferences) {
  RandomStream stream(13);
  Matrix root(4, 4), means(4, 2);
  for (double& value : root.reshaped())
    value = stream.normal();
  for (double& value : means.reshaped())
    value = stream.normal();
  const Matrix covariance = root * root.transpose() + Matrix::Identity(4, 4);
  const Matrix lower = covariance.llt().matrixL();
  LatentParameters parameters(means, lower);
  EXPECT_EQ(parameters.standard_mean(), means);
  for (int step = 0; step < 2; ++step) {  // the second time with variances other than one
    const Matrix correlation = parameters.correlation_factor() * parameters.correlation_factor().transpose();
    EXPECT_LT((correlation.diagonal().array() - 1).abs().maxCoeff(), 1e-14);

    // Any function of the states' means and covariances: here a linear one.
    std::vector<LatentGradient> slopes(2, LatentGradient(4));
    for (LatentGradient& slope : slopes) {
      for (double& value : slope.mean)
        value = stream.normal();
      for (Index j = 0; j < 4; ++j) {
        for (Index i = j; i < 4; ++i)
          slope.covariance(i, j) = stream.normal();
      }
    }
    const auto function = [&](const LatentParameters& at) {
      const std::vector<LatentGaussian> latent = at.latent();
      double sum = 0;
      for (std::size_t k = 0; k < 2; ++k) {
        const Matrix whole = slopes[k].covariance.selfadjointView<Eigen::Lower>();
        sum += slopes[k].mean.dot(latent[k].mean) + whole.cwiseProduct(latent[k].covariance).sum();
      }
      return sum;
    };
    const Vector gradient = parameters.gradient(slopes);
    for (Index i = 0; i < gradient.size(); ++i) {
      LatentParameters up = parameters, down = parameters;
      up.values()[i] += 1e-6;
      down.values()[i] -= 1e-6;
      EXPECT_NEAR(gradient[i], (function(up) - function(down)) / 2e-6, 1e-7) << i;
    }
    for (double& value : parameters.values())
      value += 0.3 * stream.normal();
  }
}

}  // namespace
}  // namespace desirepath::refinement_test
