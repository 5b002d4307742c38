// Trees where bits are unknown: the M step against enumeration of every completion, and how shapes are judged.
#include "desirepath/emissions/tree.h"

#include <cmath>

#include "support/emission_steps.h"
#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/models/chain_evidence.h"

namespace desirepath::tree_test {
namespace {

constexpr Id courses = 2, periods = 3, bits = courses * periods, states = 2;
constexpr double pseudocount = 0.3;

RowPool rows_of(const Cohort& cohort) {
  RowPool pool = pool_rows(EvidenceBatch::of(cohort), std::vector<PeriodRange>{{0, cohort.schema().period_count()}});
  std::vector<double> weights;
  for (std::int64_t row = 0; row < pool.rows.row_count(); ++row)
    weights.push_back(static_cast<double>(pool.occurrences_of(row).size()));
  pool.rows.set_weights(std::move(weights));
  return pool;
}

/// A mixture of trees of one shape, every row completed in every way.
class DenseTrees {
 public:
  DenseTrees(const DependencyTree& tree, const StepRows& rows) : tree_(tree), rows_(rows) {}

  /// Unknown bits by these shares (bits by states), independent of each other.
  void start(const RowMatrix& weight, const RowMatrix& share) {
    given_[0] = given_[1] = share;
    maximise(weight, [&](unsigned world, Id state, unsigned known) {
      double p = 1;
      for (Id j = 0; j < bits; ++j) {
        if ((known >> j & 1) == 0) p *= (world >> j & 1) != 0 ? share(j, state) : 1 - share(j, state);
      }
      return p;
    });
  }
  void step(const RowMatrix& weight) {
    maximise(weight, [&](unsigned world, Id state, unsigned) { return probability(world, state); });
  }
  double log_probability(std::int64_t row, Id state) const {
    double sum = 0;
    for_each_completion(row, [&](unsigned world, unsigned) { sum += probability(world, state); });
    return std::log(sum);
  }

 private:
  double probability(unsigned world, Id state) const {
    double p = 1;
    for (Id j = 0; j < bits; ++j) {
      const Id parent = tree_.parent(j);
      const double one = given_[parent >= 0 && (world >> parent & 1) != 0 ? 1 : 0](j, state);
      p *= (world >> j & 1) != 0 ? one : 1 - one;
    }
    return p;
  }
  void for_each_completion(std::int64_t row, const std::function<void(unsigned, unsigned)>& act) const {
    unsigned taken = 0, known = 0;
    for (Id j = 0; j < bits; ++j) {
      if (!rows_.unknown(rows_.pattern_of(row)).contains(j)) known |= 1U << j;
    }
    for (const Id j : rows_.taken(row))
      taken |= 1U << j;
    for (unsigned world = 0; world < 1U << bits; ++world) {
      if ((world & known) == taken) act(world, known);
    }
  }
  void maximise(const RowMatrix& weight, const std::function<double(unsigned, Id, unsigned)>& likelihood) {
    std::vector<Matrix> together(states, Matrix::Zero(bits, bits));
    for (std::int64_t row = 0; row < rows_.row_count(); ++row) {
      for (Id k = 0; k < states; ++k) {
        double total = 0;
        for_each_completion(row, [&](unsigned w, unsigned known) { total += likelihood(w, k, known); });
        for_each_completion(row, [&](unsigned w, unsigned known) {
          const double share = weight(row, k) * likelihood(w, k, known) / total;
          for (Id i = 0; i < bits; ++i) {
            for (Id j = 0; j < bits; ++j)
              together[static_cast<std::size_t>(k)](i, j) += (w >> i & 1) != 0 && (w >> j & 1) != 0 ? share : 0;
          }
        });
      }
    }
    for (Id k = 0; k < states; ++k) {
      const Matrix& n = together[static_cast<std::size_t>(k)];
      const double all = weight.col(k).sum() + 4 * pseudocount;
      for (Id j = 0; j < bits; ++j) {
        const Id parent = tree_.parent(j);
        given_[0](j, k) = given_[1](j, k) = (n(j, j) + 2 * pseudocount) / all;
        if (parent < 0) continue;
        const double above = n(parent, parent) + 2 * pseudocount, both = n(parent, j) + pseudocount;
        given_[1](j, k) = both / above;
        given_[0](j, k) = (n(j, j) + 2 * pseudocount - both) / (all - above);
      }
    }
  }

