// The variational autoencoder against finite differences, a dense version by the book, and integrals over its code.
#include "desirepath/models/vae.h"

#include <cmath>
#include <numeric>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/stopped_fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/models/model_file.h"

namespace desirepath::vae_test {
namespace {

constexpr Id courses = 3, periods = 2;

Vae random_vae(Index hidden, Index latent, std::uint64_t seed) {
  return {test::small_schema(courses, periods),
          test::random_vae_network(courses * periods, hidden, latent, RandomStream(seed).child("vae"))};
}

std::vector<std::int64_t> numbered(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Every kind of evidence: periods unknown, open, closed; single courses known or not.
EvidenceBatch some_evidence(std::int64_t students, std::uint64_t seed) {
  return test::random_evidence(test::small_schema(courses, periods), students, false, RandomStream(seed));
}

RowMatrix normal_noise(Index rows, Index columns) {
  RandomStream draws(9);
  RowMatrix noise(rows, columns);
  for (double& value : noise.reshaped())
    value = draws.normal();
  return noise;
}

TEST(Vae, GradientIsThatOfFiniteDifferences) {
  const VaeNetwork network = random_vae(4, 2, 1).network();
  const EvidenceBatch known = some_evidence(12, 2);
  const std::vector<std::int64_t> students = numbered(12);
  const RowMatrix noise = normal_noise(12, 2);
  for (const double weight : {0.3, 1.0}) {
    Vector gradient = Vector::Zero(network.shape().size());
    network.bound(known, students, noise, weight, &gradient);
    const auto objective = [&](Index at, double step) {
      VaeNetwork moved = network;
      moved.parameters()[at] += step;
      const VaeNetwork::Bound bound = moved.bound(known, students, noise, weight, nullptr);
      return bound.fit - weight * bound.divergence;
    };
    for (Index i = 0; i < gradient.size(); ++i) {
      constexpr double step = 1e-5;
      const double slope = (objective(i, step) - objective(i, -step)) / (2 * step);
      EXPECT_NEAR(gradient[i], slope, 1e-7 * (1 + std::abs(slope))) << "parameter " << i;
    }
  }
}

/// What is known of a student as a row by the book: 1, 0, or nothing.
std::vector<std::optional<bool>> dense_row(const EvidenceBatch& known, std::int64_t student) {
  std::vector<std::optional<bool>> row;
  for (Id bit = 0; bit < courses * periods; ++bit)
    row.push_back(PeriodEvidence::of(known, student, bit / courses).known(bit));
  return row;
}

TEST(Vae, BoundIsThatOfTheDenseNetworksAndUnknownBitsSayNothing) {
  const VaeNetwork network = random_vae(5, 3, 3).network();
  const VaeLayers layers(network.shape(), network.parameters());
  const EvidenceBatch known = some_evidence(40, 4);
  const RowMatrix noise = normal_noise(40, 3);
  for (std::int64_t s = 0; s < 40; ++s) {
    const auto row = dense_row(known, s);
    std::vector<double> code, seen, hidden;
    double divergence = 0, fit = 0;
    for (Index h = 0; h < 5; ++h) {
      double sum = layers.encoder_input_bias[h];
      for (std::size_t j = 0; j < row.size(); ++j) {
        const auto bit = static_cast<Index>(j);
        if (row[j]) sum += ((*row[j] ? 1 : 0) - network.shares()[bit]) * layers.encoder_input(bit, h);
      }
      seen.push_back(std::tanh(sum));
    }
    for (Index k = 0; k < 3; ++k) {
      double mean = layers.encoder_mean_bias[k], log_variance = layers.encoder_log_variance_bias[k];
      for (Index h = 0; h < 5; ++h) {
        mean += layers.encoder_mean(k, h) * seen[static_cast<std::size_t>(h)];
        log_variance += layers.encoder_log_variance(k, h) * seen[static_cast<std::size_t>(h)];
      }
      divergence += 0.5 * (mean * mean + std::exp(log_variance) - 1 - log_variance);
      code.push_back(mean + std::exp(log_variance / 2) * noise(s, k));
    }
    for (Index h = 0; h < 5; ++h) {
      double sum = layers.decoder_input_bias[h];
      for (Index k = 0; k < 3; ++k)
        sum += layers.decoder_input(h, k) * code[static_cast<std::size_t>(k)];
      hidden.push_back(std::tanh(sum));
    }
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (!row[j]) continue;
      double log_odds = layers.decoder_output_bias[static_cast<Index>(j)];
      for (Index h = 0; h < 5; ++h)
        log_odds += layers.decoder_output(static_cast<Index>(j), h) * hidden[static_cast<std::size_t>(h)];
      const double p = 1 / (1 + std::exp(-log_odds));
      fit += std::log(*row[j] ? p : 1 - p);
    }
    const std::vector<std::int64_t> one = {s};
    const VaeNetwork::Bound found = network.bound(known, one, noise.row(s), 1, nullptr);
    EXPECT_NEAR(found.fit, fit, 1e-12 * (1 + std::abs(fit)));
    EXPECT_NEAR(found.divergence, divergence, 1e-12 * (1 + divergence));
  }
}

/// Integrals over a code of one number, on a fine grid.
struct Integrals {
  double evidence = 0;  // p(known)
  Vector taken;         // p(known, bit taken)
};
Integrals integrals_of(const VaeNetwork& network, const std::vector<std::optional<bool>>& row) {
  constexpr int points = 4001;
  constexpr double reach = 9, step = 2 * reach / (points - 1);
  RowMatrix codes(points, 1);
  for (Index i = 0; i < points; ++i)
    codes(i, 0) = -reach + step * static_cast<double>(i);
  const RowMatrix log_odds = network.decode(codes);
  Integrals result{0, Vector::Zero(log_odds.cols())};
  for (Index i = 0; i < points; ++i) {
    double weight = step * std::exp(-0.5 * codes(i, 0) * codes(i, 0)) / std::sqrt(2 * M_PI);
    Vector probability(log_odds.cols());
    for (Index j = 0; j < log_odds.cols(); ++j) {
      probability[j] = 1 / (1 + std::exp(-log_odds(i, j)));
      const auto& bit = row[static_cast<std::size_t>(j)];
      if (!bit) continue;
      weight *= *bit ? probability[j] : 1 - probability[j];
      probability[j] = *bit ? 1 : 0;
    }
    result.evidence += weight;
    result.taken += weight * probability;
  }
  return result;
}

TEST(Vae, LikelihoodAndAnswersAreTheIntegralsOverTheCode) {
  const Executor executor(2);
  std::vector<Id> all(courses * periods);
  std::iota(all.begin(), all.end(), 0);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Vae vae = random_vae(6, 1, seed);
    const EvidenceBatch known = some_evidence(30, seed + 10);
    const Estimates quick = vae.log_likelihood(known, LikelihoodKind::lower_bound, executor, Precision::quick);
    const Estimates sampled = vae.log_likelihood(known, LikelihoodKind::lower_bound, executor, Precision::sampled);
    const Estimates marginals = vae.marginals(known, all, executor, Conditioning::linear);
    for (std::int64_t s = 0; s < 30; ++s) {
      const auto row = dense_row(known, s);
      const Integrals truth = integrals_of(vae.network(), row);
      EXPECT_NEAR(quick.value(s, 0), std::log(truth.evidence), 4 * quick.standard_error(s, 0) + 1e-9);
      EXPECT_NEAR(sampled.value(s, 0), std::log(truth.evidence), 4 * sampled.standard_error(s, 0) + 1e-9);
      EXPECT_LE(sampled.standard_error(s, 0), 0.5 * quick.standard_error(s, 0) + 1e-12);
      for (Index j = 0; j < marginals.value.cols(); ++j) {
        EXPECT_NEAR(marginals.value(s, j), truth.taken[j] / truth.evidence, 4 * marginals.standard_error(s, j) + 1e-9);
        EXPECT_LT(marginals.standard_error(s, j), 0.1);
        if (row[static_cast<std::size_t>(j)]) {
          EXPECT_EQ(marginals.value(s, j), *row[static_cast<std::size_t>(j)] ? 1 : 0);
        }
      }
    }
  }
}

TEST(Vae, CompletionsKeepWhatIsKnownAndFollowTheIntegrals) {
  const Vae vae = random_vae(6, 1, 5);
  const EvidenceBatch known = some_evidence(8, 15);
  const Executor executor(2);
  constexpr int draws = 4000;
  RowMatrix counts = RowMatrix::Zero(8, courses * periods);
  for (int d = 0; d < draws; ++d) {
    const EvidenceBatch completed =
        vae.complete(known, RandomStream(3).child(static_cast<std::uint64_t>(d)), executor, Conditioning::linear);
    for (std::int64_t s = 0; s < 8; ++s) {
      for (Id t = 0; t < periods; ++t) {
        ASSERT_EQ(completed.presence(s, t), Presence::present);
        ASSERT_TRUE(completed.exceptions(s, t).empty());
        for (const Id bit : completed.taken(s, t))
          counts(s, bit) += 1;
      }
    }
  }
  for (std::int64_t s = 0; s < 8; ++s) {
    const auto row = dense_row(known, s);
    const Integrals truth = integrals_of(vae.network(), row);
    for (Index j = 0; j < counts.cols(); ++j) {
      const double p = truth.taken[j] / truth.evidence, share = counts(s, j) / draws;
      // Resampling from 64 draws is off by a hundredth at most here.
      EXPECT_NEAR(share, p, 4 * std::sqrt(p * (1 - p) / draws) + 0.01);
      if (row[static_cast<std::size_t>(j)]) {
        EXPECT_EQ(share, *row[static_cast<std::size_t>(j)] ? 1 : 0);
      }
    }
  }
}

TEST(Vae, ComesBackFromItsFile) {
  const Vae vae = random_vae(6, 3, 6);
  const StoredModel loaded = load_model(ArchiveReader::from_bytes(test::bytes_of_model(vae), "file"));
  EXPECT_EQ(test::bytes_of_model(*loaded.model), test::bytes_of_model(vae));
  EXPECT_EQ(loaded.model->parameter_count(), vae.parameter_count());
  const EvidenceBatch known = some_evidence(20, 7);
  const Executor executor(1);
  const auto score = [&](const Model& model) {
    return model.log_likelihood(known, LikelihoodKind::lower_bound, executor).value;
  };
  EXPECT_TRUE((score(vae).array() == score(*loaded.model).array()).all());
  VaeNetwork wild = vae.network();
  wild.parameters()[3] = 1e9;
  const Vae other(vae.schema(), wild);
  EXPECT_THROW(load_model(ArchiveReader::from_bytes(test::bytes_of_model(other), "file")), ArchiveError);
  EXPECT_TRUE(
      test::says(test::message_of<OptionError>([&] { vae.log_likelihood(known, LikelihoodKind::mass, executor, {}); }),
                 {"vae", "mass", "lower_bound"}));
}

TEST(Vae, AnswersDependOnNeitherThreadsNorCompany) {
  const Vae vae = random_vae(6, 2, 8);
  const EvidenceBatch known = some_evidence(50, 9);
  const std::vector<Id> asked = {0, 4};
  const Executor one(1), three(3);
  const auto a = vae.marginals(known, asked, one, Conditioning::linear).value;
  const auto b = vae.marginals(known, asked, three, Conditioning::linear).value;
  EXPECT_TRUE((a.array() == b.array()).all());
  const auto part = vae.marginals(known.slice(20, 31), asked, one, Conditioning::linear).value;
  EXPECT_TRUE((a.middleRows(20, 11).array() == part.array()).all());
  const RowMatrix scores = vae.lower_bound(known, 64, one).value;
  EXPECT_TRUE((scores.array() == vae.lower_bound(known, 64, three).value.array()).all());
  EXPECT_TRUE((scores.middleRows(20, 11).array() == vae.lower_bound(known.slice(20, 31), 64, one).value.array()).all());
}

/// Two kinds of students, of many or of few courses, some periods unknown.
Cohort two_kinds(std::int64_t students, std::uint64_t seed) {
  RandomStream draws(seed);
  test::CohortMaker made(8, 2);
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    const double p = draws.bernoulli(0.5) ? 0.85 : 0.15;
    for (Id t = 0; t < 2; ++t) {
      const bool there = t == 0 || draws.bernoulli(0.8);
      if (!there) made.set(t, Presence::unknown);
      for (Id c = 0; c < 8 && there; ++c) {
        if (draws.bernoulli(p)) made.take(t, c);
      }
    }
  }
  return made.build();
}

