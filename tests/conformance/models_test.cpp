// Every model of the catalog with every emission that is a mass, on few bits, against enumeration of all worlds.
// Gaussian emissions: gaussian_test.cpp; models without an emission (vae): vae_conformance_test.cpp.
#include <cmath>
#include <set>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/models/catalog.h"
#include "desirepath/models/model_file.h"

namespace desirepath::models_conformance_test {
namespace {

using test::World;

std::vector<std::string> models_with_emissions() {
  std::vector<std::string> models;
  for (const ModelEntry& entry : standard_catalog().models) {
    if (!entry.default_emission.empty()) models.push_back(entry.name);
  }
  return models;
}

TEST(ConformanceOfModels, EveryModelIsHeldToATruth) {
  std::set<std::string> held = {"vae"};  // vae_conformance_test.cpp
  for (const test::ChainCase& one : test::chain_cases(models_with_emissions()))
    held.insert(one.model);
  std::set<std::string> all;
  for (const ModelEntry& entry : standard_catalog().models)
    all.insert(entry.name);
  EXPECT_EQ(held, all);
}

TEST(ConformanceOfFamilies, EveryFamilyHasItsEnumeration) {
  for (const EmissionFamily& family : standard_catalog().emissions) {
    if (family.name == "gaussian") continue;  // a density, no mass over worlds: gaussian_test.cpp
    EXPECT_NE(std::ranges::find(test::emission_truths(), family.name, &test::EmissionTruth::family),
              test::emission_truths().end())
        << family.name;
  }
}

class Conformance : public testing::TestWithParam<test::ChainCase> {
 protected:
  static constexpr Id courses = 3, periods = 3, states = 2;
  HiddenChain model(std::uint64_t seed) const {
    return test::random_chain(GetParam().model, *GetParam().truth, courses, periods, states, GetParam().left,
                              RandomStream(seed));
  }
  EvidenceBatch evidence(const HiddenChain& chain, std::int64_t students, std::uint64_t seed) const {
    return test::random_evidence(chain.schema(), students, GetParam().left, RandomStream(seed).child("evidence"));
  }
  static double mass(const std::vector<World>& worlds, const EvidenceBatch& known, std::int64_t student) {
    double sum = 0;
    for (const World& world : worlds)
      sum += test::agrees(world, known, student) ? world.probability : 0;
    return sum;
  }
  Executor executor_{2};
};

TEST_P(Conformance, MassSumsToOneAndPartialEvidenceAgrees) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const HiddenChain chain = model(seed);
    const std::vector<World> worlds = test::enumerate_worlds(chain, *GetParam().truth);
    double total = 0;
    for (const World& world : worlds)
      total += world.probability;
    ASSERT_NEAR(total, 1, 1e-12);
    const EvidenceBatch known = evidence(chain, 60, seed);
    const Estimates found = chain.log_likelihood(known, LikelihoodKind::mass, executor_);
    EXPECT_TRUE(found.is_exact());
    for (std::int64_t s = 0; s < 60; ++s) {
      const double expected = std::log(mass(worlds, known, s));
      EXPECT_NEAR(found.value(s, 0), expected, 1e-11 * (1 + std::abs(expected)))
          << "seed " << seed << ", student " << s;
    }
  }
}

TEST_P(Conformance, MarginalsAgree) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const HiddenChain chain = model(seed);
    const std::vector<World> worlds = test::enumerate_worlds(chain, *GetParam().truth);
    const EvidenceBatch known = evidence(chain, 25, seed);
    std::vector<Id> asked;
    for (Id bit = 0; bit < chain.schema().bit_count(); ++bit)
      asked.push_back(chain.schema().bit_count() - 1 - bit);
    const Estimates found = chain.marginals(known, asked, executor_);
    for (std::int64_t s = 0; s < 25; ++s) {
      const double all = mass(worlds, known, s);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        double taken = 0;
        for (const World& world : worlds) {
          if (test::agrees(world, known, s) && world.taken[static_cast<std::size_t>(asked[i])])
            taken += world.probability;
        }
        EXPECT_NEAR(found.value(s, static_cast<Index>(i)), taken / all, 1e-11);
      }
    }
  }
}

