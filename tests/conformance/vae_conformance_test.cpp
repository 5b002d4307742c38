// The variational autoencoder on few bits against enumeration of all worlds: the probability of each by its decoder
// written out and quadrature over a code of two numbers.
#include <cmath>
#include <numbers>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/models/model_file.h"
#include "desirepath/models/vae.h"

namespace desirepath::vae_conformance_test {
namespace {

using test::World;

class VaeConformance : public testing::Test {
 protected:
  static constexpr Id courses = 3, periods = 3, latent = 2;
  static constexpr Index bits = courses * periods;

  static Vae model(std::uint64_t seed) {
    return {test::small_schema(courses, periods), test::random_vae_network(bits, 5, latent, RandomStream(seed))};
  }
  static EvidenceBatch evidence(std::int64_t students, std::uint64_t seed) {
    return test::random_evidence(test::small_schema(courses, periods), students, false, RandomStream(seed));
  }

  /// By trapezoids, which are exact to rounding for what is smooth and gone at the ends.
  static std::vector<World> worlds_of(const VaeNetwork& network) {
    constexpr int points = 161;
    constexpr double reach = 8, step = 2 * reach / (points - 1);
    const VaeLayers layers(network.shape(), network.parameters());
    Vector probability = Vector::Zero(1 << bits);
    for (int a = 0; a < points; ++a) {
      for (int b = 0; b < points; ++b) {
        const double code[latent] = {step * a - reach, step * b - reach};
        const double density =
            std::exp(-0.5 * (code[0] * code[0] + code[1] * code[1])) / (2 * std::numbers::pi) * step * step;
        Vector product = Vector::Constant(1, density);  // over the worlds of the bits so far
        for (Index bit = 0; bit < bits; ++bit) {
          double log_odds = layers.decoder_output_bias[bit];
          for (Index h = 0; h < network.shape().hidden; ++h) {
            const double sum = layers.decoder_input_bias[h] + layers.decoder_input(h, 0) * code[0] +
                               layers.decoder_input(h, 1) * code[1];
            log_odds += layers.decoder_output(bit, h) * std::tanh(sum);
          }
          const double taken = 1 / (1 + std::exp(-log_odds));
          Vector longer(2 * product.size());
          longer << (1 - taken) * product, taken * product;
          product = std::move(longer);
        }
        probability += product;
      }
    }
    std::vector<World> worlds;
    for (Index code = 0; code < probability.size(); ++code) {
      World world{{}, std::vector<bool>(periods, false), probability[code]};
      for (Index bit = 0; bit < bits; ++bit)
        world.taken.push_back((code >> bit & 1) != 0);
      worlds.push_back(std::move(world));
    }
    return worlds;
  }
  template <class What>
  static double mass(const std::vector<World>& worlds, const EvidenceBatch& known, std::int64_t student,
                     const What& what) {
    double sum = 0;
    for (const World& world : worlds)
      sum += test::agrees(world, known, student) && what(world) ? world.probability : 0;
    return sum;
  }
  static double mass(const std::vector<World>& worlds, const EvidenceBatch& known, std::int64_t student) {
    return mass(worlds, known, student, [](const World&) { return true; });
  }
  static bool takes(const World& world, Id bit) { return world.taken[static_cast<std::size_t>(bit)]; }

  Executor executor_{2};
};

TEST_F(VaeConformance, ScoresAreEstimatesOfTheMassWithHonestErrors) {
  double squares = 0;
  int estimates = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Vae vae = model(seed);
    const std::vector<World> worlds = worlds_of(vae.network());
    double total = 0;
    for (const World& world : worlds)
      total += world.probability;
    ASSERT_NEAR(total, 1, 1e-12);
    const EvidenceBatch known = evidence(60, seed);
    for (const Precision precision : {Precision::quick, Precision::sampled}) {
      const Estimates found = vae.log_likelihood(known, LikelihoodKind::lower_bound, executor_, precision);
      for (std::int64_t s = 0; s < 60; ++s) {
        const double expected = std::log(mass(worlds, known, s)), error = found.standard_error(s, 0);
        EXPECT_NEAR(found.value(s, 0), expected, 4.5 * error + 1e-9) << "seed " << seed << ", student " << s;
        EXPECT_LT(error, precision == Precision::quick ? 0.3 : 0.075) << "seed " << seed << ", student " << s;
        if (error == 0) continue;
        squares += std::pow((found.value(s, 0) - expected) / error, 2);
        ++estimates;
      }
    }
  }
  // Were the errors right, this would be 1 with a standard error of 0.08; evenly spread points err less than they say.
  ASSERT_GT(estimates, 250);
  EXPECT_GT(squares / estimates, 0.7);
  EXPECT_LT(squares / estimates, 1.3);
}

TEST_F(VaeConformance, FewDrawsLieBelowTheMassAndMoreDrawsNearer) {
  const Vae vae = model(4);
  const std::vector<World> worlds = worlds_of(vae.network());
  const EvidenceBatch known = EvidenceBatch::of(
      test::random_cohort({.students = 40, .courses = courses, .periods = periods, .unknown = 0}, RandomStream(4)));
  double truth = 0;
  for (std::int64_t s = 0; s < 40; ++s)
    truth += std::log(mass(worlds, known, s)) / 40;
  const auto below = [&](std::int64_t draws) {  // by how much on average, and the standard error of that
    constexpr int rounds = 150;
    Vector means(rounds);
    for (int round = 0; round < rounds; ++round) {
      const RandomStream stream = RandomStream(5).child(static_cast<std::uint64_t>(round));
      means[round] = vae.lower_bound(known, draws, executor_, &stream).value.mean();
    }
    return std::pair(truth - means.mean(), std::sqrt((means.array() - means.mean()).square().sum() / rounds / rounds));
  };
  const auto [few, few_error] = below(4);
  const auto [more, more_error] = below(64);
  EXPECT_GT(few, more + 5 * few_error);
  EXPECT_GT(more, 3 * more_error);
  EXPECT_LT(more, few / 8);  // it falls with the number of draws: to a sixteenth
}

TEST_F(VaeConformance, MarginalsAgree) {
  std::vector<Id> asked;
  for (Id bit = 0; bit < bits; ++bit)
    asked.push_back(static_cast<Id>(bits) - 1 - bit);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Vae vae = model(seed);
    const std::vector<World> worlds = worlds_of(vae.network());
    const EvidenceBatch known = evidence(25, seed + 10);
    const Estimates found = vae.marginals(known, asked, executor_, Conditioning::linear);
    for (std::int64_t s = 0; s < 25; ++s) {
      const double all = mass(worlds, known, s);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto column = static_cast<Index>(i);
        const double expected =
            mass(worlds, known, s, [&](const World& world) { return takes(world, asked[i]); }) / all;
        EXPECT_NEAR(found.value(s, column), expected, 4.5 * found.standard_error(s, column) + 1e-9)
            << "seed " << seed << ", student " << s << ", bit " << asked[i];
        EXPECT_LT(found.standard_error(s, column), 0.06);
      }
    }
  }
}

