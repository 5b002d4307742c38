#include "desirepath/models/orthant_em.h"

#include <cmath>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/gaussian.h"
#include "desirepath/emissions/probit.h"

namespace desirepath::orthant_em_test {
namespace {

HiddenChain gaussian_chain(RandomStream stream) {
  const auto draw = [&](Index rows, Index columns, double scale) {
    RowMatrix result(rows, columns);
    for (Index i = 0; i < result.size(); ++i)
      result.data()[i] = scale * stream.normal();
    return result;
  };
  GaussianParameters parameters;
  parameters.mean = draw(6, 2, 0.5);
  parameters.standard_mean = draw(6, 2, 0.7);
  parameters.loading = {draw(6, 2, 0.6), draw(6, 2, 0.6)};
  parameters.noise = draw(6, 2, 0.4).array().square() + 0.5;
  ChainParameters chain;
  chain.prior.initial = Vector::Constant(2, 0.5);
  chain.emissions.push_back(std::make_unique<GaussianEmission>(std::move(parameters)));
  return {{"gmm", "gaussian", true, TimeStructure::one_step, test::small_schema(3, 2)}, std::move(chain)};
}

TEST(OrthantEm, StartsFromTheSameDistribution) {
  const HiddenChain gaussian = gaussian_chain(RandomStream(1));
  ProbitOptions options;
  options.covariance.factors = 2;
  ChainIdentity identity = gaussian.identity();
  identity.emission = "probit";
  const HiddenChain probit(identity, continued_parameters(gaussian.parameters(), record_of(options), Executor(1)));
  EXPECT_LT((probit.course_probabilities(0) - gaussian.course_probabilities(0)).cwiseAbs().maxCoeff(), 0.005);
  const EvidenceBatch evidence = test::random_evidence(gaussian.schema(), 60, false, RandomStream(2));
  const Estimates a = gaussian.log_likelihood(evidence, LikelihoodKind::mass, Executor(1), Precision::sampled);
  const Estimates b = probit.log_likelihood(evidence, LikelihoodKind::mass, Executor(1));
  // Nodes on the one side, sampling on the other.
  for (Index s = 0; s < 60; ++s)
    EXPECT_NEAR(a.value(s, 0), b.value(s, 0), 0.03 + 5 * a.standard_error(s, 0)) << s;
}

TEST(OrthantEm, IsKeptForTwoStandardErrorsAndIsAlwaysTheSame) {
  // Every course by itself: what either model finds beyond the shares is noise, and so is most of the difference.
  int kept = 0, within = 0;
  for (std::uint64_t seed = 71; seed < 77; ++seed) {
    const auto draw = [&](std::int64_t students, const char* part) {
      return test::random_cohort({.students = students, .courses = 6, .periods = 2, .unknown = 0.1},
                                 RandomStream(seed).child(part));
    };
    const Cohort training = draw(200, "training"), judges = draw(60, "judges");
    const char* choice = seed % 3 == 0 ? "gmm" : seed % 3 == 1 ? "cmm" : "hmm+gaussian";
    FitOptions options(choice);
    options.set("states", 2).set("restarts", 1).set("iterations", 30).set("refine", "orthant-em");
    const auto fitted = [&](int threads) {
      const Executor executor(threads);
      TrainingContext context{executor};
      context.validation = &judges;
      return fit_model(training, options, context);
    };
    const auto mass = [&](const FitResult& fit) {
      return fit.model->log_likelihood(EvidenceBatch::of(judges), LikelihoodKind::mass, Executor(2));
    };
    const FitResult fit = fitted(2), again = fitted(3);
    options.set("refine", "none");
    const FitResult plain = fitted(2);
    ASSERT_TRUE(fit.refinement);
    const RefinementReport& report = *fit.refinement;
    EXPECT_EQ(report.students, 60);
    const double difference = report.trace[1] - report.trace[0];
    EXPECT_NEAR(report.trace[0], mass(plain).value.mean(), 1e-9);
    EXPECT_NEAR(report.trace[static_cast<std::size_t>(report.kept_round)], mass(fit).value.mean(), 1e-9);
    EXPECT_EQ(report.kept_round, difference > 2 * report.standard_error ? 1 : 0) << choice;
    EXPECT_NEAR(report.gain, report.kept_round == 1 ? difference : 0, 1e-12) << choice;
    EXPECT_EQ(fit.emission, report.kept_round == 1 ? "probit" : "gaussian") << choice;
    if (report.kept_round == 1) {
      const Vector gains = mass(fit).value - mass(plain).value;
      const double spread = std::sqrt((gains.array() - gains.mean()).square().sum() / 59 / 60);
      EXPECT_NEAR(report.standard_error, std::hypot(spread, mass(plain).standard_error.mean()), 1e-9);
    }
    kept += report.kept_round;
    within += difference > 0 && report.kept_round == 0 ? 1 : 0;
    EXPECT_EQ(test::bytes_of_model(*fit.model), test::bytes_of_model(*again.model)) << choice;
  }
  EXPECT_GT(within, 0);  // better by less than two standard errors, so not kept
  EXPECT_LT(kept, 6);
}

TEST(OrthantEm, NeedsGaussianStates) {
  FitOptions options("nb");
  options.set("refine", "orthant-em");
  EXPECT_THROW(test::fit(test::random_cohort({}, RandomStream(1)), options), OptionError);
}

}  // namespace
}  // namespace desirepath::orthant_em_test
