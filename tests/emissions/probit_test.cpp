#include "desirepath/emissions/probit.h"

#include <cmath>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/probit_gaussian.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/probit_regression.h"

namespace desirepath::probit_test {
namespace {

RowMatrix normals(Index rows, Index columns, double scale, RandomStream stream) {
  RowMatrix values(rows, columns);
  for (Index i = 0; i < values.size(); ++i)
    values.data()[i] = scale * stream.normal();
  return values;
}

RowPool one_step_rows(const Cohort& cohort) {
  const std::vector<PeriodRange> steps = {{0, cohort.schema().period_count()}};
  return pool_rows(EvidenceBatch::of(cohort), steps);
}

/// log P of a row, straight from the definition and in logarithms throughout.
double log_probability(const ProbitEmission& emission, const StepRows& rows, std::int64_t row, Id state) {
  Vector logs = emission.nodes().log_weights;
  for (Id j = 0; j < emission.bit_count(); ++j) {
    if (rows.unknown(rows.pattern_of(row)).contains(j)) continue;
    const bool taken = std::ranges::binary_search(rows.taken(row), j);
    for (Index s = 0; s < logs.size(); ++s) {
      const double eta = emission.intercepts()(j, state) +
                         emission.slopes().row(state * emission.bit_count() + j).dot(emission.nodes().points.row(s));
      logs[s] += log_normal_cdf(taken ? eta : -eta);
    }
  }
  const double largest = logs.maxCoeff();
  return largest + std::log((logs.array() - largest).exp().sum());
}

TEST(ProbitNodes, HaveMeanZeroAndUnitCovariance) {
  for (const Index factors : {1, 2, 4, 6}) {
    const NodeSet nodes = factor_nodes(factors, 256);
    const Vector weights = nodes.log_weights.array().exp();
    EXPECT_NEAR(weights.sum(), 1, 1e-12);
    EXPECT_LT((weights.transpose() * nodes.points).norm(), 1e-12);
    const Matrix covariance = nodes.points.transpose() * weights.asDiagonal() * nodes.points;
    EXPECT_LT((covariance - Matrix::Identity(factors, factors)).norm(), 1e-12);
  }
}

TEST(ProbitEmission, ScoresAreRightWhereProductsWouldVanish) {
  const Cohort cohort =
      test::random_cohort({.students = 60, .courses = 200, .periods = 2, .taken = 0.3}, RandomStream(1));
  const RowPool pool = one_step_rows(cohort);
  for (const double scale : {0.3, 3.0}) {
    // At scale 3 the courses contradict each other at every node: products of their odds fall below any double.
    const ProbitEmission emission(normals(400, 2, scale, RandomStream(2)), normals(800, 3, scale, RandomStream(3)),
                                  factor_nodes(3, 64));
    const RowMatrix scores =
        emission.score(pool.rows, LikelihoodKind::mass, Precision::quick, Executor(2)).log_likelihood;
    for (std::int64_t row = 0; row < pool.rows.row_count(); ++row) {
      for (Id k = 0; k < 2; ++k) {
        const double expected = log_probability(emission, pool.rows, row, k);
        EXPECT_NEAR(scores(row, k), expected, 1e-11 * std::abs(expected));
      }
    }
    if (scale == 3.0) {
      EXPECT_LT(scores.minCoeff(), -500);
    }
  }
}

TEST(ProbitLearning, CountsAtNodesAreTheGradientOfTheLikelihood) {
  // Fisher's identity: the slope of sum_rows w log P in a course's coefficients is that of its regression on the
  // expected counts, here against finite differences; rows have unknown periods.
  const Cohort cohort =
      test::random_cohort({.students = 80, .courses = 3, .periods = 2, .unknown = 0.3}, RandomStream(5));
  const RowPool pool = one_step_rows(cohort);
  const RowMatrix intercepts = normals(6, 1, 0.7, RandomStream(6)), slopes = normals(6, 2, 0.8, RandomStream(7));
  const NodeSet nodes = factor_nodes(2, 64);
  RandomStream stream(8);
  Vector weights(pool.rows.row_count());
  for (double& weight : weights)
    weight = stream.uniform();
  const auto objective = [&](const RowMatrix& a, const RowMatrix& b) {
    const ProbitEmission emission(a, b, nodes);
    return weights.dot(
        emission.score(pool.rows, LikelihoodKind::mass, Precision::quick, Executor(1)).log_likelihood.col(0));
  };
  const ProbitEmission emission(intercepts, slopes, nodes);
  const NodeBitCounts counts = count_at_nodes(pool.rows, weights, emission.states().front(), Executor(2));
  const ProbitRegression regression(nodes.points);
  constexpr double h = 1e-5;
  for (Index j = 0; j < 6; ++j) {
    Vector coefficients(3);
    coefficients << intercepts(j, 0), slopes.row(j).transpose();
    const SlopePrior flat{Vector::Zero(2), 0};
    const Vector gradient =
        regression.at(coefficients, {{counts.taken.row(j).data(), 64}, {counts.not_taken.row(j).data(), 64}}, flat)
            .gradient;
    for (Index i = 0; i < 3; ++i) {
      RowMatrix up_a = intercepts, down_a = intercepts, up_b = slopes, down_b = slopes;
      (i == 0 ? up_a(j, 0) : up_b(j, i - 1)) += h;
      (i == 0 ? down_a(j, 0) : down_b(j, i - 1)) -= h;
      EXPECT_NEAR(gradient[i], (objective(up_a, up_b) - objective(down_a, down_b)) / (2 * h), 1e-6);
    }
  }
}

TEST(ProbitLearning, CountsDoNotMindLostProducts) {
  const Cohort cohort =
      test::random_cohort({.students = 40, .courses = 200, .periods = 2, .taken = 0.3}, RandomStream(1));
  const RowPool pool = one_step_rows(cohort);
  const ProbitEmission emission(normals(400, 1, 3, RandomStream(2)), normals(400, 3, 3, RandomStream(3)),
                                factor_nodes(3, 64));
  const Vector weights = Vector::Ones(pool.rows.row_count());
  const NodeBitCounts counts = count_at_nodes(pool.rows, weights, emission.states().front(), Executor(2));
  // Every student is somewhere: summed over the nodes, the counts are those of the rows.
  for (Id bit = 0; bit < 400; ++bit) {
    double taken = 0, known = 0;
    for (std::int64_t row = 0; row < pool.rows.row_count(); ++row) {
      taken += std::ranges::binary_search(pool.rows.taken(row), bit) ? 1 : 0;
      known += pool.rows.unknown(pool.rows.pattern_of(row)).contains(bit) ? 0 : 1;
    }
    EXPECT_NEAR(counts.taken.row(bit).sum(), taken, 1e-9);
    EXPECT_NEAR(counts.not_taken.row(bit).sum(), known - taken, 1e-9);
  }
}

/// Students of one state whose courses depend on each other by two factors, drawn from the normal distribution itself.
Cohort factor_cohort(std::int64_t students, const Vector& intercepts, const RowMatrix& slopes, Id periods,
                     RandomStream stream) {
  test::CohortMaker made(static_cast<Id>(intercepts.size()) / periods, periods);
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    Vector factors(slopes.cols());
    for (double& factor : factors)
      factor = stream.normal();
    for (Id bit = 0; bit < intercepts.size(); ++bit) {
      if (stream.normal() < intercepts[bit] + slopes.row(bit).dot(factors)) made.take(bit);
    }
  }
  return made.build();
}

FitOptions probit_options(const std::string& choice, Id states, Id factors) {
  FitOptions options(choice);
  return options.set("states", states).set("restarts", 1).set("covariance", "factor:" + std::to_string(factors));
}

TEST(ProbitLearning, FindsSimulatedLoadingsUpToRotation) {
  const Index bits = 30;
  const RowMatrix slopes = normals(bits, 2, 0.8, RandomStream(11));
  const Vector intercepts = normals(bits, 1, 0.5, RandomStream(12)).col(0).array() - 1;
  const Cohort cohort = factor_cohort(6000, intercepts, slopes, 1, RandomStream(13));
  FitOptions options = probit_options("nb+probit", 1, 2);
  options.set("iterations", 200);
  options.set("tolerance", 1e-8);
  const FitResult fit = test::fit(cohort, options);
  const auto& found = dynamic_cast<const ProbitEmission&>(*test::chain_of(fit).parameters().emissions.front());
  // A rotation leaves the covariance as it is. A latent correlation from 6,000 students has a standard error of 0.02 to
  // 0.05 (rare courses), all of them together a root mean square of at most 0.03.
  const auto correlation = [&](const RowMatrix& loadings) {
    Matrix covariance = loadings * loadings.transpose();
    covariance.diagonal().array() += 1;
    const Vector deviation = covariance.diagonal().cwiseSqrt();
    return Matrix((covariance.array() / (deviation * deviation.transpose()).array()).matrix());
  };
  const Matrix error = correlation(found.slopes()) - correlation(slopes);
  EXPECT_LT(error.norm() / std::sqrt(static_cast<double>(bits * (bits - 1))), 0.03);
  const Vector share_error =
      found.bit_probabilities().col(0) - (intercepts.array() / (1 + slopes.rowwise().squaredNorm().array()).sqrt())
                                             .unaryExpr([](double t) { return normal_cdf(t); })
                                             .matrix();
  EXPECT_LT(share_error.cwiseAbs().maxCoeff(), 0.025);  // four standard errors of a share
}

TEST(ProbitLearning, TheObjectiveNeverFalls) {
  const Cohort cohort =
      factor_cohort(400, Vector::Constant(24, -1.5), normals(24, 3, 1, RandomStream(21)), 2, RandomStream(22));
  for (const char* choice : {"nb+probit", "cmm+probit", "hmm+probit"}) {
    for (const double correlation : {0.0, 0.95}) {
      FitOptions options = probit_options(choice, 3, 3);
      options.set("iterations", 80);
      options.set("tolerance", 0.0);
      options.set("slope-correlation", correlation);
      options.set("start", "kmeans");                    // from where there is a way to climb
      const FitResult fit = test::fit(cohort, options);  // throws when it falls
      EXPECT_GT(fit.objective_trace.back(), fit.objective_trace.front() + 10) << choice;
    }
  }
}

TEST(ProbitLearning, MarginalsAreExactAfterTheFit) {
  const Cohort cohort = test::random_cohort({.students = 500, .courses = 6, .periods = 3, .taken = 0.2, .unknown = 0.2},
                                            RandomStream(31));
  for (const char* choice : {"nb+probit", "cmm+probit"}) {
    FitOptions options = probit_options(choice, 1, 2);
    options.set("iterations", 15);
    const FitResult calibrated = test::fit(cohort, options);
    options.set("calibrate", "none");
    const FitResult plain = test::fit(cohort, options);
    EXPECT_EQ(plain.log_likelihood, plain.trace.back());
    // One state: its shares are those of the students present, smoothed by a tenth of a student.
    const RowMatrix& shares = test::chain_of(calibrated).course_probabilities(1);
    for (Id course = 0; course < 6; ++course) {
      double taken = 0, present = 0;
      const EvidenceBatch evidence = EvidenceBatch::of(cohort);
      for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
        if (evidence.is_unknown(s, 1)) continue;
        ++present;
        taken += std::ranges::binary_search(evidence.taken(s, 1), 6 + course) ? 1 : 0;
      }
      EXPECT_NEAR(shares(course, 0), (taken + 0.1) / (present + 0.2), 1e-10);
    }
    // What is reported belongs to the parameters returned.
    const RowMatrix scores =
        calibrated.model->log_likelihood(EvidenceBatch::of(cohort), LikelihoodKind::mass, Executor(1)).value;
    EXPECT_NEAR(scores.sum(), calibrated.log_likelihood, 1e-9 * std::abs(calibrated.log_likelihood));
  }
}

