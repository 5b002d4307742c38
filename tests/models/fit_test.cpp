#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <regex>

#include <Eigen/Cholesky>

#include "support/emission_steps.h"
#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/stopped_fits.h"
#include "support/support.h"
#include "support/textbook_em.h"
#include "support/weighted_twice.h"
#include "support/worlds.h"

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/gaussian.h"
#include "desirepath/models/model_file.h"
#include "desirepath/models/training.h"

namespace desirepath::fit_test {
namespace {

/// Labels of every (student, period), soft, drawn.
std::vector<LabelRow> random_labels(const Cohort& cohort, Id states, RandomStream stream) {
  std::vector<LabelRow> rows;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (const std::string& period : cohort.schema().periods()) {
      for (Id k = 0; k < states; ++k)
        rows.push_back({cohort.students()[static_cast<std::size_t>(s)], period, k, 0.05 + stream.uniform(), 0});
    }
  }
  return rows;
}

/// The same labels as the textbook takes them: (student, step) by states.
RowMatrix label_matrix(const Cohort& cohort, const std::vector<LabelRow>& rows, Id states, bool one_step) {
  const Id periods = cohort.schema().period_count(), steps = one_step ? 1 : periods;
  RowMatrix labels(cohort.student_count() * steps, states);
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < steps; ++t) {
      for (Id k = 0; k < states; ++k)
        labels(s * steps + t, k) = rows[static_cast<std::size_t>((s * periods + t) * states + k)].weight;
      labels.row(s * steps + t) /= labels.row(s * steps + t).sum();
    }
  }
  return labels;
}

FitOptions options_for(const std::string& choice, Id states) {
  FitOptions options(choice);
  return options.set("states", states).set("restarts", 1).set("iterations", 20).set("tolerance", 0.0);
}

void expect_equal_traces(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-9 * std::abs(expected[i])) << "iteration " << i;
}

struct TraceCase {
  std::string choice;
  bool shared_tree;
  double unknown;
};

class TextbookTrace : public testing::TestWithParam<TraceCase> {};

TEST_P(TextbookTrace, IsMatchedOverTwentyIterations) {
  const TraceCase& param = GetParam();
  const Cohort cohort = test::random_cohort(
      {.students = 70, .courses = 4, .periods = 3, .taken = 0.35, .unknown = param.unknown}, RandomStream(11));
  FitOptions options = options_for(param.choice, 3);
  options.set("pseudocount", 0.3).set("state-pseudocount", 0.2);
  if (options.choice().emission->name == "tree") options.set("tree", param.shared_tree ? "shared" : "per-state");
  const Executor executor(2);
  TrainingContext context{executor};
  context.labels = random_labels(cohort, 3, RandomStream(12));
  const FitResult fit = fit_model(cohort, options, context);
  test::TextbookOptions textbook;
  textbook.structure = test::chain_of(fit).identity().structure;
  textbook.family = fit.emission;
  textbook.shared_tree = param.shared_tree;
  textbook.states = 3;
  textbook.pseudocount = 0.3;
  textbook.state_pseudocount = 0.2;
  const bool one_step = textbook.structure == TimeStructure::one_step;
  expect_equal_traces(fit.trace,
                      test::textbook_trace(cohort, label_matrix(cohort, context.labels, 3, one_step), textbook));
  EXPECT_EQ(fit.log_likelihood, fit.trace.back());
}

INSTANTIATE_TEST_SUITE_P(Models, TextbookTrace,
                         testing::Values(TraceCase{"nb", true, 0}, TraceCase{"nb", true, 0.3},
                                         TraceCase{"tan", true, 0}, TraceCase{"tan", false, 0},
                                         TraceCase{"hmm", true, 0}, TraceCase{"hmm", true, 0.3},
                                         TraceCase{"cmm+bernoulli", true, 0}, TraceCase{"cmm+bernoulli", true, 0.3},
                                         TraceCase{"hmm+tree", true, 0.3}, TraceCase{"cmm+tree", true, 0.3},
                                         TraceCase{"cmm+tree", false, 0.2}));

struct GaussianCase {
  std::string choice, covariance;
  double unknown;
  double prior, ridge;
  double taken;  // near 0 many courses hardly vary
};

