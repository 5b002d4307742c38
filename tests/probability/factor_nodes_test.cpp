#include "desirepath/probability/factor_nodes.h"

#include <cmath>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath {
namespace {

/// The sum over nodes, written out.
double direct(const ThresholdedFactors& factors, const NodeSet& nodes, const KnownSigns& signs) {
  LogWeightSum sum;
  for (Index s = 0; s < nodes.points.rows(); ++s)
    sum.add(nodes.log_weights[s] + test::log_likelihood_given(factors, signs, nodes.points.row(s).transpose()));
  return sum.log_sum();
}

TEST(FactorNodes, EqualTheSumWrittenOut) {
  for (const Index count : {1, 5, 64, 129}) {
    const test::RandomFactorProblem problem(25, 3, 0.8, 4);
    const ThresholdedFactors factors = problem.factors();
    const FactorNodes nodes(factors, prior_nodes(3, count, RandomStream(2)));
    std::vector<double> work(static_cast<std::size_t>(count));
    EXPECT_NEAR(nodes.log_probability({problem.taken}, work), direct(factors, nodes.nodes(), {problem.taken}), 1e-11);
    const std::vector<Id> taken = {3, 20}, unknown = {0, 1, 7};
    EXPECT_NEAR(nodes.log_probability({taken, unknown}, work), direct(factors, nodes.nodes(), {taken, unknown}), 1e-11);
    EXPECT_NEAR(nodes.log_probability({}, work), direct(factors, nodes.nodes(), {}), 1e-11);
  }
}

TEST(FactorNodes, WeightsSumToOneAndNodesStandForThePrior) {
  const NodeSet nodes = prior_nodes(2, 4096, RandomStream(1));
  EXPECT_NEAR(nodes.log_weights.array().exp().sum(), 1, 1e-12);
  const Vector weights = nodes.log_weights.array().exp();
  EXPECT_LT((nodes.points.transpose() * weights).norm(), 2e-3);
  const Matrix second = nodes.points.transpose() * weights.asDiagonal() * nodes.points;
  EXPECT_LT((second - Matrix::Identity(2, 2)).norm(), 1e-2);
}

TEST(FactorNodes, AllWorldsHaveProbabilityOneExactly) {
  const test::RandomFactorProblem problem(8, 2, 1.3, 9);
  const ThresholdedFactors factors = problem.factors();
  const FactorNodes nodes(factors, prior_nodes(2, 48, RandomStream(5)));
  std::vector<double> work(48);
  double total = 0;
  for (std::uint64_t world = 0; world < 256; ++world) {
    const std::vector<Id> taken = test::taken_in_world(world, 8);
    total += std::exp(nodes.log_probability({taken}, work));
  }
  EXPECT_NEAR(total, 1, 1e-12);
}

TEST(FactorNodes, ApproachTheIntegral) {
  const test::RandomFactorProblem problem(40, 2, 0.5, 9);
  const ThresholdedFactors factors = problem.factors();
  const FactorNodes nodes(factors, prior_nodes(2, 4096, RandomStream(5)));
  std::vector<double> work(4096);
  EXPECT_NEAR(nodes.log_probability({problem.taken}, work), test::quadrature_log_probability(factors, {problem.taken}),
              0.02);
}

TEST(FactorNodes, ProductsThatUnderflowAreTakenInLogSpace) {
  // Courses that exclude each other at every node.
  const Index courses = 60;
  RowMatrix slopes = RowMatrix::Constant(courses, 1, 40);
  for (Index j = 0; j < courses; j += 2)
    slopes(j, 0) = -40;
  const ThresholdedFactors factors(Vector::Constant(courses, -20), slopes);
  const FactorNodes nodes(factors, prior_nodes(1, 33, RandomStream(5)));
  std::vector<Id> taken;
  for (Id j = 0; j < courses; ++j)
    taken.push_back(j);
  std::vector<double> work(33);
  // All arguments are far in the tail, where the C library's erfc is 0: the truth by log Phi alone.
  const double found = nodes.posterior({taken}, work);
  EXPECT_TRUE(std::isfinite(found));
  EXPECT_LT(found, -5000);
  double total = 0;
  for (const double probability : work)
    total += probability;
  EXPECT_NEAR(total, 1, 1e-12);
  // More courses than the table path takes at once.
  std::vector<Id> many = taken;
  EXPECT_TRUE(std::isfinite(nodes.log_probability({std::span(many).first(30), std::span(many).subspan(30)}, work)));
}

TEST(FactorNodes, GradientIsThatOfTheSumOverStudents) {
  const test::RandomFactorProblem problem(6, 2, 0.9, 14);
  const ThresholdedFactors factors = problem.factors();
  const NodeSet node_set = prior_nodes(2, 40, RandomStream(5));
  struct Student {
    std::vector<Id> taken, unknown;
    double weight;
  };
  const std::vector<Student> students = {{{0, 2}, {}, 1}, {{}, {1}, 2.5}, {{5}, {0, 4}, 0.3}, {{1, 2, 3}, {}, 1}};
  const auto objective = [&](const ThresholdedFactors& at) {
    const FactorNodes nodes(at, node_set);
    std::vector<double> work(40);
    double total = 0;
    for (const Student& student : students)
      total += student.weight * nodes.log_probability({student.taken, student.unknown}, work);
    return total;
  };
  const FactorNodes nodes(factors, node_set);
  NodeCounts counts = NodeCounts::zero(6, 40, true);
  std::vector<double> probabilities(40);
  for (const Student& student : students) {
    nodes.posterior({student.taken, student.unknown}, probabilities);
    nodes.add_counts({student.taken, student.unknown}, student.weight, probabilities, counts);
  }
  EXPECT_NEAR(counts.all.sum(), 4.8, 1e-12);
  const FactorGradient gradient = nodes.gradient(counts);
  const Vector by_threshold = test::finite_differences(
      [&](const Vector& thresholds) {
        return objective({thresholds, factors.slopes()});
      },
      factors.thresholds(), 1e-5);
  EXPECT_LT((by_threshold - gradient.thresholds).cwiseAbs().maxCoeff(), 1e-8);
  const Vector by_slope = test::finite_differences(
      [&](const Vector& values) {
        const RowMatrix slopes = Eigen::Map<const RowMatrix>(values.data(), 6, 2);
        return objective({factors.thresholds(), slopes});
      },
      Eigen::Map<const Vector>(factors.slopes().data(), 12), 1e-5);
  EXPECT_LT((by_slope - Eigen::Map<const Vector>(gradient.slopes.data(), 12)).cwiseAbs().maxCoeff(), 1e-8);
}

TEST(FactorNodes, RefusesNodesOfAnotherKind) {
  const ThresholdedFactors factors(Vector::Zero(3), RowMatrix::Zero(3, 2));
  EXPECT_THROW(FactorNodes(factors, prior_nodes(1, 8, RandomStream(1))), InputError);
}

}  // namespace
}  // namespace desirepath
