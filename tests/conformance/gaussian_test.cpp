// Gaussian emissions in every time structure and covariance shape, on few bits, against dense formulas of the marginal
// and conditional normal distribution.
#include "desirepath/emissions/gaussian.h"

#include <cmath>
#include <functional>
#include <numbers>

#include <Eigen/Dense>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/models/catalog.h"
#include "desirepath/models/model_file.h"
#include "desirepath/probability/bivariate_normal.h"
#include "desirepath/probability/orthant.h"

namespace desirepath::gaussian_conformance_test {
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
  /// P(the known bits in a state): the orthant of the dense correlations.
  static double mass(const HiddenChain& chain, Id step, Id state, const Step& given) {
    if (given.known.empty()) return 1;
    const GaussianEmission& e = emission(chain, step);
    OrthantProblem problem;
    problem.mean = Vector(e.parameters().standard_mean.col(state)(given.known));
    const Matrix covariance = e.covariance(state)(given.known, given.known);
    const Vector inverse = covariance.diagonal().cwiseSqrt().cwiseInverse();
    problem.covariance = FullCovariance{inverse.asDiagonal() * covariance * inverse.asDiagonal()};
    for (Index i = 0; i < given.x.size(); ++i)
      problem.taken.push_back(given.x[i] > 0 ? 1 : 0);
    OrthantOptions options;
    options.estimator = OrthantEstimator::tilted;
    options.samples = 1024;
    return std::exp(estimate_orthant(problem, options, RandomStream(3)).log_probability);
  }
  using Likelihood = double(const HiddenChain&, Id step, Id state, const Step&);
  /// Every path of states: weight, and the posterior of each (step, state).
  static double enumerate(const HiddenChain& chain, const EvidenceBatch& evidence, std::int64_t student,
                          Likelihood& likelihood, RowMatrix* posterior) {
    const Id steps = chain.step_count();
    double total = 0;
    if (posterior != nullptr) posterior->setZero(steps, states);
    for (int code = 0; code < 1 << steps; ++code) {
      double weight = 1;
      for (Id t = 0; t < steps; ++t) {
        const Id k = code >> t & 1;
        weight *= t == 0 ? chain.parameters().prior.initial[k] : chain.transition(t - 1)(code >> (t - 1) & 1, k);
        weight *= likelihood(chain, t, k, read(chain, evidence, student, t));
      }
      total += weight;
      for (Id t = 0; posterior != nullptr && t < steps; ++t)
        (*posterior)(t, code >> t & 1) += weight;
    }
    if (posterior != nullptr) *posterior /= total;
    return total;
  }
  /// xbar of unknown bits given the known ones in a state: linear conditioning, the calibrated mean as the origin.
  static std::pair<Vector, Matrix> conditional(const HiddenChain& chain, Id step, Id state, const Step& given,
                                               const std::vector<Index>& bits) {
    const GaussianEmission& e = emission(chain, step);
    const Matrix s = e.covariance(state);
    Vector mean =
        Vector(e.parameters().standard_mean.col(state)(bits)).cwiseProduct(Vector(s.diagonal()(bits)).cwiseSqrt());
    Matrix covariance = s(bits, bits);
    if (!given.known.empty()) {
      const Matrix gain = s(bits, given.known) * Matrix(s(given.known, given.known)).inverse();
      mean += gain * (given.x - Vector(e.parameters().mean.col(state)(given.known)));
      covariance -= gain * s(given.known, bits);
    }
    return {mean, covariance};
  }
  static double marginal(const HiddenChain& chain, Id step, Id state, const Step& given, Index local) {
    const auto at = std::ranges::find(given.known, local);
    if (at != given.known.end()) return given.x[at - given.known.begin()] > 0 ? 1 : 0;
    const auto [mean, variance] = conditional(chain, step, state, given, {local});
    return phi(mean[0] / std::sqrt(variance(0, 0)));
  }
  /// P(two unknown bits both taken).
  static double pair(const HiddenChain& chain, Id step, Id state, const Step& given, Index a, Index b) {
    const auto [mean, covariance] = conditional(chain, step, state, given, {a, b});
    const double first = std::sqrt(covariance(0, 0)), second = std::sqrt(covariance(1, 1));
    return bivariate_normal_cdf(mean[0] / first, mean[1] / second, covariance(0, 1) / (first * second));
  }
  static EvidenceBatch evidence(const HiddenChain& chain, std::int64_t students, std::uint64_t seed) {
    return test::random_evidence(chain.schema(), students, false, RandomStream(seed).child("evidence"));
  }
  Executor executor_{2};
};

