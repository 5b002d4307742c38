#include "desirepath/models/orthant_em.h"

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/gaussian.h"

namespace desirepath {
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
  const HiddenChain probit(identity, as_probit(gaussian.parameters(), options, Compute(1)));
  EXPECT_LT((probit.course_probabilities(0) - gaussian.course_probabilities(0)).cwiseAbs().maxCoeff(), 0.005);
  const EvidenceBatch evidence = test::random_evidence(gaussian.schema(), 60, false, RandomStream(2));
  const Estimates a = gaussian.log_likelihood(evidence, LikelihoodKind::mass, Compute(1), Precision::sampled);
  const Estimates b = probit.log_likelihood(evidence, LikelihoodKind::mass, Compute(1));
  // Nodes on the one side, sampling on the other.
  for (Index s = 0; s < 60; ++s)
    EXPECT_NEAR(a.value(s, 0), b.value(s, 0), 0.03 + 5 * a.standard_error(s, 0)) << s;
}

TEST(OrthantEm, IsNeverWorseForTheStudentsHeldOutAndAlwaysTheSame) {
  const Cohort cohort =
      test::random_cohort({.students = 300, .courses = 6, .periods = 2, .unknown = 0.1}, RandomStream(71));
  for (const char* choice : {"gmm", "cmm", "hmm+gaussian"}) {
    FitOptions options(choice);
    options.set("states", 2).set("restarts", 1).set("iterations", 30).set("refine", "orthant-em");
    const FitResult fit = test::fit(cohort, options);
    ASSERT_TRUE(fit.refinement);
    EXPECT_GE(fit.refinement->gain, 0);
    EXPECT_EQ(fit.refinement->students + fit.students, 300);
    EXPECT_EQ(fit.emission, fit.refinement->kept_round == 1 ? "probit" : "gaussian") << choice;
    const FitResult again = test::fit(cohort, options, 3);
    ArchiveWriter first("model"), second("model");
    fit.model->save(first);
    again.model->save(second);
    EXPECT_EQ(first.bytes(), second.bytes()) << choice;
  }
}

TEST(OrthantEm, NeedsGaussianStates) {
  FitOptions options("nb");
  options.set("refine", "orthant-em");
  EXPECT_THROW(test::fit(test::random_cohort({}, RandomStream(1)), options), OptionError);
}

}  // namespace
}  // namespace desirepath
