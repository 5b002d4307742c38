// Gaussian emissions in every time structure and covariance shape, on few bits, against dense formulas of the marginal
// and conditional normal distribution.
#include "desirepath/emissions/gaussian.h"

#include <cmath>
#include <numbers>

#include <Eigen/Dense>

#include "support/example_cohorts.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/models/catalog.h"
#include "desirepath/models/model_file.h"
#include "desirepath/probability/orthant.h"

namespace desirepath {
namespace {

constexpr Id courses = 3, periods = 3, states = 2;

double phi(double t) {
  return 0.5 * std::erfc(-t / std::numbers::sqrt2);
}

GaussianParameters random_parameters(const std::string& shape, Index bits, RandomStream& stream) {
  GaussianParameters parameters;
  const auto draw = [&](Index rows, Index columns) {
    RowMatrix result(rows, columns);
    for (Index i = 0; i < result.size(); ++i)
      result.data()[i] = 0.6 * stream.normal();
    return result;
  };
  parameters.mean = draw(bits, states);
  parameters.standard_mean = draw(bits, states);
  if (shape == "full" || shape == "tied") {
    for (Id k = 0; k < (shape == "full" ? states : 1); ++k) {
      const RowMatrix root = draw(bits, bits);
      const Matrix covariance = root * root.transpose() + 0.2 * Matrix::Identity(bits, bits);
      parameters.cholesky.emplace_back(covariance.llt().matrixL());
    }
  } else {
    for (Id k = 0; k < states; ++k)
      parameters.loading.push_back(draw(bits, shape == "diagonal" ? 0 : 2));
    parameters.noise = draw(bits, states).array().square() + 0.2;
  }
  return parameters;
}

struct Case {
  std::string model, shape;
};

class GaussianConformance : public testing::TestWithParam<Case> {
 protected:
  static HiddenChain model(std::uint64_t seed) {
    const TimeStructure structure = *standard_catalog().model(GetParam().model).structure;
    RandomStream stream(seed);
    const StepLayout layout = StepLayout::of(structure, periods);
    ChainParameters parameters;
    parameters.prior.initial = Vector(2);
    parameters.prior.initial << 0.3, 0.7;
    Matrix transition(2, 2);
    transition << 0.6, 0.4, 0.1, 0.9;
    for (Id t = 0; t + 1 < layout.step_count(); ++t) {
      parameters.prior.transitions.push_back(transition);
      if (structure == TimeStructure::per_period) transition.row(0).swap(transition.row(1));
    }
    const Index bits = (layout.steps[0].last - layout.steps[0].first) * courses;
    for (Id p = 0; p < layout.pool_count(); ++p)
      parameters.emissions.push_back(
          std::make_unique<GaussianEmission>(random_parameters(GetParam().shape, bits, stream)));
    return {{GetParam().model, "gaussian", false, structure, test::small_schema(courses, periods)},
            std::move(parameters)};
  }