FitOptions small_vae() {
  return FitOptions("vae").set("latent", 2).set("hidden", 12).set("epochs", 60).set("patience", 5);
}

TEST(Vae, LearnsWhatTiesCoursesTogether) {
  const Cohort training = two_kinds(800, 1), others = two_kinds(400, 2);
  const FitResult fit = test::fit(training, small_vae());
  EXPECT_EQ(fit.kind, LikelihoodKind::lower_bound);
  EXPECT_EQ(fit.validation_trace.size(), static_cast<std::size_t>(fit.iterations));
  EXPECT_EQ(fit.validation_trace[static_cast<std::size_t>(fit.best_iteration - 1)],
            *std::ranges::max_element(fit.validation_trace));
  const Executor executor(2);
  const EvidenceBatch held_out = EvidenceBatch::of(others);
  const double found = fit.model->log_likelihood(held_out, LikelihoodKind::lower_bound, executor).value.mean();
  const FitResult truth = test::fit(training, FitOptions("nb").set("states", 2));
  const FitResult independent = test::fit(training, FitOptions("nb").set("states", 1).set("restarts", 1));
  const double best = truth.model->log_likelihood(held_out, LikelihoodKind::mass, executor).value.mean();
  const double worst = independent.model->log_likelihood(held_out, LikelihoodKind::mass, executor).value.mean();
  EXPECT_GT(found, worst + 0.9 * (best - worst));
  EXPECT_LT(found, best + 0.05);
  // The second period from the first, beside the mixture that the students are drawn from.
  const std::vector<Id> second = {1}, asked = {8, 9, 10};
  const EvidenceBatch first = held_out.without_periods(second);
  const RowMatrix guess = fit.model->marginals(first, asked, executor).value;
  const RowMatrix exact = truth.model->marginals(first, asked, executor).value;
  const double apart = (guess - exact).cwiseAbs().mean();
  EXPECT_LT(apart, 0.1);
  EXPECT_LT(apart, 0.3 * (exact.rowwise() - exact.colwise().mean()).cwiseAbs().mean());
}