class GaussianTrace : public testing::TestWithParam<GaussianCase> {};

TEST_P(GaussianTrace, IsMatchedOverTwentyIterations) {
  const GaussianCase& param = GetParam();
  const Cohort cohort = test::random_cohort(
      {.students = 70, .courses = 4, .periods = 3, .taken = param.taken, .unknown = param.unknown}, RandomStream(13));
  FitOptions options = options_for(param.choice, 3);
  options.set("covariance", param.covariance).set("ridge", param.ridge).set("state-pseudocount", 0.2);
  if (param.ridge == 0) options.set("covariance-prior", param.prior);
  const Executor executor(2);
  TrainingContext context{executor};
  context.labels = random_labels(cohort, 3, RandomStream(14));
  const FitResult fit = fit_model(cohort, options, context);
  test::TextbookOptions textbook;
  textbook.structure = test::chain_of(fit).identity().structure;
  textbook.family = "gaussian";
  textbook.covariance = param.covariance;
  textbook.covariance_prior = param.prior;
  textbook.ridge = param.ridge;
  textbook.states = 3;
  textbook.state_pseudocount = 0.2;
  const bool one_step = textbook.structure == TimeStructure::one_step;
  expect_equal_traces(fit.trace,
                      test::textbook_trace(cohort, label_matrix(cohort, context.labels, 3, one_step), textbook));
  EXPECT_EQ(fit.kind, LikelihoodKind::density);
  // The model that comes back is the iterate it is said to be: its own density, not what the trace noted.
  const double own = fit.model->log_likelihood(EvidenceBatch::of(cohort), fit.kind, executor).value.sum();
  EXPECT_NEAR(own, fit.trace[static_cast<std::size_t>(fit.best_iteration)], 1e-9 * std::abs(own));
  EXPECT_EQ(fit.log_likelihood, fit.trace[static_cast<std::size_t>(fit.best_iteration)]);
}

TEST(Fit, TheBestIterateOfAnInexactClimbComesBack) {
  // The additive ridge is no exact M step: with this much of it the objective falls after its peak.
  const Cohort cohort = test::random_cohort({.students = 70, .courses = 4, .periods = 3, .taken = 0.35, .unknown = 0.3},
                                            RandomStream(13));
  FitOptions options = options_for("gmm", 3);
  options.set("covariance", "full").set("ridge", 0.3).set("iterations", 40);
  const FitResult fit = test::fit(cohort, options);
  const auto best = static_cast<std::size_t>(fit.best_iteration);
  ASSERT_LT(best + 1, fit.trace.size());
  const double own = fit.model->log_likelihood(EvidenceBatch::of(cohort), fit.kind, Executor(2)).value.sum();
  EXPECT_NEAR(own, fit.trace[best], 1e-9 * std::abs(own));
  EXPECT_GT(std::abs(own - fit.trace.back()), 1e-6 * std::abs(own));
}

INSTANTIATE_TEST_SUITE_P(
    Models, GaussianTrace,
    testing::Values(GaussianCase{"gmm", "full", 0, 5, 0, 0.35}, GaussianCase{"gmm", "full", 0.3, 5, 0, 0.35},
                    GaussianCase{"gmm", "full", 0, 0, 1e-6, 0.35}, GaussianCase{"gmm", "full", 0.3, 0, 1e-3, 0.35},
                    GaussianCase{"cmm", "full", 0.3, 5, 0, 0.35}, GaussianCase{"cmm", "full", 0, 0, 1e-6, 0.02},
                    GaussianCase{"cmm", "full", 0, 1, 0, 0.97}, GaussianCase{"hmm+gaussian", "full", 0.3, 3, 0, 0.35},
                    GaussianCase{"gmm", "tied", 0.3, 2, 0, 0.35}, GaussianCase{"cmm", "tied", 0, 0, 1e-6, 0.2},
                    GaussianCase{"gmm", "diagonal", 0.3, 2, 0, 0.35}, GaussianCase{"cmm", "diagonal", 0, 0, 1e-6, 0.2},
                    GaussianCase{"gmm", "factor:2", 0, 2, 0, 0.35}, GaussianCase{"gmm", "factor:2", 0.3, 2, 0, 0.35},
                    GaussianCase{"cmm", "factor:1", 0.3, 1, 0, 0.2}));