TEST_P(GaussianConformance, DensityOfPartialEvidenceIsTheDenseOne) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const HiddenChain chain = model(seed);
    // Few students make patterns of few rows, many make tables of pairs: two ways to the same number.
    const EvidenceBatch known = evidence(chain, seed < 3 ? 40 : 3000, seed);
    const Estimates found = chain.log_likelihood(known, LikelihoodKind::density, executor_);
    EXPECT_TRUE(found.is_exact());
    for (std::int64_t s = 0; s < 40; ++s) {
      const double expected = std::log(enumerate(chain, known, s, density, nullptr));
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
  const Estimates found = chain.marginals(known, asked, executor_);
  const RowMatrix posterior = chain.posterior(known, executor_);
  for (std::int64_t s = 0; s < 30; ++s) {
    for (Id step = 0; step < chain.step_count(); ++step) {
      const Step given = read(chain, known, s, step);
      const PeriodRange range = chain.step_periods(step);
      for (Id bit = range.first * courses; bit < range.last * courses; ++bit) {
        double expected = 0;
        for (Id k = 0; k < states; ++k)
          expected += posterior(s, step * states + k) * marginal(chain, step, k, given, bit - range.first * courses);
        EXPECT_NEAR(found.value(s, bit), expected, 1e-10);
      }
    }
  }
}

// The density is far too sharp for that: a state's mean explains -1/+1 to the last digit or not at all.
TEST_P(GaussianConformance, StatesAreWeighedByMass) {
  const HiddenChain chain = model(5);
  const EvidenceBatch known = evidence(chain, 30, 5);
  const RowMatrix found = chain.posterior(known, executor_);
  double apart = 0;
  for (std::int64_t s = 0; s < 30; ++s) {
    RowMatrix by_mass, by_density;
    enumerate(chain, known, s, mass, &by_mass);
    enumerate(chain, known, s, density, &by_density);
    for (Id step = 0; step < chain.step_count(); ++step) {
      for (Id k = 0; k < states; ++k)
        EXPECT_NEAR(found(s, step * states + k), by_mass(step, k), 0.01) << s;
    }
    apart = std::max(apart, (by_mass - by_density).cwiseAbs().maxCoeff());
  }
  EXPECT_GT(apart, 0.1);
}

// Each bit's and each pair's share over 6,000 completions against dense formulas: beyond 4.5 standard errors once in
// 150,000 times; some 1,500 of them.
TEST_P(GaussianConformance, CompletionsHaveTheMarginalsAndPairs) {
  const HiddenChain chain = model(6);
  const EvidenceBatch known = evidence(chain, 6, 6);
  const Id bits = chain.schema().bit_count();
  constexpr int draws = 3000;
  std::vector<Matrix> counts(6, Matrix::Zero(bits, bits));
  for (int d = 0; d < draws; ++d) {
    const EvidenceBatch completed =
        chain.complete(known, RandomStream(10).child(static_cast<std::uint64_t>(d)), executor_);
    for (std::int64_t s = 0; s < 6; ++s) {
      std::vector<Index> taken;
      for (Id t = 0; t < periods; ++t) {
        for (const Id bit : completed.taken(s, t))
          taken.push_back(bit);
      }
      counts[static_cast<std::size_t>(s)](taken, taken).array() += 1;
    }
  }
  const RowMatrix posterior = chain.posterior(known, executor_);
  int pairs = 0;
  for (std::int64_t s = 0; s < 6; ++s) {
    for (Id step = 0; step < chain.step_count(); ++step) {
      const Step given = read(chain, known, s, step);
      const Index first = chain.step_periods(step).first * courses;
      const auto check = [&](Index a, Index b, const std::function<double(Id)>& share) {
        double p = 0;
        for (Id k = 0; k < states; ++k)
          p += posterior(s, step * states + k) * share(k);
        EXPECT_NEAR(counts[static_cast<std::size_t>(s)](first + a, first + b) / draws, p,
                    4.5 * std::sqrt(p * (1 - p) / draws) + 1e-12)
            << s << ": " << a << ", " << b;
      };
      for (const Index a : given.known)
        check(a, a, [&](Id k) { return marginal(chain, step, k, given, a); });
      for (const Index a : given.unknown) {
        check(a, a, [&](Id k) { return marginal(chain, step, k, given, a); });
        for (const Index b : given.unknown) {
          if (a >= b) continue;
          check(a, b, [&](Id k) { return pair(chain, step, k, given, a, b); });
          ++pairs;
        }
      }
    }
  }
  EXPECT_GT(pairs, 10);
}