TEST_P(Conformance, StatePosteriorsSumToOneAndPathsAreTheirBest) {
  const HiddenChain chain = model(4);
  const EvidenceBatch known = evidence(chain, 20, 4);
  const RowMatrix posterior = chain.posterior(known, executor_);
  const auto paths = chain.paths(known, executor_);
  const Id steps = chain.step_count(), all = chain.state_count();
  std::vector<double> total(20, 0), largest(20, -1);
  std::vector<std::vector<Id>> best(20);
  std::vector<RowMatrix> shares(20, RowMatrix::Zero(steps, all));
  std::vector<Id> path(static_cast<std::size_t>(steps), 0);
  for (Id code = 0; code < static_cast<Id>(std::lround(std::pow(all, steps))); ++code) {
    for (Id t = 0, rest = code; t < steps; ++t, rest /= all)
      path[static_cast<std::size_t>(t)] = rest % all;
    const std::vector<World> worlds = test::worlds_of_path(chain, *GetParam().truth, path);
    for (std::size_t s = 0; s < 20; ++s) {
      const double weight = mass(worlds, known, static_cast<std::int64_t>(s));
      if (weight > largest[s]) best[s] = path;
      largest[s] = std::max(largest[s], weight);
      total[s] += weight;
      for (Id t = 0; t < steps; ++t)
        shares[s](t, path[static_cast<std::size_t>(t)]) += weight;
    }
  }
  for (std::size_t s = 0; s < 20; ++s) {
    EXPECT_EQ(paths[s], best[s]) << s;
    for (Id t = 0; t < steps; ++t) {
      const auto found = posterior.row(static_cast<Index>(s)).segment(t * all, all);
      EXPECT_NEAR(found.sum(), 1, 1e-12);
      EXPECT_LT((found - shares[s].row(t) / total[s]).cwiseAbs().maxCoeff(), 1e-11) << s;
    }
  }
}

TEST_P(Conformance, CompletionsFollowTheModel) {
  const HiddenChain chain = model(6);
  const std::vector<World> worlds = test::enumerate_worlds(chain, *GetParam().truth);
  const EvidenceBatch known = evidence(chain, 4, 6);
  int freedom = 0;
  for (std::int64_t s = 0; s < 4; ++s) {
    const test::WorldCounts counts =
        test::count_worlds(chain, known, s, 4000, RandomStream(10).child(static_cast<std::uint64_t>(s)), executor_);
    freedom += test::expect_chi_squared(counts, worlds, known, s);
  }
  EXPECT_GT(freedom, 20);
}

TEST_P(Conformance, ComesBackFromItsFile) {
  const HiddenChain chain = model(7);
  const std::vector<std::byte> bytes = test::bytes_of_model(chain);
  const StoredModel loaded = load_model(ArchiveReader::from_bytes(bytes, "file"));
  const EvidenceBatch known = evidence(chain, 30, 7);
  const Estimates before = chain.log_likelihood(known, LikelihoodKind::mass, executor_);
  const Estimates after = loaded.model->log_likelihood(known, LikelihoodKind::mass, executor_);
  EXPECT_TRUE((before.value.array() == after.value.array()).all());
  EXPECT_EQ(test::bytes_of_model(*loaded.model), bytes);
  EXPECT_EQ(loaded.model->name(), chain.name());
  // The members of a committee are no kinds of students.
  EXPECT_EQ(loaded.model->hidden_states() != nullptr, standard_catalog().model(GetParam().model).structure.has_value());
  EXPECT_EQ(loaded.model->parameter_count(), chain.parameter_count());
}