TEST(Fit, WeightTwoIsTheRowTwice) {
  const Cohort once =
      test::random_cohort({.students = 40, .courses = 5, .periods = 2, .unknown = 0.1}, RandomStream(31));
  const auto [with_weights, with_copies, doubled] = test::weighted_twice(once, 3);
  for (const char* choice : {"nb", "tan", "hmm", "cmm+tree", "gmm", "cmm", "cmm+probit"}) {
    FitOptions options = options_for(choice, 2);
    const Executor executor(1);
    TrainingContext context{executor}, copies{executor};
    context.labels = random_labels(with_weights, 2, RandomStream(32));
    for (std::size_t i = 0; i < doubled.size(); ++i) {
      for (Id r = 0; r < 2 * 2; ++r) {
        LabelRow row = context.labels[static_cast<std::size_t>(doubled[i] * 4 + r)];
        row.student = with_copies.students()[i];
        copies.labels.push_back(row);
      }
    }
    const FitResult b = fit_model(with_copies, options, copies);
    const FitResult a = fit_model(with_weights, options.set("weights", "weight"), context);
    EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-10 * std::abs(b.log_likelihood)) << choice;
    // Probit's regressions stop within a tolerance, so rounding may take one step more or less.
    EXPECT_NEAR(a.state_entropy, b.state_entropy, 1e-9 * (1 + b.state_entropy)) << choice;
    EXPECT_EQ(a.student_weight, b.student_weight);
  }
}

TEST(Fit, ConvergenceIsJudgedPerStudent) {
  // The same students five times climb by the same steps, each five times as high.
  const Cohort once =
      test::random_cohort({.students = 60, .courses = 5, .periods = 2, .taken = 0.4, .unknown = 0}, RandomStream(33));
  std::vector<std::int64_t> often;
  for (std::int64_t i = 0; i < 300; ++i)
    often.push_back(i % 60);
  const Cohort copies = test::changed(once.select(often), [](CohortParts& parts) {
    for (std::size_t s = 0; s < parts.students.size(); ++s)
      parts.students[s] += "-" + std::to_string(s / 60);
  });
  for (const char* choice : {"nb", "cmm+bernoulli"}) {
    FitOptions options = options_for(choice, 2);
    options.set("iterations", 500).set("tolerance", 1e-5).set("pseudocount", 0.0).set("state-pseudocount", 0.0);
    const Executor executor(1);
    TrainingContext few{executor}, many{executor};
    few.labels = random_labels(once, 2, RandomStream(34));
    for (int copy = 0; copy < 5; ++copy) {
      for (LabelRow row : few.labels) {
        row.student += "-" + std::to_string(copy);
        many.labels.push_back(row);
      }
    }
    const FitResult a = fit_model(once, options, few), b = fit_model(copies, options, many);
    EXPECT_TRUE(a.converged) << choice;
    EXPECT_GT(a.iterations, 5) << choice;
    EXPECT_EQ(a.iterations, b.iterations) << choice;
    EXPECT_NEAR(5 * a.log_likelihood, b.log_likelihood, 1e-9 * std::abs(b.log_likelihood)) << choice;
    // The last step was under the tolerance, the one before it not.
    const auto step = [&](std::size_t at) {
      return (a.objective_trace[at] - a.objective_trace[at - 1]) / 60 / (1 + std::abs(a.objective_trace[at] / 60));
    };
    EXPECT_LT(step(a.objective_trace.size() - 1), 1e-5) << choice;
    EXPECT_GE(step(a.objective_trace.size() - 2), 1e-5) << choice;
  }
}