// The truth for the normal distribution itself: the same parameters on so many nodes that they stand for it.
class ProbitGaussian : public testing::Test {
 protected:
  ProbitGaussian()
      : cohort_(test::random_cohort({.students = 150, .courses = 6, .periods = 2, .taken = 0.3, .unknown = 0.4},
                                    RandomStream(41))),
        pool_(one_step_rows(cohort_)) {}
  const RowMatrix intercepts_ = normals(12, 2, 0.8, RandomStream(42)), slopes_ = normals(24, 2, 0.8, RandomStream(43));
  const ProbitGaussianEmission gaussian_{intercepts_, slopes_};
  const ProbitEmission dense_{intercepts_, slopes_, factor_nodes(2, 8192)};
  const Cohort cohort_;
  const RowPool pool_;
  const Executor executor_{2};
};

TEST_F(ProbitGaussian, ScoresAreThoseOfDenseNodes) {
  const RowMatrix found = gaussian_.score(pool_.rows, LikelihoodKind::mass, Precision::quick, executor_).log_likelihood;
  const RowMatrix truth = dense_.score(pool_.rows, LikelihoodKind::mass, Precision::quick, executor_).log_likelihood;
  EXPECT_LT((found - truth).cwiseAbs().maxCoeff(), 0.01);  // the bias of corrected expectation propagation
  EXPECT_LT((gaussian_.bit_probabilities() - dense_.bit_probabilities()).cwiseAbs().maxCoeff(), 1e-3);
}

