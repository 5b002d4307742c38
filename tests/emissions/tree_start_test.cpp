// What the learning of hidden trees begins from, against plain versions: pairs of courses counted one by one, and the
// mixture of independent courses by the steps of the Bernoulli family.
#include <cmath>

#include "support/emission_steps.h"
#include "support/example_cohorts.h"
#include "support/support.h"
#include "support/textbook_hidden_tree.h"

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/hidden_tree_start.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::tree_start_test {
namespace {

constexpr StepShape shape{3, 40};

class TreeStarts : public testing::Test {
 protected:
  TreeStarts()
      : pool_(pool_rows(test::odd_students(2500, shape, RandomStream(31)), std::vector<PeriodRange>{{0, 3}})),
        timings_(pool_.rows, shape, Retakes::learned) {
    RandomStream stream(32);
    for (std::int64_t row = 0; row < pool_.rows.row_count(); ++row)
      weights_.push_back(row % 6 == 0 ? 0 : 0.5 + stream.uniform());
  }

  /// First known enrollment, 0: none.
  std::vector<std::vector<Id>> first_enrollments() const {
    std::vector<std::vector<Id>> first;
    for (std::int64_t row = 0; row < pool_.rows.row_count(); ++row) {
      first.emplace_back(static_cast<std::size_t>(shape.courses), 0);
      for (const Id bit : pool_.rows.taken(row)) {
        Id& period = first.back()[static_cast<std::size_t>(bit % shape.courses)];
        if (period == 0) period = bit / shape.courses + 1;
      }
    }
    return first;
  }
  bool knows_all_periods(std::int64_t row) const {
    for (Id t = 0; t < shape.periods; ++t) {
      Id unknown = 0;
      for (Id c = 0; c < shape.courses; ++c)
        unknown += pool_.rows.unknown(pool_.rows.pattern_of(row)).contains(t * shape.courses + c) ? 1 : 0;
      if (2 * unknown > shape.courses) return false;
    }
    return true;
  }

  RowPool pool_;
  TimingRows timings_;
  std::vector<double> weights_;
};

TEST_F(TreeStarts, InformationIsThatOfThePairsCountedOneByOne) {
  const auto first = first_enrollments();
  for (const bool only_whole : {true, false}) {
    double total = 0;
    for (std::size_t row = 0; row < weights_.size(); ++row)
      total += !only_whole || knows_all_periods(static_cast<std::int64_t>(row)) ? weights_[row] : 0;
    std::vector<double> found;
    for (const int threads : {1, 3}) {
      const Executor executor(threads);
      TimingPairs pairs(shape, only_whole, total, total);
      while (!pairs.take(pairs.count(timings_, weights_, executor), executor)) {
      }
      std::size_t at = 0;
      for (Id i = 0; i < shape.courses; ++i) {
        for (Id j = i + 1; j < shape.courses; ++j, ++at) {
          if (threads > 1) {
            EXPECT_EQ(pairs.information(i, j), found[at]);
            continue;
          }
          found.push_back(pairs.information(i, j));
          if (j % 7 != 0) continue;
          RowMatrix table = RowMatrix::Constant(shape.periods + 1, shape.periods + 1, 0.1);
          for (std::size_t row = 0; row < weights_.size(); ++row) {
            if (only_whole && !knows_all_periods(static_cast<std::int64_t>(row))) continue;
            table(first[row][static_cast<std::size_t>(i)], first[row][static_cast<std::size_t>(j)]) += weights_[row];
          }
          table /= table.sum();
          double information = 0;
          for (Index u = 0; u < table.rows(); ++u) {
            for (Index v = 0; v < table.cols(); ++v)
              information += table(u, v) * std::log(table(u, v) / (table.row(u).sum() * table.col(v).sum()));
          }
          EXPECT_NEAR(found.back(), information, 1e-12) << i << " and " << j;
        }
      }
    }
  }
}

/// A gamma variable by Marsaglia and Tsang as they give it, below one by a power of a uniform.
double plain_gamma(double shape_parameter, RandomStream& stream) {
  const double boost = std::pow(stream.uniform_open(), 1 / shape_parameter);
  const double d = shape_parameter + 2.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = stream.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(stream.uniform_open()) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v;
  }
}

TEST_F(TreeStarts, TheMixtureIsThatOfTheBernoulliFamily) {
  const Executor executor(2);
  for (const Id labels : {3, 16, 20}) {
    const RandomStream stream(33);
    RowMatrix expected(pool_.rows.row_count(), labels);
    for (Index row = 0; row < expected.rows(); ++row) {
      RandomStream draws = stream.child(static_cast<std::uint64_t>(row));
      for (Index z = 0; z < labels; ++z)
        expected(row, z) = plain_gamma(0.3, draws) + 1e-300;
      expected.row(row) *= weights_[static_cast<std::size_t>(row)] / expected.row(row).sum();
    }
    const BernoulliLearner learner(BernoulliOptions{});
    for (int step = 0; step < 40; ++step) {
      const Eigen::RowVectorXd size = expected.colwise().sum().array() + 1;
      const Eigen::RowVectorXd log_size = (size / size.sum()).array().log();
      const auto emission = test::next_emission(learner, pool_.rows, expected, nullptr, executor);
      expected = emission->score(pool_.rows, LikelihoodKind::mass, Precision::quick, executor).log_likelihood;
      for (Index row = 0; row < expected.rows(); ++row) {
        expected.row(row) += log_size;
        normalise_logs({expected.row(row).data(), static_cast<std::size_t>(labels)});
        expected.row(row) *= weights_[static_cast<std::size_t>(row)];
      }
    }
    const StartRows rows(pool_.rows, timings_, weights_);
    LabelMixture mixture(labels, stream);
    while (!mixture.take(mixture.count(rows, executor))) {
    }
    const RowMatrix found = mixture.weights_of_kinds(rows, executor);
    RowMatrix by_kind = RowMatrix::Zero(std::ssize(timings_.kinds()) + 1, labels);
    for (std::size_t g = 0; g < timings_.groups().size(); ++g) {
      for (const std::int64_t row : timings_.groups()[g].rows) {
        by_kind.bottomRows(1) += expected.row(row);
        const auto baseline = timings_.baseline_kinds(g);
        std::vector<std::int32_t> kinds(baseline.begin(), baseline.end());
        for (const std::int32_t kind : timings_.changes(row))
          kinds[static_cast<std::size_t>(timings_.kinds()[static_cast<std::size_t>(kind)].course)] = kind;
        for (const std::int32_t kind : kinds)
          by_kind.row(kind) += expected.row(row);
      }
    }
    ASSERT_EQ(found.rows(), by_kind.rows());
    EXPECT_LT((found - by_kind).cwiseAbs().maxCoeff(), 1e-7) << labels;
  }
}

TEST_F(TreeStarts, NoThreadChangesABit) {
  HiddenTreeOptions options;
  options.tree_states = 5;
  std::optional<HiddenTreeParameters> first;
  for (const int threads : {1, 2, 3, 7, 64}) {
    const HiddenTreeParameters found =
        test::started_tree(pool_.rows, shape, weights_, options, RandomStream(34), Executor(threads));
    EXPECT_EQ(found.fault(), std::nullopt);
    if (!first) first = found;
    EXPECT_EQ(found.parents, first->parents) << threads;
    EXPECT_EQ(found.initial, first->initial) << threads;
    EXPECT_EQ(found.timing, first->timing) << threads;
    EXPECT_EQ(found.transition, first->transition) << threads;
    EXPECT_EQ(found.centres.timing, first->centres.timing) << threads;
  }
}

}  // namespace
}  // namespace desirepath::tree_start_test