TEST(Fit, ForbiddenAndFixedTransitionsSurviveExactly) {
  const Cohort cohort = test::random_cohort({.students = 150, .courses = 5, .periods = 3}, RandomStream(41));
  for (const char* choice : {"hmm", "cmm+bernoulli", "cmm+tree"}) {
    FitOptions options = options_for(choice, 3);
    const Executor executor(2);
    TrainingContext context{executor};
    context.transitions = {{"1", 0, 2, 0, 1}, {"1", 1, 0, 0.25, 2}, {"2", 2, 0, 0, 3}};
    if (std::string(choice) == "hmm") context.transitions = {{"", 0, 2, 0, 1}, {"", 1, 0, 0.25, 2}};
    const FitResult fit = fit_model(cohort, options, context);
    EXPECT_EQ(test::chain_of(fit).transition(0)(0, 2), 0);
    EXPECT_EQ(test::chain_of(fit).transition(0)(1, 0), 0.25);
    if (std::string(choice) != "hmm") {
      EXPECT_EQ(test::chain_of(fit).transition(1)(2, 0), 0);
    }
    for (Index k = 0; k < 3; ++k)
      EXPECT_NEAR(test::chain_of(fit).transition(0).row(k).sum(), 1, 1e-12);
  }
  const Executor executor(1);
  TrainingContext context{executor};
  context.transitions = {{"1", 0, 0, 0.7, 1}, {"1", 0, 1, 0.7, 2}};
  EXPECT_THROW(fit_model(cohort, options_for("cmm+bernoulli", 2), context), InputError);
}

TEST(Fit, StatesComeInTheOrderOfTheirShare) {
  const Cohort cohort = test::random_cohort({.students = 300, .courses = 6, .periods = 2}, RandomStream(42));
  for (const char* choice : {"nb", "cmm+bernoulli"}) {
    const FitResult fit = test::fit(cohort, options_for(choice, 4), 2);
    for (Id t = 0; t < test::chain_of(fit).step_count(); ++t) {
      const RowMatrix posterior = test::chain_of(fit).posterior(EvidenceBatch::of(cohort), Executor(1));
      const Eigen::RowVectorXd share = posterior.middleCols(t * 4, 4).colwise().sum();
      for (Id k = 0; k + 1 < 4; ++k)
        EXPECT_GE(share[k], share[k + 1] - 1e-6);
    }
  }
}

TEST(Fit, CanBeMatchedToAnEarlierModel) {
  const Cohort cohort = test::random_cohort({.students = 300, .courses = 6, .periods = 2}, RandomStream(43));
  FitOptions options = options_for("cmm+bernoulli", 3);
  const FitResult first = test::fit(cohort, options);
  const Executor executor(2);
  TrainingContext from_first{executor}, like_first{executor};
  from_first.warm = first.model.get();
  const FitResult warm = fit_model(cohort, options, from_first);
  EXPECT_GE(warm.trace.front(), first.trace.back() - 1e-6);
  like_first.match = first.model.get();
  const FitResult again = fit_model(cohort, options, like_first);
  EXPECT_NEAR((test::chain_of(again).course_probabilities(0) - test::chain_of(first).course_probabilities(0))
                  .cwiseAbs()
                  .maxCoeff(),
              0, 1e-9);
}

TEST(Fit, FindsSimulatedGaussianStatesAgain) {
  // Two states with other means, and correlations of opposite sign within pairs of courses.
  ChainParameters parameters;
  parameters.prior.initial = Vector::Constant(2, 0.5);
  Matrix transition(2, 2);
  transition << 0.85, 0.15, 0.25, 0.75;
  parameters.prior.transitions = {transition};
  for (int t = 0; t < 2; ++t) {
    GaussianParameters gaussian;
    gaussian.mean.resize(16, 2);
    for (Index j = 0; j < 16; ++j) {
      gaussian.mean(j, 0) = j < 8 ? -0.3 : -1.8;
      gaussian.mean(j, 1) = j < 8 ? -1.8 : -0.3;
    }
    gaussian.standard_mean = gaussian.mean;
    for (const double correlation : {0.6, -0.5}) {
      Matrix covariance = Matrix::Identity(16, 16);
      for (Index j = 0; j < 16; j += 2)
        covariance(j, j + 1) = covariance(j + 1, j) = correlation;
      gaussian.cholesky.emplace_back(covariance.llt().matrixL());
    }
    parameters.emissions.push_back(std::make_unique<GaussianEmission>(std::move(gaussian)));
  }
  const HiddenChain truth({"cmm", "gaussian", true, TimeStructure::per_period, test::small_schema(16, 2)},
                          std::move(parameters));
  FitOptions options = options_for("cmm", 2);
  // With a weaker prior the density gains more by making one common course constant in a state than by the truth: the
  // bias of learning on -1/+1 (docs/models/gaussian.md).
  options.set("covariance-prior", 600.0);
  options.set("restarts", 3);
  options.set("iterations", 200);
  options.set("tolerance", 1e-9);
  const Executor executor(2);
  TrainingContext context{executor};
  context.match = &truth;
  const FitResult fit = fit_model(test::drawn_cohort(truth, 6000, RandomStream(2)), options, context);
  // 3,000 students a state, blurred: shares to 0.03; learning on -1/+1 sees thresholded correlations, weaker ones.
  for (Id t = 0; t < 2; ++t)
    EXPECT_LT((test::chain_of(fit).course_probabilities(t) - truth.course_probabilities(t)).cwiseAbs().maxCoeff(),
              0.06);
  EXPECT_LT((test::chain_of(fit).transition(0) - transition).cwiseAbs().maxCoeff(), 0.08);
  for (Id k = 0; k < 2; ++k) {
    // A pair of courses that the state takes often.
    const Index j = k == 0 ? 0 : 8;
    const Matrix covariance =
        dynamic_cast<const GaussianEmission&>(*test::chain_of(fit).parameters().emissions[0]).covariance(k);
    const double found = covariance(j, j + 1) / std::sqrt(covariance(j, j) * covariance(j + 1, j + 1));
    EXPECT_GT(k == 0 ? found : -found, 0.2);
  }
}

