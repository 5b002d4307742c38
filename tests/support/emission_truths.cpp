#include "support/emission_truths.h"

#include <array>
#include <cmath>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/emissions/tree.h"

namespace desirepath::test {

namespace {

RowMatrix random_shares(Index bits, Index states, RandomStream& stream) {
  RowMatrix p(bits, states);
  for (Index i = 0; i < p.size(); ++i)
    p.data()[i] = 0.05 + 0.9 * stream.uniform();
  return p;
}

std::unique_ptr<Emission> draw_bernoulli(const StepShape& shape, Id states, RandomStream& stream) {
  return std::make_unique<BernoulliEmission>(random_shares(shape.bits(), states, stream));
}

double bernoulli_probability(const Emission& emission, const std::vector<bool>& bits, Id state) {
  const RowMatrix& shares = dynamic_cast<const BernoulliEmission&>(emission).probability();
  double probability = 1;
  for (std::size_t j = 0; j < bits.size(); ++j) {
    const double p = shares(static_cast<Index>(j), state);
    probability *= bits[j] ? p : 1 - p;
  }
  return probability;
}

/// A random recursive tree in a shuffled order, now and then a second root.
DependencyTree random_tree(Id bits, RandomStream& stream) {
  std::vector<Id> parent(static_cast<std::size_t>(bits), -1), order(static_cast<std::size_t>(bits));
  for (Id j = 0; j < bits; ++j)
    order[static_cast<std::size_t>(j)] = j;
  shuffle(order, stream);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (stream.bernoulli(0.15)) continue;
    parent[static_cast<std::size_t>(order[i])] = order[stream.below(i)];
  }
  return DependencyTree(parent);
}

TreeGroup random_group(Id bits, Id states, Id first, RandomStream& stream) {
  DependencyTree shape = random_tree(bits, stream);
  const RowMatrix no = random_shares(bits, states, stream);
  RowMatrix yes = random_shares(bits, states, stream);
  for (Id j = 0; j < bits; ++j) {
    if (shape.parent(j) < 0) yes.row(j) = no.row(j);
  }
  return TreeGroup(std::move(shape), first, no, std::move(yes));
}

std::unique_ptr<Emission> draw_shared_tree(const StepShape& shape, Id states, RandomStream& stream) {
  return std::make_unique<TreeEmission>(std::vector<TreeGroup>{random_group(shape.bits(), states, 0, stream)});
}

std::unique_ptr<Emission> draw_trees(const StepShape& shape, Id states, RandomStream& stream) {
  std::vector<TreeGroup> groups;
  for (Id k = 0; k < states; ++k)
    groups.push_back(random_group(shape.bits(), 1, k, stream));
  return std::make_unique<TreeEmission>(std::move(groups));
}

double tree_probability(const Emission& emission, const std::vector<bool>& bits, Id state) {
  const auto& tree = dynamic_cast<const TreeEmission&>(emission);
  const TreeGroup& group = tree.groups()[tree.is_shared() ? 0 : static_cast<std::size_t>(state)];
  double probability = 1;
  for (std::size_t j = 0; j < bits.size(); ++j) {
    const Id parent = group.tree().parent(static_cast<Id>(j));
    const bool given = parent >= 0 && bits[static_cast<std::size_t>(parent)];
    const RowMatrix& table = given ? group.given_taken() : group.given_not_taken();
    const double p = table(static_cast<Index>(j), state - group.first_state());
    probability *= bits[j] ? p : 1 - p;
  }
  return probability;
}

std::unique_ptr<Emission> draw_probit(const StepShape& shape, Id states, RandomStream& stream) {
  const auto normals = [&](Index rows, Index columns) {
    RowMatrix values(rows, columns);
    for (Index i = 0; i < values.size(); ++i)
      values.data()[i] = stream.normal();
    return values;
  };
  const RowMatrix intercepts = normals(shape.bits(), states), slopes = normals(shape.bits() * states, 2);
  return std::make_unique<ProbitEmission>(intercepts, slopes, factor_nodes(2, 32));
}

double probit_probability(const Emission& emission, const std::vector<bool>& bits, Id state) {
  const auto& probit = dynamic_cast<const ProbitEmission&>(emission);
  double probability = 0;
  for (Index s = 0; s < probit.nodes().log_weights.size(); ++s) {
    double product = std::exp(probit.nodes().log_weights[s]);
    for (std::size_t j = 0; j < bits.size(); ++j) {
      const auto bit = static_cast<Index>(j);
      const double eta = probit.intercepts()(bit, state) +
                         probit.slopes().row(state * probit.bit_count() + bit).dot(probit.nodes().points.row(s));
      product *= 0.5 * std::erfc((bits[j] ? -eta : eta) / std::sqrt(2.0));
    }
    probability += product;
  }
  return probability;
}

/// Weights of a distribution, none near 0.
Eigen::RowVectorXd random_distribution(Index size, RandomStream& stream) {
  Eigen::RowVectorXd weights(size);
  for (double& weight : weights)
    weight = 0.1 + stream.uniform();
  return weights / weights.sum();
}

RowMatrix random_distributions(Index rows, Index size, RandomStream& stream) {
  RowMatrix result(rows, size);
  for (Index r = 0; r < rows; ++r)
    result.row(r) = random_distribution(size, stream);
  return result;
}

std::unique_ptr<Emission> draw_hidden_trees(const StepShape& shape, Id states, RandomStream& stream) {
  constexpr Id hidden = 3;
  std::vector<std::shared_ptr<const HiddenTree>> trees;
  for (Id k = 0; k < states; ++k) {
    HiddenTreeParameters p;
    p.parents = {-1};
    p.trait_values = shape.trait_values;
    p.departure = shape.departure;
    const Id nodes = shape.courses + shape.trait_count(), width = widest_node(shape);
    for (Id c = 1; c < nodes; ++c)
      p.parents.push_back(static_cast<Id>(stream.below(static_cast<std::uint64_t>(c))));
    p.initial = random_distribution(hidden, stream).transpose();
    p.transition = random_distributions(nodes * hidden, hidden, stream);
    p.timing = RowMatrix::Zero(nodes * hidden, width);
    p.timing.leftCols(shape.periods + 1) = random_distributions(nodes * hidden, shape.periods + 1, stream);
    p.retake = RowMatrix::Zero(nodes, shape.periods);
    p.retake.topRows(shape.courses) = 0.8 * random_shares(shape.courses, shape.periods, stream);
    p.centres = {random_distribution(hidden, stream).transpose(), RowMatrix::Zero(nodes, width),
                 Vector::Constant(shape.periods, 0.2)};
    p.centres.timing.leftCols(shape.periods + 1) = random_distributions(nodes, shape.periods + 1, stream);
    for (Id i = 0; i < shape.trait_count(); ++i) {
      const Id values = shape.trait_values[static_cast<std::size_t>(i)], node = shape.courses + i;
      p.timing.middleRows(node * hidden, hidden).setZero();
      p.timing.block(node * hidden, 0, hidden, values) = random_distributions(hidden, values, stream);
      p.centres.timing.row(node).setZero();
      p.centres.timing.row(node).head(values) = random_distribution(values, stream);
    }
    trees.push_back(std::make_shared<const HiddenTree>(std::move(p)));
  }
  return std::make_unique<HiddenTreeEmission>(std::move(trees), Retakes::learned);
}

/// Every assignment of the hidden variables, written out.
double hidden_tree_probability(const Emission& emission, const std::vector<bool>& bits, Id state) {
  const HiddenTreeParameters& p =
      dynamic_cast<const HiddenTreeEmission&>(emission).trees()[static_cast<std::size_t>(state)]->parameters();
  const Id courses = p.courses(), periods = p.periods(), hidden = p.states();
  std::vector<Id> first;
  double retakes = 1;
  for (Id c = 0; c < courses; ++c) {
    Id v = 0;
    for (Id t = 0; t < periods; ++t) {
      const bool taken = bits[static_cast<std::size_t>(t * courses + c)];
      if (v > 0) retakes *= taken ? p.retake(c, t) : 1 - p.retake(c, t);
      if (v == 0 && taken) v = t + 1;
    }
    first.push_back(v);
  }
  std::uint64_t assignments = 1;
  for (Id c = 0; c < courses; ++c)
    assignments *= static_cast<std::uint64_t>(hidden);
  double sum = 0;
  for (std::uint64_t code = 0; code < assignments; ++code) {
    std::vector<Id> z;
    for (std::uint64_t rest = code; static_cast<Id>(z.size()) < courses; rest /= static_cast<std::uint64_t>(hidden))
      z.push_back(static_cast<Id>(rest % static_cast<std::uint64_t>(hidden)));
    double product = retakes;
    for (Id c = 0; c < courses; ++c) {
      const Id own = z[static_cast<std::size_t>(c)], parent = p.parents[static_cast<std::size_t>(c)];
      product *= parent < 0 ? p.initial[own] : p.transition(c * hidden + z[static_cast<std::size_t>(parent)], own);
      product *= p.timing(c * hidden + own, first[static_cast<std::size_t>(c)]);
    }
    sum += product;
  }
  return sum;
}

}  // namespace

std::span<const EmissionTruth> emission_truths() {
  static const std::array truths = {
      EmissionTruth{"bernoulli", "", draw_bernoulli, bernoulli_probability},
      EmissionTruth{"tree", "", draw_shared_tree, tree_probability},
      EmissionTruth{"tree", "per_state", draw_trees, tree_probability},
      EmissionTruth{"probit", "", draw_probit, probit_probability},
      EmissionTruth{"hidden-tree", "", draw_hidden_trees, hidden_tree_probability},
  };
  return truths;
}

}  // namespace desirepath::test