TEST(Vae, IsTakenUpFromItsCheckpointsToTheBit) {
  const test::TemporaryFolder folder;
  const Cohort cohort = two_kinds(200, 3);
  FitOptions options = small_vae();
  options.set("epochs", 25);
  const auto saved = [&](const FitResult& fit) {
    return test::bytes_of_model(*fit.model, test::record_of(cohort, options, fit));
  };
  const FitResult whole = test::fit(cohort, options, 1);
  // No checkpoint is due in a minute: each is the one that being stopped writes.
  const test::StoppedFits runs{.least = 4, .most = 4, .checkpoint_interval = 60};
  EXPECT_EQ(saved(test::fit_with_stops(cohort, options, folder / "c", runs)), saved(whole));
  const Executor executor(1);
  TrainingContext context{executor};
  context.checkpoint = folder / "c";
  context.resume = true;
  options.set("hidden", 13);
  EXPECT_THROW(fit_model(cohort, options, context), OptionError);
}

TEST(Vae, PeriodsAfterLeavingCountAsUnknown) {
  const Cohort leavers =
      test::random_cohort({.students = 60, .courses = 4, .periods = 3, .left = 0.5}, RandomStream(6));
  const FitResult fit = test::fit(leavers, small_vae().set("epochs", 3));
  EXPECT_TRUE(test::any_says(fit.warnings, {"vae"}));
  EXPECT_FALSE(test::any_says(test::fit(two_kinds(60, 4), small_vae().set("epochs", 3)).warnings, {"vae"}));
  const EvidenceBatch known = EvidenceBatch::of(leavers);
  EvidenceBuilder unknown(known);
  for (std::int64_t s = 0; s < known.student_count(); ++s) {
    unknown.begin_student(known.students()[static_cast<std::size_t>(s)]);
    for (Id t = 0; t < 3; ++t) {
      PeriodEvidence period = PeriodEvidence::of(known, s, t);
      if (period.presence == Presence::left) period = {};
      unknown.add(period);
    }
  }
  const Executor executor(1);
  const auto score = [&](const EvidenceBatch& evidence) {
    return fit.model->log_likelihood(evidence, LikelihoodKind::lower_bound, executor).value;
  };
  EXPECT_TRUE((score(known).array() == score(std::move(unknown).build()).array()).all());
  // Who has left takes nothing.
  const std::vector<Id> last = {8, 9, 10, 11};
  const RowMatrix taken = fit.model->marginals(known, last, executor).value;
  const EvidenceBatch completed = fit.model->complete(known, RandomStream(1), executor);
  for (std::int64_t s = 0; s < known.student_count(); ++s) {
    const bool gone = known.presence(s, 2) == Presence::left;
    EXPECT_EQ(completed.presence(s, 2), gone ? Presence::left : Presence::present);
    if (gone) {
      EXPECT_EQ(taken.row(s).sum(), 0);
    }
  }
}

TEST(Vae, WhatItCannotTakeIsRefused) {
  const Cohort cohort = two_kinds(60, 4);
  const Executor executor(1);
  const FitOptions options = small_vae().set("epochs", 3);
  const FitResult first = fit_model(cohort, options, {executor});
  TrainingContext warm{executor}, match{executor};
  warm.warm = match.match = first.model.get();
  EXPECT_GT(fit_model(cohort, options, warm).trace.front(), first.trace.front());  // not anew
  EXPECT_THROW(fit_model(cohort, options, match), OptionError);
  EXPECT_TRUE(test::says(test::message_of<OptionError>([&] { fit_model(cohort, small_vae().set("latent", 3), warm); }),
                         {"--warm", "12", "2"}));
  const FitResult nb = test::fit(cohort, FitOptions("nb").set("states", 2));
  warm.warm = nb.model.get();
  EXPECT_TRUE(
      test::says(test::message_of<OptionError>([&] { fit_model(cohort, options, warm); }), {"--warm", "nb", "vae"}));
}

}  // namespace
}  // namespace desirepath::vae_test