TEST_F(ProbitGaussian, MarginalsAndDrawsAreThoseOfDenseNodes) {
  std::vector<Id> asked(12);
  for (Id bit = 0; bit < 12; ++bit)
    asked[static_cast<std::size_t>(bit)] = bit;
  int tried = 0;
  for (std::int64_t row = 0; row < pool_.rows.row_count() && tried < 5; ++row) {
    const UnknownBits& unknown = pool_.rows.unknown(pool_.rows.pattern_of(row));
    if (unknown.bits.empty()) continue;
    ++tried;
    RowMatrix found(2, 12), truth(2, 12);
    const auto given = gaussian_.given(unknown);
    given->marginals(pool_.rows.taken(row), asked, found);
    dense_.given(unknown)->marginals(pool_.rows.taken(row), asked, truth);
    EXPECT_LT((found - truth).cwiseAbs().maxCoeff(), 0.01);
    constexpr int draws = 2000;
    Vector count = Vector::Zero(12);
    std::vector<Id> drawn;
    for (int d = 0; d < draws; ++d) {
      RandomStream stream = RandomStream(44).child(static_cast<std::uint64_t>(d));
      given->complete(pool_.rows.taken(row), 1, stream, drawn);
      for (const Id bit : drawn)
        ++count[bit];
    }
    // Four and a half standard errors: 60 shares fail by chance once in 2,500 times; the seed is fixed.
    for (Index bit = 0; bit < 12; ++bit) {
      const double p = truth(1, bit);
      EXPECT_NEAR(count[bit] / draws, p, 4.5 * std::sqrt(p * (1 - p) / draws) + 0.01);
    }
  }
  EXPECT_EQ(tried, 5);
}