  DependencyTree tree_;
  const StepRows& rows_;
  RowMatrix given_[2];
};

/// E step of a mixture: weights of the states for every row, and the log-likelihood.
double weigh(const StepRows& rows, const RowMatrix& scores, Vector& prior, RowMatrix& weight) {
  double sum = 0;
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const double students = rows.weights()[static_cast<std::size_t>(row)];
    const Vector joint = prior.array() * scores.row(row).transpose().array().exp();
    sum += students * std::log(joint.sum());
    weight.row(row) = students * joint.transpose() / joint.sum();
  }
  prior = weight.colwise().sum().transpose() / weight.sum();
  return sum;
}

TEST(TreeWithUnknownBits, FollowsTheTextbookOverTwentyIterations) {
  const Cohort cohort = test::random_cohort(
      {.students = 60, .courses = courses, .periods = periods, .taken = 0.4, .unknown = 0.35}, RandomStream(11));
  const RowPool pool = rows_of(cohort);
  const StepRows& rows = pool.rows;
  ASSERT_FALSE(rows.all_known());
  const Executor executor(2);
  TreeOptions options;
  options.pseudocount = pseudocount;
  const TreeLearner learner(options);
  RandomStream stream(12);
  RowMatrix weight(rows.row_count(), states);
  for (Index row = 0; row < weight.rows(); ++row) {
    weight(row, 0) = 0.05 + 0.9 * stream.uniform();
    weight(row, 1) = 1 - weight(row, 0);
    weight.row(row) *= rows.weights()[static_cast<std::size_t>(row)];
  }
  std::unique_ptr<Emission> emission = test::next_emission(learner, rows, weight, nullptr, executor);
  DenseTrees dense(dynamic_cast<const TreeEmission&>(*emission).tree(0), rows);
  RowMatrix share(bits, states);
  for (Id j = 0; j < bits; ++j) {
    for (Id k = 0; k < states; ++k) {
      double taken = 0, known = 0;
      for (std::int64_t row = 0; row < rows.row_count(); ++row) {
        if (rows.unknown(rows.pattern_of(row)).contains(j)) continue;
        known += weight(row, k);
        taken += std::ranges::count(rows.taken(row), j) > 0 ? weight(row, k) : 0;
      }
      share(j, k) = (taken + 2 * pseudocount) / (known + 4 * pseudocount);
    }
  }
  RowMatrix dense_weight = weight, dense_scores(rows.row_count(), states);
  dense.start(dense_weight, share);
  Vector prior = weight.colwise().sum().transpose() / weight.sum(), dense_prior = prior;
  for (int iteration = 0; iteration <= 20; ++iteration) {
    const RowMatrix scores = emission->score(rows, LikelihoodKind::mass, Precision::quick, executor).log_likelihood;
    for (std::int64_t row = 0; row < rows.row_count(); ++row) {
      for (Id k = 0; k < states; ++k)
        dense_scores(row, k) = dense.log_probability(row, k);
    }
    const double found = weigh(rows, scores, prior, weight);
    const double expected = weigh(rows, dense_scores, dense_prior, dense_weight);
    EXPECT_NEAR(found, expected, 1e-9 * std::abs(expected)) << "iteration " << iteration;
    emission = test::next_emission(learner, rows, weight, emission.get(), executor);
    dense.step(dense_weight);
  }
}

/// Two courses in three periods, most students unknown in one of them. A course is mostly taken again in the next
/// period; the first and third are alike only through the second.
Cohort chained_cohort() {
  RandomStream stream(5);
  test::CohortMaker made(courses, periods);
  for (int s = 0; s < 600; ++s) {
    made.add_student();
    const auto hidden = static_cast<Id>(stream.uniform() * 3.9);  // 3: none
    bool takes[courses] = {stream.bernoulli(0.5), stream.bernoulli(0.5)};
    for (Id t = 0; t < periods; ++t) {
      if (t == hidden) made.set(t, Presence::unknown);
      for (Id c = 0; c < courses; ++c) {
        if (t > 0 && stream.bernoulli(0.15)) takes[c] = !takes[c];
        if (takes[c]) made.take(t, c);
      }
    }
  }
  return made.build();
}

TEST(TreeWithUnknownBits, ABetterShapeIsTakenFromAFilledWorseOne) {
  const Cohort cohort = chained_cohort();
  const RowPool pool = rows_of(cohort);
  const Executor executor(2);
  const TreeLearner learner((TreeOptions()));
  RowMatrix weight(pool.rows.row_count(), 1);
  for (Index row = 0; row < weight.rows(); ++row)
    weight(row, 0) = pool.rows.weights()[static_cast<std::size_t>(row)];
  const auto objective = [&](const Emission& emission) {
    const RowMatrix scores = emission.score(pool.rows, LikelihoodKind::mass, Precision::quick, executor).log_likelihood;
    return scores.cwiseProduct(weight).sum() + learner.log_prior(learner.survey(pool.rows), emission);
  };
  // The third period hangs on the first: nearly as good, and filled by many steps of its own.
  const RowMatrix half = RowMatrix::Constant(bits, 1, 0.5);
  std::vector<TreeGroup> groups;
  groups.emplace_back(DependencyTree({-1, 0, 0, 1, 0, 1}), 0, half, half);
  std::unique_ptr<Emission> worse = std::make_unique<TreeEmission>(std::move(groups));
  for (int step = 0; step < 100; ++step)
    worse = test::next_emission(learner, pool.rows, weight, worse.get(), executor);
  const std::unique_ptr<Emission> proposed = test::proposed_emission(learner, pool.rows, weight, *worse, executor);
  ASSERT_NE(proposed, nullptr);
  EXPECT_GT(objective(*proposed), objective(*worse));
  // What it was judged by is nearly what its shape can reach.
  std::unique_ptr<Emission> reached = test::next_emission(learner, pool.rows, weight, proposed.get(), executor);
  for (int step = 0; step < 100; ++step)
    reached = test::next_emission(learner, pool.rows, weight, reached.get(), executor);
  EXPECT_LT(objective(*reached) - objective(*proposed), 0.1 * (objective(*reached) - objective(*worse)));
}

// So many rows that their pairs are counted row by row, not course by course: it must not matter.
TEST(TreeShapes, OfManyRowsAreThoseOfTheCoursesOneByOne) {
  constexpr Id many = 16;
  test::CohortMaker made(many, 1);
  for (Id record = 0; record < 1 << many; ++record) {
    made.add_student();
    for (Id bit = 0; bit < many; ++bit) {
      if ((record >> bit & 1) != 0) made.take(bit);
    }
  }
  const RowPool pool = rows_of(made.build());
  ASSERT_EQ(pool.rows.row_count(), 1 << many);
  RandomStream stream(6);
  RowMatrix weight(pool.rows.row_count(), many);
  for (Index row = 0; row < weight.rows(); ++row) {
    std::vector<bool> takes(many, false);
    for (const Id bit : pool.rows.taken(row))
      takes[static_cast<std::size_t>(bit)] = true;
    for (std::size_t k = 0; k < many; ++k) {
      const bool tied = takes[k] == takes[(k + 1) % many], apart = takes[(k + 2) % many] != takes[(k + 7) % many];
      weight(row, static_cast<Index>(k)) = stream.uniform() + (tied ? 0.5 : 0) + (apart ? 0.3 : 0);
    }
  }
  TreeOptions options;
  options.shape = TreeShape::per_state;
  const TreeLearner learner(options);
  const Executor executor(2);
  const auto together = test::next_emission(learner, pool.rows, weight, nullptr, executor);
  for (Id k = 0; k < many; ++k) {
    const auto alone = test::next_emission(learner, pool.rows, weight.col(k), nullptr, executor);
    const DependencyTree& tree = dynamic_cast<const TreeEmission&>(*together).tree(k);
    EXPECT_EQ(tree.parents(), dynamic_cast<const TreeEmission&>(*alone).tree(0).parents()) << k;
    const auto joins = [&](Id a, Id b) { return tree.parent(a) == b || tree.parent(b) == a; };
    EXPECT_TRUE(joins(k, (k + 1) % many)) << k;
    EXPECT_TRUE(joins((k + 2) % many, (k + 7) % many)) << k;
  }
}

}  // namespace
}  // namespace desirepath::tree_test