TEST(Fit, FindsSimulatedParametersAgain) {
  const HiddenChain truth = [] {
    ChainParameters parameters;
    parameters.prior.initial = Vector::Constant(2, 0.5);
    Matrix transition(2, 2);
    transition << 0.9, 0.1, 0.3, 0.7;
    parameters.prior.transitions = {transition};
    for (int t = 0; t < 2; ++t) {
      RowMatrix p(8, 2);
      for (Index j = 0; j < 8; ++j) {
        p(j, 0) = (j + t) % 2 == 0 ? 0.8 : 0.15;
        p(j, 1) = (j + t) % 2 == 0 ? 0.2 : 0.6;
      }
      parameters.emissions.push_back(std::make_unique<BernoulliEmission>(p));
    }
    return HiddenChain({"cmm", "bernoulli", false, TimeStructure::per_period, test::small_schema(8, 2)},
                       std::move(parameters));
  }();
  const Cohort drawn = test::drawn_cohort(truth, 4000, RandomStream(2));
  FitOptions options = options_for("cmm+bernoulli", 2);
  options.set("restarts", 3);
  options.set("iterations", 200);
  options.set("tolerance", 1e-9);
  const Executor executor(2);
  TrainingContext context{executor};
  context.match = &truth;
  const FitResult fit = fit_model(drawn, options, context);
  // 2,000 students a state: a share has a standard error of about 0.011, a transition of about 0.02 with blurred
  // states.
  for (Id t = 0; t < 2; ++t)
    EXPECT_LT((test::chain_of(fit).course_probabilities(t) - truth.course_probabilities(t)).cwiseAbs().maxCoeff(),
              0.06);
  EXPECT_LT((test::chain_of(fit).transition(0) - truth.transition(0)).cwiseAbs().maxCoeff(), 0.08);
}

TEST(Fit, LoadingsAreDrawnFromTheRestartsOwnStream) {
  const Cohort cohort = test::random_cohort({.students = 50, .courses = 6, .periods = 1}, RandomStream(71));
  RowPool pool = pool_rows(EvidenceBatch::of(cohort), std::vector<PeriodRange>{{0, 1}});
  pool.rows.set_weights(std::vector<double>(static_cast<std::size_t>(pool.rows.row_count()), 1));
  const RowMatrix all = RowMatrix::Ones(pool.rows.row_count(), 1);
  for (const char* family : {"gaussian", "probit"}) {
    const auto learner =
        standard_catalog().emission(family).learner({{"covariance", std::string("factor:2")}}, StepShape{1, 6});
    const auto bytes = [&](std::uint64_t restart) {
      ArchiveWriter archive("model");
      test::first_emission(*learner, pool.rows, all, RandomStream(1).child(restart), Executor(1))->save(archive, "e");
      return archive.bytes();
    };
    EXPECT_EQ(bytes(0), bytes(0)) << family;
    EXPECT_NE(bytes(0), bytes(1)) << family;
  }
}

