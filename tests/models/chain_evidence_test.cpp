#include "desirepath/models/chain_evidence.h"

#include <optional>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

namespace desirepath::chain_evidence_test {
namespace {

TEST(ChainEvidence, IsCutOnceForEachLayout) {
  // Everybody is enrolled throughout: what was taken before is known.
  const EvidenceBatch evidence = EvidenceBatch::of(test::random_cohort({.periods = 3, .unknown = 0}, RandomStream(4)));
  const EvidenceBatch copy = evidence;
  std::optional<StepLayout> first = StepLayout::of(TimeStructure::per_period, 3);
  const ChainEvidence& cut = cut_evidence(evidence, *first);
  first.reset();  // with the model it was of
  const StepLayout again = StepLayout::of(TimeStructure::per_period, 3);
  EXPECT_EQ(&cut_evidence(copy, again), &cut);
  EXPECT_EQ(cut.layout->step_count(), 3);
  EXPECT_EQ(cut.student_count(), evidence.student_count());
  for (const TimeStructure other : {TimeStructure::one_step, TimeStructure::tied})
    EXPECT_NE(&cut_evidence(evidence, StepLayout::of(other, 3)), &cut);
  StepLayout with_history = again;
  with_history.with_history = true;
  EXPECT_NE(&cut_evidence(evidence, with_history), &cut);
  EXPECT_EQ(&cut_evidence(evidence.slice(0, evidence.student_count()), again), &cut);
  EXPECT_NE(&cut_evidence(evidence.slice(0, 1), again), &cut);
}

TEST(ChainEvidence, AnswersAreThoseOfEvidenceCutForEach) {
  const Cohort cohort =
      test::random_cohort({.students = 300, .courses = 5, .periods = 3, .unknown = 0.2, .left = 0.2}, RandomStream(9));
  const Executor executor(3);
  const EvidenceBatch shared = EvidenceBatch::of(cohort);
  const std::vector<Id> asked = {0, 3, 7, 14};
  for (const char* choice : {"nb", "cmm+bernoulli", "hmm+bernoulli", "cmm+tree", "gmm", "hct"}) {
    FitOptions options(choice);
    options.set("iterations", 5).set(choice == std::string("hct") ? "trees" : "states", 2);
    const FitResult fit = test::fit(cohort, options);
    const Model& model = *fit.model;
    const auto fresh = [&] { return EvidenceBatch::of(cohort); };
    const LikelihoodKind kind = model.likelihood_kinds().front();
    EXPECT_EQ(model.log_likelihood(shared, kind, executor).value, model.log_likelihood(fresh(), kind, executor).value);
    EXPECT_EQ(model.marginals(shared, asked, executor).value, model.marginals(fresh(), asked, executor).value)
        << choice;
    const EvidenceBatch one = model.complete(shared, RandomStream(1), executor),
                        other = model.complete(fresh(), RandomStream(1), executor);
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      for (Id t = 0; t < 3; ++t)
        EXPECT_TRUE(std::ranges::equal(one.taken(s, t), other.taken(s, t))) << choice;
    }
    if (const HiddenStates* states = model.hidden_states()) {
      EXPECT_EQ(states->posterior(shared, executor), states->posterior(fresh(), executor)) << choice;
      EXPECT_EQ(states->paths(shared, executor), states->paths(fresh(), executor)) << choice;
    }
  }
}

}  // namespace
}  // namespace desirepath::chain_evidence_test
