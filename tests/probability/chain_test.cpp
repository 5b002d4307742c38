#include <cmath>

#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/probability/assignment.h"
#include "desirepath/probability/dependency_tree.h"
#include "desirepath/probability/log_space.h"
#include "desirepath/probability/markov_chain.h"

namespace desirepath::chain_test {
namespace {

TEST(LogSpace, SumsOfExponentials) {
  const std::vector<double> logs = {std::log(0.25), -infinity, std::log(0.5)};
  EXPECT_NEAR(log_sum_exp(logs), std::log(0.75), 1e-15);
  EXPECT_EQ(log_sum_exp(std::vector<double>{-infinity, -infinity}), -infinity);
  EXPECT_EQ(log_sum_exp({}), -infinity);
  std::vector<double> far = {-1e5, -1e5 + std::log(3.0)};
  EXPECT_NEAR(normalise_logs(far), -1e5 + std::log(4.0), 1e-9);
  EXPECT_NEAR(far[0], 0.25, 1e-10);
}

ChainPrior two_state_chain() {
  ChainPrior prior;
  prior.initial = Vector(2);
  prior.initial << 0.6, 0.4;
  Matrix transition(2, 2);
  transition << 0.7, 0.3, 0.4, 0.6;
  prior.transitions = {transition, transition};
  return prior;
}

TEST(MarkovChain, ForwardBackwardOfATextbookExample) {
  // Rain and umbrella with observations yes, yes, no (emission 0.9 / 0.2): p(observations) by hand over eight paths.
  const ChainPrior prior = two_state_chain();
  RowMatrix logs(3, 2);
  logs << std::log(0.9), std::log(0.2), std::log(0.9), std::log(0.2), std::log(0.1), std::log(0.8);
  double total = 0;
  RowMatrix gamma = RowMatrix::Zero(3, 2);
  Matrix pairs = Matrix::Zero(2, 2);
  for (int a : {0, 1}) {
    for (int b : {0, 1}) {
      for (int c : {0, 1}) {
        const double p = prior.initial[a] * std::exp(logs(0, a)) * prior.transitions[0](a, b) * std::exp(logs(1, b)) *
                         prior.transitions[1](b, c) * std::exp(logs(2, c));
        total += p;
        gamma(0, a) += p;
        gamma(1, b) += p;
        gamma(2, c) += p;
        pairs(b, c) += p;
      }
    }
  }
  ChainPosterior posterior(prior);
  EXPECT_NEAR(posterior.run(logs), std::log(total), 1e-14);
  EXPECT_NEAR((posterior.states() - gamma / total).cwiseAbs().maxCoeff(), 0, 1e-14);
  Matrix found = Matrix::Zero(2, 2);
  posterior.add_pairs(1, 1, found);
  EXPECT_NEAR((found - pairs / total).cwiseAbs().maxCoeff(), 0, 1e-14);
}

TEST(MarkovChain, SurvivesWhereOnlyAFarWorseStateIsPossible) {
  ChainPrior prior;
  prior.initial = Vector(2);
  prior.initial << 0, 1;
  prior.transitions = {Matrix::Identity(2, 2)};
  RowMatrix logs(2, 2);
  logs << 0, -2000, 0, -3000;  // the impossible state explains everything
  ChainPosterior posterior(prior);
  EXPECT_NEAR(posterior.run(logs), -5000, 1e-9);
  EXPECT_EQ(posterior.states()(0, 1), 1);
  Matrix pairs = Matrix::Zero(2, 2);
  posterior.add_pairs(0, 2, pairs);
  EXPECT_EQ(pairs(1, 1), 2);
  logs(1, 1) = -infinity;
  EXPECT_EQ(posterior.run(logs), -infinity);
  EXPECT_EQ(posterior.states().sum(), 0);
  RandomStream stream(1);
  EXPECT_THROW(sample_path(prior, logs, stream), NumericalError);
}

TEST(MarkovChain, InLogarithmsEqualsEnumeration) {
  // A third state explains everything and cannot be: beside it the others' probabilities underflow.
  ChainPrior prior;
  prior.initial = Vector(3);
  prior.initial << 0.7, 0.3, 0;
  for (const double stay : {0.9, 0.6}) {
    Matrix transition(3, 3);
    transition << stay, 1 - stay, 0, 0.25, 0.75, 0, 0, 0, 1;
    prior.transitions.push_back(transition);
  }
  constexpr double far = -1000;
  RowMatrix logs(3, 3);
  logs << far - 1, far - 3, 0, far - 2, far - 0.5, 0, far - 1.5, far - 1, 0;
  double total = 0;
  RowMatrix gamma = RowMatrix::Zero(3, 3);
  Matrix pairs[2] = {Matrix::Zero(3, 3), Matrix::Zero(3, 3)};
  for (const int a : {0, 1}) {
    for (const int b : {0, 1}) {
      for (const int c : {0, 1}) {
        const double p = prior.initial[a] * prior.transitions[0](a, b) * prior.transitions[1](b, c) *
                         std::exp(logs(0, a) + logs(1, b) + logs(2, c) - 3 * far);
        total += p;
        gamma(0, a) += p;
        gamma(1, b) += p;
        gamma(2, c) += p;
        pairs[0](a, b) += p;
        pairs[1](b, c) += p;
      }
    }
  }
  ChainPosterior posterior(prior);
  EXPECT_NEAR(posterior.run(logs), 3 * far + std::log(total), 1e-10);
  EXPECT_LT((posterior.states() - gamma / total).cwiseAbs().maxCoeff(), 1e-10);
  for (Index step = 0; step < 2; ++step) {
    Matrix found = Matrix::Zero(3, 3);
    posterior.add_pairs(step, 2, found);
    EXPECT_LT((found - 2 * pairs[step] / total).cwiseAbs().maxCoeff(), 1e-10) << step;
  }
}

TEST(MarkovChain, MostLikelyPathIsTheBestOfAll) {
  test::expect_property("Viterbi equals enumeration", [](std::uint64_t seed) {
    RandomStream stream(seed);
    ChainPrior prior;
    prior.initial = Vector::NullaryExpr(3, [&] { return stream.uniform(); });
    prior.initial /= prior.initial.sum();
    for (int t = 0; t < 2; ++t) {
      Matrix m = Matrix::NullaryExpr(3, 3, [&] { return stream.bernoulli(0.2) ? 0.0 : stream.uniform() + 0.01; });
      for (int k = 0; k < 3; ++k)
        m(k, k) += 0.1;
      for (int k = 0; k < 3; ++k)
        m.row(k) /= m.row(k).sum();
      prior.transitions.push_back(m);
    }
    const RowMatrix logs = RowMatrix::NullaryExpr(3, 3, [&] { return 5 * stream.normal(); });
    double best = -infinity;
    for (int code = 0; code < 27; ++code) {
      const int a = code % 3, b = code / 3 % 3, c = code / 9;
      const auto log = [](double p) { return p > 0 ? std::log(p) : -infinity; };
      best = std::max(best, log(prior.initial[a]) + logs(0, a) + log(prior.transitions[0](a, b)) + logs(1, b) +
                                log(prior.transitions[1](b, c)) + logs(2, c));
    }
    RC_ASSERT(std::abs(most_likely_path(prior, logs).log_probability - best) < 1e-9);
  });
}

TEST(DependencyTree, KnowsOrderAndChildren) {
  const DependencyTree tree({2, -1, 1, 2});
  EXPECT_EQ(std::vector<Id>(tree.order().begin(), tree.order().end()), (std::vector<Id>{1, 2, 0, 3}));
  EXPECT_EQ(std::vector<Id>(tree.children(2).begin(), tree.children(2).end()), (std::vector<Id>{0, 3}));
  EXPECT_EQ(tree.edge_count(), 3);
  EXPECT_THROW(DependencyTree({1, 0}), InputError);
  EXPECT_THROW(DependencyTree({5}), InputError);
}

TEST(DependencyTree, SpansTheHeaviestEdges) {
  Matrix w = Matrix::Zero(4, 4);
  w(0, 1) = 1;
  w(1, 2) = 5;
  w(0, 2) = 4;
  w(2, 3) = 2;
  w(0, 3) = 3;
  const std::vector<Id> all = {0, 1, 2, 3}, some = {0, 2, 3};
  const auto weight = [&](Id i, Id j) { return w(i, j); };
  EXPECT_EQ(maximum_spanning_tree(4, all, weight).parents(), (std::vector<Id>{-1, 2, 0, 0}));
  EXPECT_EQ(maximum_spanning_tree(4, some, weight).parents(), (std::vector<Id>{-1, -1, 0, 0}));
}

TEST(Assignment, IsTheCheapest) {
  test::expect_property("no permutation is cheaper", [](std::uint64_t seed) {
    RandomStream stream(seed);
    const Index size = 1 + static_cast<Index>(stream.below(5));
    const Matrix cost = Matrix::NullaryExpr(size, size, [&] { return stream.normal(); });
    const std::vector<Id> found = cheapest_assignment(cost);
    std::vector<Id> permutation(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < permutation.size(); ++i)
      permutation[i] = static_cast<Id>(i);
    const auto total = [&](const std::vector<Id>& p) {
      double sum = 0;
      for (std::size_t i = 0; i < p.size(); ++i)
        sum += cost(static_cast<Index>(i), p[i]);
      return sum;
    };
    double best = infinity;
    do
      best = std::min(best, total(permutation));
    while (std::next_permutation(permutation.begin(), permutation.end()));
    RC_ASSERT(std::abs(total(found) - best) < 1e-12);
  });
}

}  // namespace
}  // namespace desirepath::chain_test