  struct Step {
    std::vector<Index> known, unknown;
    Vector x;  // of the known
  };
  static Step read(const HiddenChain& chain, const EvidenceBatch& evidence, std::int64_t student, Id step) {
    Step result;
    std::vector<double> values;
    const PeriodRange range = chain.step_periods(step);
    for (Id t = range.first; t < range.last; ++t) {
      const bool closed = evidence.presence(student, t) == Presence::present;
      for (Id c = 0; c < courses; ++c) {
        const Id bit = t * courses + c;
        const Index local = bit - range.first * courses;
        const bool taken = std::ranges::count(evidence.taken(student, t), bit) > 0;
        const bool exception = std::ranges::count(evidence.exceptions(student, t), bit) > 0;
        if (taken || exception != closed) {
          result.known.push_back(local);
          values.push_back(taken ? 1 : -1);
        } else {
          result.unknown.push_back(local);
        }
      }
    }
    result.x = Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
    return result;
  }
  static const GaussianEmission& emission(const HiddenChain& chain, Id step) {
    const auto pool = static_cast<std::size_t>(chain.layout().pool_of[static_cast<std::size_t>(step)]);
    return dynamic_cast<const GaussianEmission&>(*chain.parameters().emissions[pool]);
  }
  static double density(const HiddenChain& chain, Id step, Id state, const Step& given) {
    if (given.known.empty()) return 1;
    const GaussianEmission& e = emission(chain, step);
    const Matrix covariance = e.covariance(state)(given.known, given.known);
    const Vector deviation = given.x - Vector(e.parameters().mean.col(state)(given.known));
    return std::exp(-0.5 * deviation.dot(covariance.inverse() * deviation)) /
           std::sqrt((2 * std::numbers::pi * covariance).determinant());
  }
  /// Every path of states: weight, and the posterior of each (step, state).
  static double enumerate(const HiddenChain& chain, const EvidenceBatch& evidence, std::int64_t student,
                          RowMatrix* posterior) {
    const Id steps = chain.step_count();
    double total = 0;
    if (posterior != nullptr) posterior->setZero(steps, states);
    for (int code = 0; code < 1 << steps; ++code) {
      double weight = 1;
      for (Id t = 0; t < steps; ++t) {
        const Id k = code >> t & 1;
        weight *= t == 0 ? chain.parameters().prior.initial[k] : chain.transition(t - 1)(code >> (t - 1) & 1, k);
        weight *= density(chain, t, k, read(chain, evidence, student, t));
      }
      total += weight;
      for (Id t = 0; posterior != nullptr && t < steps; ++t)
        (*posterior)(t, code >> t & 1) += weight;
    }
    if (posterior != nullptr) *posterior /= total;
    return total;
  }
  /// P(bit = 1 | known bits, state): linear conditioning, the calibrated mean as the origin.
  static double marginal(const HiddenChain& chain, Id step, Id state, const Step& given, Index local) {
    const auto at = std::ranges::find(given.known, local);
    if (at != given.known.end()) return given.x[at - given.known.begin()] > 0 ? 1 : 0;
    const GaussianEmission& e = emission(chain, step);
    const Matrix s = e.covariance(state);
    double mean = e.parameters().standard_mean(local, state) * std::sqrt(s(local, local)), variance = s(local, local);
    if (!given.known.empty()) {
      const std::vector<Index> one = {local};
      const Matrix gain = s(one, given.known) * Matrix(s(given.known, given.known)).inverse();
      mean += (gain * (given.x - Vector(e.parameters().mean.col(state)(given.known))))(0, 0);
      variance -= (gain * s(given.known, one))(0, 0);
    }
    return phi(mean / std::sqrt(variance));
  }
  static EvidenceBatch evidence(const HiddenChain& chain, std::int64_t students, std::uint64_t seed) {
    return test::random_evidence(chain.schema(), students, false, RandomStream(seed).child("evidence"));
  }
  Compute compute_{2};
};

TEST_P(GaussianConformance, DensityOfPartialEvidenceIsTheDenseOne) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const HiddenChain chain = model(seed);
    // Few students make patterns of few rows, many make tables of pairs: two ways to the same number.
    const EvidenceBatch known = evidence(chain, seed < 3 ? 40 : 3000, seed);
    const Estimates found = chain.log_likelihood(known, LikelihoodKind::density, compute_);
    EXPECT_TRUE(found.is_exact());
    for (std::int64_t s = 0; s < 40; ++s) {
      const double expected = std::log(enumerate(chain, known, s, nullptr));
      EXPECT_NEAR(found.value(s, 0), expected, 1e-10 * (1 + std::abs(expected)))
          << "seed " << seed << ", student " << s;
    }
  }
}

TEST_P(GaussianConformance, MarginalsAreTheDenseConditionals) {
  const HiddenChain chain = model(5);
  const EvidenceBatch known = evidence(chain, 30, 5);
  std::vector<Id> asked;
  for (Id bit = 0; bit < chain.schema().bit_count(); ++bit)
    asked.push_back(bit);
  const Estimates found = chain.marginals(known, asked, compute_);
  for (std::int64_t s = 0; s < 30; ++s) {
    RowMatrix posterior;
    enumerate(chain, known, s, &posterior);
    for (Id step = 0; step < chain.step_count(); ++step) {
      const Step given = read(chain, known, s, step);
      const PeriodRange range = chain.step_periods(step);
      for (Id bit = range.first * courses; bit < range.last * courses; ++bit) {
        double expected = 0;
        for (Id k = 0; k < states; ++k)
          expected += posterior(step, k) * marginal(chain, step, k, given, bit - range.first * courses);
        EXPECT_NEAR(found.value(s, bit), expected, 1e-10);
      }
    }
  }
}

