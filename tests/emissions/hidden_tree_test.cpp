// Hidden course trees against a dense textbook version: counts, steps, answers, where the sparse form could go wrong.
#include "desirepath/emissions/hidden_tree.h"

#include <cmath>

#include "support/emission_steps.h"
#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/stopped_fits.h"
#include "support/support.h"
#include "support/textbook_hidden_tree.h"
#include "support/weighted_twice.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/emissions/timing_pairs.h"
#include "desirepath/models/model_file.h"

namespace desirepath::hidden_tree_test {
namespace {

constexpr Id courses = 9, periods = 4;
constexpr StepShape shape{periods, courses};

Eigen::MatrixXi known_of(const StepRows& rows, std::int64_t row) {
  Eigen::MatrixXi known(courses, periods);
  for (Id bit = 0; bit < shape.bits(); ++bit)
    known(bit % courses, bit / courses) = rows.unknown(rows.pattern_of(row)).contains(bit) ? 2 : 0;
  for (const Id bit : rows.taken(row))
    known(bit % courses, bit / courses) = 1;
  return known;
}

class HiddenTrees : public testing::TestWithParam<Id> {
 protected:
  HiddenTrees()
      : evidence_(test::odd_students(400, shape, RandomStream(5))),
        pool_(pool_rows(evidence_, std::vector<PeriodRange>{{0, periods}})) {
    RandomStream stream(6);
    std::vector<double> weights;
    for (std::int64_t row = 0; row < pool_.rows.row_count(); ++row)
      weights.push_back(row % 7 == 0 ? 0 : 0.5 + 2 * stream.uniform());
    pool_.rows.set_weights(weights);
    options_.tree_states = GetParam();
    options_.link_prior = 0.05;
    options_.timing_prior = 1;
  }
  std::vector<double> weights() const { return {pool_.rows.weights().begin(), pool_.rows.weights().end()}; }
  HiddenTreeParameters start() const {
    return test::started_tree(pool_.rows, shape, weights(), options_, RandomStream(7), executor_);
  }
  EvidenceBatch evidence_;
  RowPool pool_;
  HiddenTreeOptions options_;
  Executor executor_{2};
};

TEST_P(HiddenTrees, SparseCountsAreTheDenseOnes) {
  const HiddenTree tree(start());
  ASSERT_EQ(tree.parameters().fault(), std::nullopt);
  const TimingRows timings(pool_.rows, shape, Retakes::learned);
  ASSERT_GE(timings.groups().size(), 3U);
  const std::vector<double> weight = weights();
  const auto [scores, sparse] = test::planned_passes(timings, tree.shape(), executor_).expect(tree, weight, executor_);
  HiddenTreeCounts dense(courses, GetParam(), periods, periods + 1);
  for (std::int64_t row = 0; row < pool_.rows.row_count(); ++row) {
    test::DenseTreePass pass = test::dense_tree_pass(tree.parameters(), known_of(pool_.rows, row));
    EXPECT_NEAR(scores[row], pass.log_probability, 1e-11 * std::abs(pass.log_probability)) << row;
    pass.counts *= weight[static_cast<std::size_t>(row)];
    dense += pass.counts;
  }
  ASSERT_EQ(sparse.values().size(), dense.values().size());
  for (std::size_t i = 0; i < dense.values().size(); ++i)
    EXPECT_NEAR(sparse.values()[i], dense.values()[i], 1e-10) << i;
}

TEST_P(HiddenTrees, TheClimbIsTheTextbooks) {
  const HiddenTreeLearner learner(options_, shape);
  const RowMatrix responsibilities =
      Eigen::Map<const RowMatrix>(pool_.rows.weights().data(), pool_.rows.row_count(), 1);
  std::shared_ptr<const Emission> emission =
      test::first_emission(learner, pool_.rows, responsibilities, RandomStream(8), executor_);
  HiddenTreeParameters dense = dynamic_cast<const HiddenTreeEmission&>(*emission).trees().front()->parameters();
  double before = -infinity;
  for (int iteration = 0; iteration < 20; ++iteration) {
    const RowScores scores = emission->score(pool_.rows, LikelihoodKind::mass, Precision::quick, executor_);
    const double found = scores.log_likelihood.col(0).dot(responsibilities.col(0));
    double expected = 0;
    HiddenTreeCounts counts(courses, GetParam(), periods, periods + 1);
    for (std::int64_t row = 0; row < pool_.rows.row_count(); ++row) {
      test::DenseTreePass pass = test::dense_tree_pass(dense, known_of(pool_.rows, row));
      expected += responsibilities(row, 0) * pass.log_probability;
      pass.counts *= responsibilities(row, 0);
      counts += pass.counts;
    }
    EXPECT_NEAR(found, expected, 1e-9 * std::abs(expected)) << iteration;
    const double prior = test::dense_tree_log_prior(dense, 0.05, 1, 5);
    EXPECT_NEAR(learner.log_prior(learner.survey(pool_.rows), *emission), prior, 1e-9 * std::abs(prior));
    EXPECT_GE(expected + prior, before - 1e-9 * std::abs(before)) << "the objective fell in iteration " << iteration;
    before = expected + prior;
    emission = test::next_emission(learner, pool_.rows, responsibilities, emission.get(), executor_);
    dense = test::dense_tree_step(dense, counts, 0.05, 1, 5);
  }
}

TEST_P(HiddenTrees, AnswersAreTheDenseOnesAlsoWhereLaterRetakesAreKnown) {
  const auto tree = std::make_shared<const HiddenTree>(start());
  const HiddenTreeEmission emission({tree}, Retakes::learned);
  std::vector<Id> asked;
  for (Id bit = 0; bit < shape.bits(); ++bit)
    asked.push_back(bit);
  RowMatrix found(1, shape.bits());
  for (std::int64_t row = 0; row < pool_.rows.row_count(); row += 11) {
    const Eigen::MatrixXi known = known_of(pool_.rows, row);
    const test::DenseTreePass pass = test::dense_tree_pass(tree->parameters(), known);
    emission.given(pool_.rows.unknown(pool_.rows.pattern_of(row)))->marginals(pool_.rows.taken(row), asked, found);
    for (Id c = 0; c < courses; ++c) {
      double before = 0;
      for (Id t = 0; t < periods; ++t) {
        const double expected =
            known(c, t) < 2 ? known(c, t) : pass.timing(c, t + 1) + tree->parameters().retake(c, t) * before;
        EXPECT_NEAR(found(0, t * courses + c), expected, 1e-12);
        before += pass.timing(c, t + 1);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(States, HiddenTrees, testing::Values(1, 3, 8, 13));

TEST(HiddenTree, RowsWhoseProductsVanishAreDoneInLogarithms) {
  // A hub that is sure of 300 courses in one of its states and of none in the other: with nothing taken the two lie
  // 2,000 nats apart, and a student who takes them all turns that round.
  constexpr Id many = 300;
  HiddenTreeParameters p;
  p.parents.assign(many + 1, 0);
  p.parents[0] = -1;
  p.initial = Vector::Constant(2, 0.5);
  p.transition = RowMatrix::Constant((many + 1) * 2, 2, 1e-9);
  p.timing = RowMatrix::Constant((many + 1) * 2, 2, 1e-6);
  for (Index c = 0; c <= many; ++c) {
    p.transition(c * 2, 0) = p.transition(c * 2 + 1, 1) = 1 - 1e-9;
    p.timing(c * 2, 0) = p.timing(c * 2 + 1, 1) = 1 - 1e-6;
  }
  p.retake = RowMatrix::Zero(many + 1, 1);
  p.centres = {Vector::Constant(2, 0.5), RowMatrix::Constant(many + 1, 2, 0.5), Vector::Zero(1)};
  ASSERT_EQ(p.fault(), std::nullopt);
  const HiddenTree tree(p);
  BinaryMatrixBuilder taken(many + 1), none(many + 1);
  for (const Id count : {0, 3, 200, 260, 301}) {
    for (Id c = 0; c < count; ++c)
      taken.add(c);
    taken.finish_row();
    none.finish_row();
  }
  const EvidenceBatch evidence(1, many + 1, {"a", "b", "c", "d", "e"}, std::vector<Presence>(5, Presence::present),
                               std::move(taken).build(), std::move(none).build());
  RowPool pool = pool_rows(evidence, std::vector<PeriodRange>{{0, 1}});
  const TimingRows timings(pool.rows, {1, many + 1}, Retakes::learned);
  const auto [scores, counts] = HiddenTreePasses(timings).expect(tree, std::vector<double>(5, 1.0), Executor(1));
  double first = 0;
  for (std::int64_t row = 0; row < 5; ++row) {
    Eigen::MatrixXi known = Eigen::MatrixXi::Zero(many + 1, 1);
    for (const Id bit : pool.rows.taken(row))
      known(bit, 0) = 1;
    // In logs by hand: the courses are leaves of a star.
    Vector logs(2);
    for (Index root = 0; root < 2; ++root) {
      logs[root] = std::log(0.5) + std::log(p.timing(root, known(0, 0)));
      for (Index c = 1; c <= many; ++c)
        logs[root] += std::log(p.transition(c * 2 + root, 0) * p.timing(c * 2, known(c, 0)) +
                               p.transition(c * 2 + root, 1) * p.timing(c * 2 + 1, known(c, 0)));
    }
    const double larger = logs.maxCoeff();
    const double expected = larger + std::log((logs.array() - larger).exp().sum());
    EXPECT_NEAR(scores[row], expected, 1e-9) << row;  // of terms of 2,000 nats
    first += std::exp(logs[0] - expected);
  }
  EXPECT_NEAR(counts.root()(0, 0), first, 1e-9);
}

TEST(HiddenTree, TreesAreRootedAtTheirCentre) {
  EXPECT_EQ(rooted_at_centre(DependencyTree({-1, 0, 1, 2, 3})).parent(2), -1);
  EXPECT_EQ(rooted_at_centre(DependencyTree({-1, 0, 1, 2})).parent(1), -1);  // of two centres the lower
  EXPECT_EQ(rooted_at_centre(DependencyTree({-1})).parent(0), -1);
  const DependencyTree star = rooted_at_centre(DependencyTree({-1, 0, 1, 1, 1}));
  EXPECT_EQ(star.parents(), (std::vector<Id>{1, -1, 1, 1, 1}));
}

TEST(HiddenTree, FindsTheTreeThatWasPlanted) {
  // A chain of courses, each mostly taken by those who took the one before, a period later.
  constexpr Id many = 8;
  test::CohortMaker made(many, 3);
  RandomStream stream(4);
  for (int s = 0; s < 3000; ++s) {
    made.add_student();
    std::vector<Id> when(many);
    for (Id c = 0; c < many; ++c) {
      const bool before = c == 0 || when[static_cast<std::size_t>(c) - 1] > 0;
      when[static_cast<std::size_t>(c)] =
          stream.bernoulli(before ? 0.85 : 0.05) ? 1 + static_cast<Id>(stream.below(3)) : 0;
      if (when[static_cast<std::size_t>(c)] > 0) made.take(when[static_cast<std::size_t>(c)] - 1, c);
    }
  }
  const RowPool pool = pool_rows(EvidenceBatch::of(made.build()), std::vector<PeriodRange>{{0, 3}});
  std::vector<double> weights;
  for (std::int64_t row = 0; row < pool.rows.row_count(); ++row)
    weights.push_back(static_cast<double>(pool.occurrences_of(row).size()));
  const TimingRows timings(pool.rows, {3, many}, Retakes::learned);
  const Executor executor(2);
  TimingPairs pairs({3, many}, /*only_whole=*/true, 3000, 3000);
  while (!pairs.take(pairs.count(timings, weights, executor), executor)) {
  }
  const DependencyTree tree = pairs.tree(0, RandomStream(1));
  for (Id c = 0; c < many; ++c) {
    if (tree.parent(c) < 0) continue;
    EXPECT_EQ(std::abs(tree.parent(c) - c), 1) << c;
  }
  EXPECT_NE(pairs.tree(1.5, RandomStream(1)).parents(), tree.parents());
}

TEST(HiddenTree, WithoutRetakesLaterEnrollmentsAreNotRead) {
  const UnknownBits nothing;
  const TimingPattern pattern(nothing, shape, Retakes::never), learned(nothing, shape, Retakes::learned);
  std::vector<CourseTiming> found;
  const std::vector<Id> taken = {2, courses + 2, 2 * courses + 3};
  EXPECT_EQ(pattern.changes(taken, found), 1);
  EXPECT_EQ(found, (std::vector<CourseTiming>{{2, 1}, {3, 9}}));
  EXPECT_EQ(learned.changes(taken, found), 0);
  EXPECT_EQ(found, (std::vector<CourseTiming>{{2, 4}, {3, 9}}));
  const Cohort cohort =
      test::random_cohort({.students = 150, .courses = 4, .periods = 3, .taken = 0.5}, RandomStream(9));
  FitOptions options("hct");
  options.set("trees", 2).set("tree-states", 2).set("iterations", 10).set("retakes", "never");
  const FitResult fit = test::fit(cohort, options);
  EXPECT_TRUE(test::any_says(fit.warnings, {"retakes"}));
  // No completion takes a course twice.
  const EvidenceBatch drawn = fit.model->complete(EvidenceBatch::of(cohort).without_periods(std::vector<Id>{0, 1, 2}),
                                                  RandomStream(3), Executor(2));
  for (std::int64_t s = 0; s < drawn.student_count(); ++s) {
    std::vector<int> times(4, 0);
    for (Id t = 0; t < 3; ++t) {
      for (const Id bit : drawn.taken(s, t))
        EXPECT_EQ(++times[static_cast<std::size_t>(bit % 4)], 1);
    }
  }
}

TEST(Committee, IsTheMeanOfItsMembers) {
  const Cohort cohort =
      test::random_cohort({.students = 300, .courses = 5, .periods = 3, .unknown = 0.2, .left = 0.1}, RandomStream(10));
  FitOptions options("hct");
  options.set("trees", 3).set("tree-states", 3).set("iterations", 8).set("tolerance", 0.0);
  const FitResult fit = test::fit(cohort, options);
  EXPECT_EQ(fit.restarts.size(), 3U);
  EXPECT_EQ(fit.model->hidden_states(), nullptr);
  const HiddenChain& committee = test::chain_of(fit);
  const EvidenceBatch known = test::random_evidence(cohort.schema(), 50, true, RandomStream(11));
  const RowMatrix all = committee.log_likelihood(known, LikelihoodKind::mass, Executor(2)).value;
  RowMatrix each(50, 3);
  for (Id k = 0; k < 3; ++k) {
    ChainParameters member;
    member.prior.initial = Vector::Ones(1);
    member.emissions.push_back(committee.parameters().emissions.front()->reordered(std::vector<Id>{k}));
    const HiddenChain alone({"nb", "hidden-tree", false, TimeStructure::one_step, committee.schema()}, member);
    each.col(k) = alone.log_likelihood(known, LikelihoodKind::mass, Executor(2)).value.col(0);
  }
  for (Index s = 0; s < 50; ++s)
    EXPECT_NEAR(all(s, 0), std::log(each.row(s).array().exp().mean()), 1e-11) << s;
}

TEST(Committee, WeightTwoIsTheStudentTwice) {
  const Cohort once =
      test::random_cohort({.students = 60, .courses = 5, .periods = 2, .unknown = 0.1}, RandomStream(12));
  const auto [with_weights, with_copies, doubled] = test::weighted_twice(once, 3);
  FitOptions options("hct");
  options.set("trees", 2).set("tree-states", 3).set("iterations", 12).set("tolerance", 0.0);
  const FitResult b = test::fit(with_copies, options);
  const FitResult a = test::fit(with_weights, options.set("weights", "weight"));
  EXPECT_NEAR(a.log_likelihood, b.log_likelihood, 1e-8 * std::abs(b.log_likelihood));
  EXPECT_EQ(a.student_weight, b.student_weight);
}

TEST(Committee, ContinuesFromItsCheckpointToTheSameBits) {
  const test::TemporaryFolder folder;
  const Cohort cohort =
      test::random_cohort({.students = 400, .courses = 8, .periods = 3, .unknown = 0.2, .left = 0.1}, RandomStream(61));
  FitOptions options("hct");
  options.set("trees", 3).set("tree-states", 4).set("iterations", 25);
  const FitResult whole = test::fit(cohort, options);
  const FitResult resumed = test::fit_with_stops(cohort, options, folder / "c", {.least = 3, .most = 11});
  EXPECT_EQ(test::bytes_of_model(*resumed.model), test::bytes_of_model(*whole.model));
  nlohmann::ordered_json first = whole.answer().to_json(), second = resumed.answer().to_json();
  first.erase("seconds");
  second.erase("seconds");
  EXPECT_EQ(first, second);
}

TEST(Committee, LeftOutScoresAreTheStepsWithoutTheStudent) {
  const Cohort cohort =
      test::random_cohort({.students = 40, .courses = 5, .periods = 3, .unknown = 0.2}, RandomStream(71));
  FitOptions options("hct");
  options.set("trees", 1).set("tree-states", 3).set("iterations", 15).set("tolerance", 0.0);
  FitResult fit = test::fit(cohort, options);
  const TrainingRecord record = test::record_of(cohort, options, fit);
  const ChainParameters parameters = test::chain_of(fit).parameters();
  const StoredModel stored{std::move(fit.model), record};
  const Executor executor(2);
  const Vector scores = leave_one_out(stored, cohort, executor);
  // One step from the model, with all students and without one.
  FitOptions step("nb+hidden-tree");
  step.set("states", 1).set("iterations", 1).set("tolerance", 0.0).set("link-prior", 0.4).set("timing-prior", 3.5);
  const HiddenChain start({"nb", "hidden-tree", false, TimeStructure::one_step, cohort.schema()}, parameters);
  TrainingContext context{executor};
  context.warm = &start;
  const auto score_of = [&](const Model& model, std::int64_t s) {
    return model
        .log_likelihood(EvidenceBatch::of(cohort.select(std::vector<std::int64_t>{s})), LikelihoodKind::mass, executor)
        .value(0, 0);
  };
  const FitResult with = fit_model(cohort, step, context);
  for (std::int64_t s = 0; s < cohort.student_count(); s += 7) {
    std::vector<std::int64_t> others;
    for (std::int64_t other = 0; other < cohort.student_count(); ++other) {
      if (other != s) others.push_back(other);
    }
    const FitResult without = fit_model(cohort.select(others), step, context);
    const double expected = score_of(*stored.model, s) + score_of(*without.model, s) - score_of(*with.model, s);
    EXPECT_NEAR(scores[s], std::min(0.0, expected), 1e-9) << s;
  }
}

}  // namespace
}  // namespace desirepath::hidden_tree_test