TEST_P(Conformance, ThreadsDoNotChangeABit) {
  const HiddenChain chain = model(8);
  const EvidenceBatch known = evidence(chain, 3000, 8);  // many blocks
  std::vector<Id> asked = {0, 4, 8};
  const Executor one(1);
  const Estimates likelihood = chain.log_likelihood(known, LikelihoodKind::mass, one);
  const Estimates marginals = chain.marginals(known, asked, one);
  const RowMatrix posterior = chain.posterior(known, one);
  const EvidenceBatch completed = chain.complete(known, RandomStream(9), one);
  for (const int threads : {2, 3, 7}) {
    const Executor many(threads);
    EXPECT_TRUE(test::same_students(chain.complete(known, RandomStream(9), many), completed));
    EXPECT_TRUE(
        (chain.log_likelihood(known, LikelihoodKind::mass, many).value.array() == likelihood.value.array()).all());
    EXPECT_TRUE((chain.marginals(known, asked, many).value.array() == marginals.value.array()).all());
    EXPECT_TRUE((chain.posterior(known, many).array() == posterior.array()).all());
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Conformance, testing::ValuesIn(test::chain_cases(models_with_emissions())),
                         [](const auto& the_case) {
                           const test::EmissionTruth& truth = *the_case.param.truth;
                           std::string name = the_case.param.model + "_" + truth.family +
                                              (truth.variant.empty() ? "" : "_" + truth.variant) +
                                              (the_case.param.left ? "_left" : "");
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(ConformanceOfStructures, AContextualMixtureIsAnHmmWithStatesForEveryPeriod) {
  const Id courses = 3, periods = 3, states = 2;
  const HiddenChain contextual =
      test::random_chain("cmm", test::emission_truths().front(), courses, periods, states, false, RandomStream(3));
  // Block transitions: state (t, k) goes to (t+1, k') only; states of the last period stay where they are.
  const Index all = periods * states;
  ChainParameters parameters;
  parameters.prior.initial = Vector::Zero(all);
  parameters.prior.initial.head(states) = contextual.parameters().prior.initial;
  Matrix transition = Matrix::Zero(all, all);
  RowMatrix probability(courses, all);
  for (Id t = 0; t < periods; ++t) {
    if (t + 1 < periods)
      transition.block(t * states, (t + 1) * states, states, states) =
          contextual.parameters().prior.transitions[static_cast<std::size_t>(t)];
    else
      transition.block(t * states, t * states, states, states).setIdentity();
    probability.middleCols(t * states, states) =
        contextual.parameters().emissions[static_cast<std::size_t>(t)]->bit_probabilities();
  }
  parameters.prior.transitions = {transition, transition};
  parameters.emissions.push_back(std::make_unique<BernoulliEmission>(probability));
  const HiddenChain hidden_markov({"hmm", "bernoulli", true, TimeStructure::tied, contextual.schema()},
                                  std::move(parameters));
  const EvidenceBatch known = test::random_evidence(contextual.schema(), 200, false, RandomStream(5));
  const Executor executor(2);
  const RowMatrix a = contextual.log_likelihood(known, LikelihoodKind::mass, executor).value;
  const RowMatrix b = hidden_markov.log_likelihood(known, LikelihoodKind::mass, executor).value;
  for (Index s = 0; s < a.rows(); ++s)
    EXPECT_NEAR(a(s, 0), b(s, 0), 1e-12 * (1 + std::abs(a(s, 0))));
}

TEST(ConformanceOfStructures, ProbabilitiesOfZeroAndOneAreExact) {
  RowMatrix p(3, 2);
  p << 0, 1, 1, 0.5, 0.25, 0;
  ChainParameters parameters;
  parameters.prior.initial = Vector::Constant(2, 0.5);
  parameters.emissions.push_back(std::make_unique<BernoulliEmission>(p));
  const HiddenChain chain({"nb", "bernoulli", true, TimeStructure::one_step, test::small_schema(3, 1)},
                          std::move(parameters));
  const std::vector<World> worlds = test::enumerate_worlds(chain, test::emission_truths().front());
  const EvidenceBatch known = test::random_evidence(chain.schema(), 200, false, RandomStream(1));
  const RowMatrix found = chain.log_likelihood(known, LikelihoodKind::mass, Executor(1)).value;
  for (std::int64_t s = 0; s < 200; ++s) {
    double sum = 0;
    for (const World& world : worlds)
      sum += test::agrees(world, known, s) ? world.probability : 0;
    if (sum == 0) {
      EXPECT_EQ(found(s, 0), -infinity);
    } else {
      EXPECT_NEAR(found(s, 0), std::log(sum), 1e-12);
    }
  }
}

}  // namespace
}  // namespace desirepath::models_conformance_test