// Each bit's share over 6,000 completions against its marginal: beyond 4.5 standard errors once in 150,000; 270 bits.
TEST_P(GaussianConformance, CompletionsHaveTheMarginals) {
  const HiddenChain chain = model(6);
  const EvidenceBatch known = evidence(chain, 6, 6);
  std::vector<Id> asked;
  for (Id bit = 0; bit < chain.schema().bit_count(); ++bit)
    asked.push_back(bit);
  const RowMatrix expected = chain.marginals(known, asked, compute_).value;
  constexpr int draws = 6000;
  RowMatrix counts = RowMatrix::Zero(6, chain.schema().bit_count());
  for (int d = 0; d < draws; ++d) {
    const EvidenceBatch completed =
        chain.complete(known, RandomStream(10).child(static_cast<std::uint64_t>(d)), compute_);
    for (std::int64_t s = 0; s < 6; ++s) {
      for (Id t = 0; t < periods; ++t) {
        for (const Id bit : completed.taken(s, t))
          ++counts(s, bit);
      }
    }
  }
  for (Index i = 0; i < counts.size(); ++i) {
    const double p = expected.data()[i];
    EXPECT_NEAR(counts.data()[i] / draws, p, 4.5 * std::sqrt(p * (1 - p) / draws) + 1e-12);
  }
}

TEST_P(GaussianConformance, ComesBackFromItsFile) {
  const HiddenChain chain = model(7);
  ArchiveWriter writer("model");
  chain.save(writer);
  writer.set("training", "{}");
  const std::vector<std::byte> bytes = writer.bytes();
  const StoredModel loaded = load_model(ArchiveReader::from_bytes(bytes, "file"));
  const EvidenceBatch known = evidence(chain, 30, 7);
  EXPECT_TRUE((chain.log_likelihood(known, LikelihoodKind::density, compute_).value.array() ==
               loaded.model->log_likelihood(known, LikelihoodKind::density, compute_).value.array())
                  .all());
  ArchiveWriter again("model");
  loaded.model->save(again);
  again.set("training", "{}");
  EXPECT_EQ(again.bytes(), bytes);
  EXPECT_EQ(loaded.model->parameter_count(), chain.parameter_count());
}

TEST_P(GaussianConformance, ThreadsDoNotChangeABit) {
  const HiddenChain chain = model(8);
  const EvidenceBatch known = evidence(chain, 3000, 8);
  const std::vector<Id> asked = {0, 4, 8};
  const Compute one(1);
  const RowMatrix likelihood = chain.log_likelihood(known, LikelihoodKind::density, one).value;
  const RowMatrix marginals = chain.marginals(known, asked, one).value;
  for (const int threads : {2, 3, 7}) {
    const Compute many(threads);
    EXPECT_TRUE((chain.log_likelihood(known, LikelihoodKind::density, many).value.array() == likelihood.array()).all());
    EXPECT_TRUE((chain.marginals(known, asked, many).value.array() == marginals.array()).all());
  }
}