TEST_F(VaeConformance, CompletionsFollowTheModel) {
  const Vae vae = model(6);
  const std::vector<World> worlds = worlds_of(vae.network());
  constexpr int draws = 6000;
  // Of whom nothing is known is drawn exactly.
  const EvidenceBatch nothing = test::nothing_known(vae.schema(), 1);
  EXPECT_GT(test::expect_chi_squared(test::count_worlds(vae, nothing, 0, draws, RandomStream(7), executor_), worlds,
                                     nothing, 0),
            50);
  // Others by one of 64 weighted draws: off by a hundredth at most here, in every bit and pair of bits.
  const EvidenceBatch known = evidence(5, 16);
  for (std::int64_t s = 0; s < 5; ++s) {
    const test::WorldCounts counts =
        test::count_worlds(vae, known, s, draws, RandomStream(8).child(static_cast<std::uint64_t>(s)), executor_);
    const double all = mass(worlds, known, s);
    for (Id a = 0; a < bits; ++a) {
      for (Id b = a; b < bits; ++b) {
        const double p =
            mass(worlds, known, s, [&](const World& world) { return takes(world, a) && takes(world, b); }) / all;
        double seen = 0;
        for (const auto& [world, count] : counts) {
          const std::vector<bool>& taken = world.first;
          if (taken[static_cast<std::size_t>(a)] && taken[static_cast<std::size_t>(b)]) seen += count;
        }
        EXPECT_NEAR(seen / draws, p, 4 * std::sqrt(p * (1 - p) / draws) + (p > 1e-12 && p < 1 - 1e-12 ? 0.01 : 1e-12))
            << "student " << s << ", bits " << a << " and " << b;
      }
    }
  }
}

TEST_F(VaeConformance, ComesBackFromItsFile) {
  const Vae vae = model(7);
  const std::vector<std::byte> bytes = test::bytes_of_model(vae);
  const StoredModel loaded = load_model(ArchiveReader::from_bytes(bytes, "file"));
  const EvidenceBatch known = evidence(30, 7);
  EXPECT_EQ(loaded.model->log_likelihood(known, LikelihoodKind::lower_bound, executor_).value,
            vae.log_likelihood(known, LikelihoodKind::lower_bound, executor_, Precision::quick).value);
  EXPECT_EQ(test::bytes_of_model(*loaded.model), bytes);
  EXPECT_EQ(loaded.model->parameter_count(), vae.parameter_count());
  EXPECT_EQ(loaded.model->name(), "vae");
}

TEST_F(VaeConformance, ThreadsDoNotChangeABit) {
  const Vae vae = model(8);
  const EvidenceBatch known = evidence(300, 8);
  const std::vector<Id> asked = {0, 4, 8};
  const Executor one(1);
  const Estimates likelihood = vae.log_likelihood(known, LikelihoodKind::lower_bound, one, Precision::quick);
  const Estimates marginals = vae.marginals(known, asked, one, Conditioning::linear);
  const EvidenceBatch completed = vae.complete(known, RandomStream(9), one, Conditioning::linear);
  for (const int threads : {2, 3, 7}) {
    const Executor many(threads);
    const Estimates scores = vae.log_likelihood(known, LikelihoodKind::lower_bound, many, Precision::quick);
    EXPECT_EQ(scores.value, likelihood.value);
    EXPECT_EQ(scores.standard_error, likelihood.standard_error);
    EXPECT_EQ(vae.marginals(known, asked, many, Conditioning::linear).value, marginals.value);
    EXPECT_TRUE(test::same_students(vae.complete(known, RandomStream(9), many, Conditioning::linear), completed));
  }
}

}  // namespace
}  // namespace desirepath::vae_conformance_test