TEST(Fit, AScoreDoesNotDependOnItsCompany) {
  const Cohort cohort = test::random_cohort({.students = 300, .courses = 6, .periods = 2}, RandomStream(72));
  std::vector<std::int64_t> many(12'000), few = {3, 4};
  for (std::size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<std::int64_t>(i % 300);
  for (const char* choice : {"gmm", "cmm+probit", "nb"}) {
    const FitResult fit = test::fit(cohort, options_for(choice, 2));
    for (const Precision precision : {Precision::quick, Precision::sampled}) {
      const auto scores = [&](const std::vector<std::int64_t>& students) {
        return fit.model
            ->log_likelihood(EvidenceBatch::of(cohort.select(students)), LikelihoodKind::mass, Executor(2), precision)
            .value;
      };
      const RowMatrix crowd = scores(many), alone = scores(few);
      EXPECT_EQ(crowd(3, 0), alone(0, 0)) << choice;
      EXPECT_EQ(crowd(4, 0), alone(1, 0)) << choice;
    }
  }
}

TEST(Fit, ValidationPicksTheIterate) {
  const auto draw = [](std::int64_t students, std::uint64_t seed) {
    return test::random_cohort({.students = students, .courses = 12, .periods = 2, .unknown = 0}, RandomStream(seed));
  };
  const Cohort training = draw(84, 51), validation = draw(36, 52);
  FitOptions options = options_for("nb", 8);
  options.set("iterations", 60);
  const Executor executor(2);
  TrainingContext context{executor};
  context.validation = &validation;
  const FitResult fit = fit_model(training, options, context);
  ASSERT_FALSE(fit.validation_trace.empty());
  const auto best = static_cast<std::size_t>(fit.best_iteration);
  EXPECT_EQ(fit.validation_trace[best], *std::ranges::max_element(fit.validation_trace));
  // The model is that iterate, which is not the last.
  const double own = fit.model->log_likelihood(EvidenceBatch::of(validation), fit.kind, executor).value.mean();
  EXPECT_NEAR(own, fit.validation_trace[best], 1e-9);
  EXPECT_GT(own, fit.validation_trace.back() + 1e-3);
  options.set("validation", 0.3);
  EXPECT_EQ(test::fit(draw(120, 51), options).students, 84);
}

TEST(Fit, AnswersOfGaussiansWeighStatesByMass) {
  const Cohort cohort =
      test::random_cohort({.students = 250, .courses = 6, .periods = 3, .unknown = 0.2, .left = 0.1}, RandomStream(81));
  const EvidenceBatch evidence = EvidenceBatch::of(cohort);
  const Executor executor(2);
  for (const char* choice : {"gmm", "cmm", "hmm+gaussian"}) {
    FitOptions options = options_for(choice, 3);
    options.set("state-pseudocount", 0.0);
    const FitResult fit = test::fit(cohort, options);
    const HiddenChain& chain = test::chain_of(fit);
    ASSERT_TRUE(chain.parameters().mass_dynamics) << choice;
    const ChainPrior &law = chain.parameters().mass_dynamics->prior, &own = chain.parameters().prior;
    double moved = (law.initial - own.initial).cwiseAbs().maxCoeff();
    for (std::size_t t = 0; t < law.transitions.size(); ++t)
      moved = std::max(moved, (law.transitions[t] - own.transitions[t]).cwiseAbs().maxCoeff());
    EXPECT_GT(moved, 1e-6) << choice;
    // The maximum of the mass: EM of the law stays where it is.
    const Vector expected = chain.posterior(evidence, executor).leftCols(chain.state_count()).colwise().mean();
    EXPECT_LT((expected - chain.share(0)).cwiseAbs().maxCoeff(), 0.005) << choice;
    // What EM climbed is still there.
    EXPECT_NEAR(chain.log_likelihood(evidence, LikelihoodKind::density, executor).value.sum(), fit.trace.back(),
                1e-9 * std::abs(fit.trace.back()));
    std::vector<Id> all;
    for (Id bit = 0; bit < cohort.schema().bit_count(); ++bit)
      all.push_back(bit);
    const StoredModel loaded = load_model(ArchiveReader::from_bytes(test::bytes_of_model(chain), "file"));
    EXPECT_EQ(loaded.model->marginals(evidence, all, executor).value, chain.marginals(evidence, all, executor).value);
    const FitResult plain = test::fit(cohort, options.set("calibrate", "none"));
    EXPECT_FALSE(test::chain_of(plain).parameters().mass_dynamics) << choice;
  }
}

TEST(Fit, CalibratedSharesStayTheStudentsUnderTheLawOfMass) {
  const Cohort cohort =
      test::random_cohort({.students = 400, .courses = 6, .periods = 2, .unknown = 0.2}, RandomStream(82));
  for (const char* choice : {"gmm", "cmm"}) {
    const FitResult fit = test::fit(cohort, options_for(choice, 3));
    ASSERT_TRUE(test::chain_of(fit).parameters().mass_dynamics) << choice;
    std::vector<Id> all;
    Vector taken = Vector::Zero(12), known = Vector::Zero(12);
    for (Id bit = 0; bit < 12; ++bit) {
      all.push_back(bit);
      for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
        if (!cohort.enrolled(s, bit / 6)) continue;
        known[bit] += 1;
        taken[bit] += std::ranges::count(cohort.bits(s, bit / 6), bit) > 0 ? 1 : 0;
      }
    }
    const EvidenceBatch nothing =
        EvidenceBatch::of(cohort.select(std::vector<std::int64_t>{0})).without_periods(std::vector<Id>{0, 1});
    const RowMatrix share = fit.model->marginals(nothing, all, Executor(1)).value;
    for (Index bit = 0; bit < 12; ++bit)
      EXPECT_NEAR(share(0, bit), taken[bit] / known[bit], 0.003) << choice << ", bit " << bit;
  }
}

TEST(Fit, CheckpointsContinueToTheSameBits) {
  const test::TemporaryFolder folder;
  const Cohort cohort =
      test::random_cohort({.students = 400, .courses = 8, .periods = 3, .unknown = 0.2}, RandomStream(61));
  for (const char* choice : {"nb", "tan", "cmm+bernoulli", "cmm+tree", "gmm", "cmm", "cmm+probit"}) {
    FitOptions options = options_for(choice, 4);
    options.set("restarts", 3);
    options.set("iterations", 12);
    const FitResult whole = test::fit(cohort, options);
    const std::filesystem::path checkpoint = folder / "fit.checkpoint";
    SCOPED_TRACE(choice);
    const FitResult resumed = test::fit_with_stops(cohort, options, checkpoint);
    EXPECT_EQ(resumed.trace, whole.trace);
    EXPECT_EQ(test::bytes_of_model(*resumed.model), test::bytes_of_model(*whole.model));
    EXPECT_EQ(resumed.restarts.size(), 3U);
    // It stays until the model is safe: to be removed by whoever writes that.
    EXPECT_TRUE(std::filesystem::remove(checkpoint));
  }
}

/// How a fit that was stopped would be resumed.
TrainingContext resuming(const std::filesystem::path& checkpoint) {
  static const Executor executor(1);
  TrainingContext context{executor};
  context.checkpoint = checkpoint;
  context.checkpoint_interval = 0;
  context.resume = true;
  return context;
}

TEST(Fit, ACheckpointOfAnotherFitIsRefused) {
  const test::TemporaryFolder folder;
  const Cohort cohort = test::random_cohort({.students = 50}, RandomStream(62));
  const FitOptions options = options_for("nb", 2);
  ASSERT_TRUE(test::stop_fit(cohort, options, folder / "c", [](const auto& event) { return event.iteration >= 2; }));
  const TrainingContext context = resuming(folder / "c");
  EXPECT_THROW(fit_model(cohort, options_for("nb", 3), context), OptionError);
  const Cohort other = test::random_cohort({.students = 51}, RandomStream(62));
  EXPECT_THROW(fit_model(other, options, context), OptionError);
  const std::string damaged = read_text_file(context.checkpoint).substr(0, 300);
  write_text_file(context.checkpoint, damaged, Overwrite::allow);
  EXPECT_THROW(fit_model(cohort, options, context), ArchiveError);
}

/// A file of ours with the first match in its header replaced, and its digest right again.
std::string altered(std::string file, const std::string& pattern, const std::string& replacement) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  const std::string header = std::regex_replace(file.substr(8, length), std::regex(pattern), replacement,
                                                std::regex_constants::format_first_only);
  EXPECT_NE(header, file.substr(8, length)) << pattern;
  file.replace(8, length, header);
  length = header.size();
  std::memcpy(file.data(), &length, 8);
  const std::string key = "\"digest\":\"";
  const std::size_t at = file.find(key) + key.size();
  file.replace(at, 32, std::string(32, '0'));
  return file.replace(at, 32, digest_of(std::as_bytes(std::span(file))).hex());
}