TEST_P(GaussianConformance, ComesBackFromItsFile) {
  const HiddenChain chain = model(7);
  const std::vector<std::byte> bytes = test::bytes_of_model(chain);
  const StoredModel loaded = load_model(ArchiveReader::from_bytes(bytes, "file"));
  const EvidenceBatch known = evidence(chain, 30, 7);
  EXPECT_TRUE((chain.log_likelihood(known, LikelihoodKind::density, executor_).value.array() ==
               loaded.model->log_likelihood(known, LikelihoodKind::density, executor_).value.array())
                  .all());
  EXPECT_EQ(test::bytes_of_model(*loaded.model), bytes);
  EXPECT_EQ(loaded.model->parameter_count(), chain.parameter_count());
}

TEST_P(GaussianConformance, ThreadsDoNotChangeABit) {
  const HiddenChain chain = model(8);
  const EvidenceBatch known = evidence(chain, 3000, 8);
  const std::vector<Id> asked = {0, 4, 8};
  const Executor one(1);
  const RowMatrix likelihood = chain.log_likelihood(known, LikelihoodKind::density, one).value;
  const RowMatrix marginals = chain.marginals(known, asked, one).value;
  const EvidenceBatch completed = chain.complete(known, RandomStream(9), one);
  for (const int threads : {2, 3, 7}) {
    const Executor many(threads);
    EXPECT_TRUE(test::same_students(chain.complete(known, RandomStream(9), many), completed));
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
  const Estimates found = chain.log_likelihood(known, LikelihoodKind::mass, executor_);
  EXPECT_FALSE(found.is_exact());
  const std::vector<Id> asked = {0, 2, 3, 7, 8};
  const Estimates marginals = chain.marginals(known, asked, executor_, Conditioning::exact);
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

std::unique_ptr<GaussianEmission> dense_emission(const RowMatrix& standard_mean, const Matrix& covariance) {
  GaussianParameters parameters;
  parameters.mean = parameters.standard_mean = standard_mean;
  parameters.cholesky.assign(static_cast<std::size_t>(standard_mean.cols()), covariance.llt().matrixL());
  return std::make_unique<GaussianEmission>(std::move(parameters));
}

EvidenceBatch present_students(const Schema& schema, const std::vector<Id>& taken, const std::vector<Id>& unknown) {
  BinaryMatrixBuilder known(schema.bit_count()), exceptions(schema.bit_count());
  for (Id t = 0; t < schema.period_count(); ++t) {
    for (Id bit = schema.bit(t, 0); bit < schema.bit(t, 0) + schema.course_count(); ++bit) {
      if (std::ranges::count(taken, bit) > 0) known.add(bit);
      if (std::ranges::count(unknown, bit) > 0) exceptions.add(bit);
    }
    known.finish_row();
    exceptions.finish_row();
  }
  return {schema.period_count(),
          schema.course_count(),
          {"s"},
          std::vector<Presence>(static_cast<std::size_t>(schema.period_count()), Presence::present),
          std::move(known).build(),
          std::move(exceptions).build()};
}

// Within each state the third course is known to the last digit, for it depends on nothing; which state it is, is not.
TEST(GaussianErrors, ExactAnswersCarryTheErrorOfTheStates) {
  RowMatrix mean(3, 2);
  mean << -0.5, 0.6, 0.3, -0.4, -2, 1.5;
  Matrix covariance = Matrix::Identity(3, 3);
  covariance(0, 1) = covariance(1, 0) = 0.7;
  ChainParameters parameters;
  parameters.prior.initial = Vector::Constant(2, 0.5);
  parameters.emissions.push_back(dense_emission(mean, covariance));
  const HiddenChain chain({"gmm", "gaussian", true, TimeStructure::one_step, test::small_schema(3, 1)},
                          std::move(parameters));
  const std::vector<Id> asked = {2};
  const Estimates found =
      chain.marginals(present_students(chain.schema(), {0}, {2}), asked, Executor(1), Conditioning::exact);
  double weight[2], sum = 0;
  for (Index k = 0; k < 2; ++k)
    sum += weight[k] = phi(mean(0, k)) - bivariate_normal_cdf(mean(0, k), mean(1, k), 0.7);
  const double expected = (weight[0] * phi(-2) + weight[1] * phi(1.5)) / sum;
  EXPECT_GT(found.standard_error(0, 0), 1e-5);
  EXPECT_LT(found.standard_error(0, 0), 0.02);
  EXPECT_NEAR(found.value(0, 0), expected, found.standard_error(0, 0) + 1e-9);
}

// What a fit of few factors is off by on some rows widens the error of each.
TEST(GaussianErrors, OfAFitHoldWhatItLacks) {
  const RowMatrix mean = RowMatrix::Constant(8, 1, -0.4);
  Matrix covariance = Matrix::Constant(8, 8, -0.135);  // all exclude each other: no factor model
  covariance.diagonal().setOnes();
  ChainParameters parameters;
  parameters.prior.initial = Vector::Ones(1);
  parameters.emissions.push_back(dense_emission(mean, covariance));
  const HiddenChain chain({"gmm", "gaussian", true, TimeStructure::one_step, test::small_schema(8, 1)},
                          std::move(parameters));
  const EvidenceBatch known = present_students(chain.schema(), {0, 1, 2}, {});
  const auto scored = [&](Precision precision) {
    return chain.log_likelihood(known, LikelihoodKind::mass, Executor(1), precision);
  };
  const Estimates whole = scored(Precision::quick), fitted = scored(Precision::fitted);
  const double off = std::abs(whole.value(0, 0) - fitted.value(0, 0));
  EXPECT_GT(off, whole.standard_error(0, 0));
  EXPECT_GE(fitted.standard_error(0, 0), off - 1e-9);
}

// Steps are scored by the same approximation: what one is off by, the next is too.
TEST(GaussianErrors, OfStepsAddUp) {
  RowMatrix mean(3, 1);
  mean << -0.5, 0.3, 0.1;
  Matrix covariance = Matrix::Constant(3, 3, 0.6);
  covariance.diagonal().setOnes();
  ChainParameters parameters;
  parameters.prior.initial = Vector::Ones(1);
  parameters.prior.transitions.assign(2, Matrix::Ones(1, 1));
  parameters.emissions.push_back(dense_emission(mean, covariance));
  const HiddenChain chain({"hmm", "gaussian", true, TimeStructure::tied, test::small_schema(3, 3)},
                          std::move(parameters));
  const auto error = [&](const EvidenceBatch& evidence) {
    return chain.log_likelihood(evidence, LikelihoodKind::mass, Executor(1)).standard_error(0, 0);
  };
  const EvidenceBatch all = present_students(chain.schema(), {0, 3, 6}, {});
  const double one = error(all.without_periods(std::vector<Id>{1, 2}));
  EXPECT_GT(one, 0);
  EXPECT_NEAR(error(all), 3 * one, 1e-12);
}

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
}  // namespace desirepath::gaussian_conformance_test