/// The mass: every world's probability by paths of states and orthants of dense covariances.
class ThresholdedConformance : public GaussianConformance {
 protected:
  static double orthant(const HiddenChain& chain, Id step, Id state, unsigned bits) {
    const GaussianEmission& e = emission(chain, step);
    OrthantProblem problem;
    problem.mean = e.parameters().standard_mean.col(state);
    const Matrix covariance = e.covariance(state);
    const Vector inverse = covariance.diagonal().cwiseSqrt().cwiseInverse();
    problem.covariance = FullCovariance{inverse.asDiagonal() * covariance * inverse.asDiagonal()};
    for (Index j = 0; j < problem.mean.size(); ++j)
      problem.taken.push_back(bits >> j & 1);
    OrthantOptions options;
    options.estimator = OrthantEstimator::tilted;
    options.samples = 1024;
    return std::exp(estimate_orthant(problem, options, RandomStream(3)).log_probability);
  }
  /// By world: bit i of the number is bit i of the schema.
  static Vector world_probabilities(const HiddenChain& chain) {
    const Id steps = chain.step_count(), bits = periods * courses / steps;
    std::vector<RowMatrix> table;
    for (Id t = 0; t < steps; ++t) {
      RowMatrix& here = table.emplace_back(1 << bits, states);
      for (Index row = 0; row < here.rows(); ++row) {
        for (Id k = 0; k < states; ++k)
          here(row, k) = orthant(chain, t, k, static_cast<unsigned>(row));
      }
    }
    Vector result = Vector::Zero(1 << (periods * courses));
    for (Index world = 0; world < result.size(); ++world) {
      for (int code = 0; code < 1 << steps; ++code) {
        double weight = 1;
        for (Id t = 0; t < steps; ++t) {
          const Id k = code >> t & 1;
          weight *= t == 0 ? chain.parameters().prior.initial[k] : chain.transition(t - 1)(code >> (t - 1) & 1, k);
          weight *= table[static_cast<std::size_t>(t)](world >> (t * bits) & ((1 << bits) - 1), k);
        }
        result[world] += weight;
      }
    }
    return result;
  }
  static bool agrees(Index world, const EvidenceBatch& evidence, std::int64_t student) {
    for (Id bit = 0; bit < periods * courses; ++bit) {
      const Id t = bit / courses;
      const bool closed = evidence.presence(student, t) == Presence::present;
      const bool taken = std::ranges::count(evidence.taken(student, t), bit) > 0;
      const bool exception = std::ranges::count(evidence.exceptions(student, t), bit) > 0;
      if ((taken || exception != closed) && taken != ((world >> bit & 1) != 0)) return false;
    }
    return true;
  }
};

// Expectation propagation is within 0.02 here, factors or not.
TEST_P(ThresholdedConformance, MassAndExactMarginalsAgreeWithEnumeration) {
  const HiddenChain chain = model(9);
  const Vector worlds = world_probabilities(chain);
  EXPECT_NEAR(worlds.sum(), 1, 0.005);
  const EvidenceBatch known = evidence(chain, 25, 9);
  const Estimates found = chain.log_likelihood(known, LikelihoodKind::mass, compute_);
  EXPECT_FALSE(found.is_exact());
  const std::vector<Id> asked = {0, 2, 3, 7, 8};
  const Estimates marginals = chain.marginals(known, asked, compute_, Conditioning::exact);
  for (std::int64_t s = 0; s < 25; ++s) {
    double all = 0;
    Vector taken = Vector::Zero(5);
    for (Index world = 0; world < worlds.size(); ++world) {
      if (!agrees(world, known, s)) continue;
      all += worlds[world];
      for (std::size_t i = 0; i < asked.size(); ++i)
        taken[static_cast<Index>(i)] += (world >> asked[i] & 1) != 0 ? worlds[world] : 0;
    }
    EXPECT_NEAR(found.value(s, 0), std::log(all), 0.02) << s;
    EXPECT_LE(found.value(s, 0), 0);
    for (Index i = 0; i < 5; ++i)
      EXPECT_NEAR(marginals.value(s, i), taken[i] / all, 0.01 + 5 * marginals.standard_error(s, i)) << s;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, ThresholdedConformance,
                         testing::Values(Case{"gmm", "factor"}, Case{"gmm", "diagonal"}, Case{"hmm", "factor"},
                                         Case{"cmm", "factor"}, Case{"gmm", "full"}, Case{"gmm", "tied"},
                                         Case{"hmm", "full"}, Case{"cmm", "full"}));

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ModelEntry& entry : standard_catalog().models) {
    if (!entry.structure) continue;
    for (const char* shape : {"full", "tied", "diagonal", "factor"})
      cases.push_back({entry.name, shape});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Catalog, GaussianConformance, testing::ValuesIn(all_cases()),
                         [](const auto& the_case) { return the_case.param.model + "_" + the_case.param.shape; });

}  // namespace
}  // namespace desirepath