// The conversion of a real number that no whole one can hold is undefined, so none is read as one.
TEST(Fit, NumbersOfACheckpointAreWhole) {
  const test::TemporaryFolder folder;
  const Cohort cohort = test::random_cohort({.students = 50}, RandomStream(62));
  FitOptions options = options_for("nb", 2);
  options.set("restarts", 2);
  ASSERT_TRUE(test::stop_fit(cohort, options, folder / "c", [](const ProgressEvent& event) {
    return event.phase.starts_with("climb 2") && event.iteration >= 1;
  }));
  const TrainingContext context = resuming(folder / "c");
  const std::string whole = read_text_file(context.checkpoint);
  for (const char* number : {"1e300", "-1e300", "2.5", "-1"}) {
    for (const std::string start : {R"(\\"version\\":)", R"(\\"reseeds\\":\[\[)", R"(\\"seed\\":)"}) {
      write_text_file(context.checkpoint, altered(whole, "(" + start + ")\\d+", std::string("$01") + number),
                      Overwrite::allow);
      EXPECT_THROW(fit_model(cohort, options, context), ArchiveError) << start << number;
    }
  }
  write_text_file(context.checkpoint, altered(whole, R"((reseeds\\":)\[(\[\d+,\d+\])\])", R"($1{\"a\":$2})"),
                  Overwrite::allow);
  EXPECT_THROW(fit_model(cohort, options, context), ArchiveError);  // an object is no list
  write_text_file(context.checkpoint, altered(whole, R"((\\"seed\\":)\d+)", "$0118446744073709551615"),
                  Overwrite::allow);
  EXPECT_NO_THROW(fit_model(cohort, options, context));  // seeds fill 64 bits
  auto record = options.describe();
  for (const auto& number : {nlohmann::ordered_json(1e300), nlohmann::ordered_json(2.5), nlohmann::ordered_json(-1)}) {
    record["seed"] = number;
    EXPECT_THROW(FitOptions::from_record(record), ArchiveError) << number;
  }
}