TEST_F(ProbitGaussian, ManyFactorsEndUnderTheNormalDistribution) {
  FitOptions options = probit_options("cmm+probit", 2, 7);
  const Cohort cohort =
      factor_cohort(300, Vector::Constant(40, -1), normals(40, 3, 1, RandomStream(51)), 2, RandomStream(52));
  options.set("iterations", 10);
  const FitResult fit = fit_model(cohort, options, {executor_});
  const Emission& emission = *test::chain_of(fit).parameters().emissions.front();
  ASSERT_NE(dynamic_cast<const ProbitGaussianEmission*>(&emission), nullptr);
  const EvidenceBatch evidence = EvidenceBatch::of(cohort);
  const RowMatrix scores = fit.model->log_likelihood(evidence, LikelihoodKind::mass, executor_).value;
  EXPECT_NEAR(scores.sum(), fit.log_likelihood, 1e-9 * std::abs(fit.log_likelihood));
  ArchiveWriter writer("model");
  emission.save(writer, "e");
  const auto loaded = ProbitEmission::load(ArchiveReader::from_bytes(writer.bytes(), "file"), "e");
  EXPECT_EQ(loaded->bit_probabilities(), emission.bit_probabilities());
  EXPECT_EQ(loaded->parameter_count(), emission.parameter_count());
  // A warm start goes back to the nodes and climbs on.
  TrainingContext context{executor_};
  context.warm = fit.model.get();
  const FitResult warm = fit_model(cohort, options, context);
  EXPECT_GT(warm.objective_trace.back(), warm.objective_trace.front());
}

TEST(ProbitLearning, RefusesWhatItCannotDo) {
  const auto refusal = [](auto change) {
    ProbitOptions options;
    change(options);
    return test::message_of<OptionError>([&] { ProbitLearner learner(options); });
  };
  EXPECT_TRUE(test::says(refusal([](ProbitOptions& o) { o.covariance.factors = 17; }), {"1", "16"}));
  EXPECT_TRUE(test::says(refusal([](ProbitOptions& o) { o.covariance.factors = 0; }), {"1", "16"}));
  EXPECT_TRUE(test::says(refusal([](ProbitOptions& o) { o.nodes = 100; }), {"--nodes", "32"}));
  EXPECT_TRUE(test::says(refusal([](ProbitOptions& o) { o.slope_correlation = 1; }), {"--slope-correlation", "1"}));
  FitOptions fit("cmm+probit");
  EXPECT_TRUE(
      test::says(test::message_of<OptionError>([&] { fit.set("slope-variance", 0.0); }), {"--slope-variance", "0"}));
}

}  // namespace
}  // namespace desirepath::probit_test