TEST(Fit, RefusesWhatMakesNoSense) {
  const Cohort cohort = test::random_cohort({}, RandomStream(63));
  const Executor executor(1);
  const auto refusal = [&](auto change) {
    return test::message_of<Error>([&] {
      FitOptions options = options_for("nb", 2);
      TrainingContext context{executor};
      change(options, context);
      fit_model(cohort, options, context);
    });
  };
  EXPECT_TRUE(test::says(refusal([](FitOptions& o, auto&) { o.set("states", 0); }), {"--states", "1"}));
  EXPECT_TRUE(test::says(refusal([](FitOptions& o, auto&) { o.set("sates", 2); }), {"--sates", "nb", "'states'"}));
  EXPECT_TRUE(test::says(refusal([](FitOptions& o, auto&) { o.set("ridge", 0.1); }), {"--ridge", "nb"}));
  EXPECT_TRUE(test::says(refusal([](auto&, TrainingContext& c) {
                           c.transitions = {{"1", 0, 0, 0, 1}};
                         }),
                         {"--transitions"}));
  EXPECT_TRUE(test::says(refusal([](auto&, TrainingContext& c) {
                           c.labels_file = "l.csv";
                           c.labels = {{"s0", "1", 7, 1, 4}};
                         }),
                         {"l.csv:4", "7", "0", "1"}));
  EXPECT_TRUE(test::says(refusal([](FitOptions& o, auto&) { o.set("weights", "w"); }), {"'w'"}));
}

}  // namespace
}  // namespace desirepath::fit_test
