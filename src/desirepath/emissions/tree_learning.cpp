// The M step of trees: tables from expected counts along the best shape.
#include <algorithm>
#include <cmath>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/tree.h"
#include "desirepath/emissions/tree_counts.h"

namespace desirepath::inline emissions {

namespace {

constexpr int fill_steps = 8;  // of a proposed tree

/// Tables (count + a) / (weight + 4a), singles their margins.
TreeGroup group_from_counts(const DependencyTree& tree, Id first_state, const EdgeCounts& counts,
                            const Eigen::RowVectorXd& weight, double a) {
  const Id bits = tree.bit_count();
  const Index states = weight.size();
  RowMatrix no(bits, states), yes(bits, states);
  for (Id bit = 0; bit < bits; ++bit) {
    const Id parent = tree.parent(bit);
    for (Index k = 0; k < states; ++k) {
      const double all = weight[k] + 4 * a, taken = counts.taken(bit, k) + 2 * a;
      const double margin = all > 0 ? std::clamp(taken / all, 0.0, 1.0) : 0.5;
      no(bit, k) = yes(bit, k) = margin;
      if (parent < 0) continue;
      const double above = counts.taken(parent, k) + 2 * a, both = counts.together(bit, k) + a;
      // A parent nobody (or everybody) takes says nothing about its children.
      if (above > 0) yes(bit, k) = std::clamp(both / above, 0.0, 1.0);
      if (all - above > 0) no(bit, k) = std::clamp((taken - both) / (all - above), 0.0, 1.0);
    }
  }
  return {tree, first_state, std::move(no), std::move(yes)};
}

}  // namespace

std::unique_ptr<Emission> TreeLearner::maximise(const StepRows& rows, const RowMatrix& responsibilities,
                                                const Emission* previous, const Executor& executor) const {
  const Index states = responsibilities.cols();
  const Eigen::RowVectorXd total = weights_by_pattern(rows, responsibilities, executor).colwise().sum();

  const bool shared = options_.shape == TreeShape::shared;
  const auto* before = dynamic_cast<const TreeEmission*>(previous);
  std::vector<TreeGroup> groups;
  if (rows.all_known() || before == nullptr) {
    // Complete rows: the best shape with its tables is the exact M step. At the start the same, unknown bits taken to
    // be independent with the shares of those who know them.
    const std::vector<DependencyTree> trees = best_trees(rows, responsibilities, executor);
    std::unique_ptr<Emission> independent;
    if (!rows.all_known())
      independent = BernoulliLearner(BernoulliOptions{2 * options_.pseudocount})
                        .maximise(rows, responsibilities, nullptr, executor);
    for (std::size_t g = 0; g < trees.size(); ++g) {
      const auto first = static_cast<Id>(g);
      const Index count = shared ? states : 1;
      EdgeCounts counts = count_known_edges(trees[g], rows, responsibilities, first, count, executor);
      if (independent) {
        const RowMatrix p = independent->bit_probabilities().middleCols(first, count);
        const TreeGroup flat(trees[g], first, p, p);
        add_unknown_edges(flat, rows, responsibilities, counts, executor);
      }
      groups.push_back(group_from_counts(trees[g], first, counts, total.segment(first, count), options_.pseudocount));
    }
    return std::make_unique<TreeEmission>(std::move(groups));
  }
  for (const TreeGroup& old : before->groups()) {
    EdgeCounts counts =
        count_known_edges(old.tree(), rows, responsibilities, old.first_state(), old.state_count(), executor);
    add_unknown_edges(old, rows, responsibilities, counts, executor);
    groups.push_back(group_from_counts(old.tree(), old.first_state(), counts,
                                       total.segment(old.first_state(), old.state_count()), options_.pseudocount));
  }
  return std::make_unique<TreeEmission>(std::move(groups));
}

std::unique_ptr<Emission> TreeLearner::propose(const StepRows& rows, const RowMatrix& responsibilities,
                                               const Emission& current, const Executor& executor) const {
  if (rows.all_known()) return nullptr;  // maximise() has the best shape already
  const auto& emission = dynamic_cast<const TreeEmission&>(current);
  const std::vector<DependencyTree> trees = best_trees(rows, responsibilities, executor);
  bool changed = false;
  for (std::size_t g = 0; g < trees.size(); ++g)
    changed = changed || !(trees[g] == emission.groups()[g].tree());
  if (!changed) return nullptr;
  const Eigen::RowVectorXd total = weights_by_pattern(rows, responsibilities, executor).colwise().sum();
  const RowMatrix margins = emission.bit_probabilities();
  std::vector<TreeGroup> groups;
  for (std::size_t g = 0; g < trees.size(); ++g) {
    const TreeGroup& old = emission.groups()[g];
    EdgeCounts counts =
        count_known_edges(trees[g], rows, responsibilities, old.first_state(), old.state_count(), executor);
    // Pairs of the new shape are not neighbours in the old one: unknown bits enter by the current margins.
    const RowMatrix p = margins.middleCols(old.first_state(), old.state_count());
    add_unknown_edges(TreeGroup(trees[g], old.first_state(), p, p), rows, responsibilities, counts, executor);
    groups.push_back(group_from_counts(trees[g], old.first_state(), counts,
                                       total.segment(old.first_state(), old.state_count()), options_.pseudocount));
  }
  // The current tree has filled its unknown bits in all steps so far, a tree filled once from margins would lose to it
  // whatever its shape: it is judged when it has filled its own a few times, with the states of students as they are.
  std::unique_ptr<Emission> proposed = std::make_unique<TreeEmission>(std::move(groups));
  for (int step = 0; step < fill_steps; ++step)
    proposed = maximise(rows, responsibilities, proposed.get(), executor);
  return proposed;
}

std::string TreeLearner::misfit(const Emission& emission) const {
  const auto* trees = dynamic_cast<const TreeEmission*>(&emission);
  if (trees == nullptr) return "no dependency trees";
  const bool shared = options_.shape == TreeShape::shared;
  if (trees->groups().size() == (shared ? 1 : static_cast<std::size_t>(trees->state_count()))) return {};
  return concat(setting_name("tree"), shared ? " per-state, not shared" : " shared, not per-state");
}

double TreeLearner::log_prior(const StepRows&, const Emission& emission) const {
  const double a = options_.pseudocount;
  if (a == 0) return 0;
  // 4a students whose bits are fair coins: each pair of values of parent and child is met by a of them.
  double sum = 0;
  for (const TreeGroup& group : dynamic_cast<const TreeEmission&>(emission).groups()) {
    for (Id bit = 0; bit < group.tree().bit_count(); ++bit) {
      for (Index k = 0; k < group.state_count(); ++k) {
        for (const bool given : {false, true}) {
          sum +=
              group.log_probability(bit, given, false, k).value() + group.log_probability(bit, given, true, k).value();
        }
      }
    }
  }
  return a * sum;
}

double TreeLearner::memory_estimate(Id bits, Id states, int threads) const {
  const double members = std::min(bits, options_.most_bits);
  const double table = 4 * members * members;
  const double tables = options_.shape == TreeShape::shared
                            ? 1
                            : std::clamp(std::floor(5e8 / std::max(1.0, table)), 1.0, static_cast<double>(states));
  return table * tables + 8.0 * members * states * threads + 20.0 * 8 * bits * states;
}

double TreeLearner::work_estimate(const StepRows& rows, Id states) const {
  double pairs = 0;
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const auto count = static_cast<double>(rows.taken(row).size());
    pairs += count * count / 2 + 3 * count;
  }
  const double members = std::min(rows.bit_count(), options_.most_bits);
  return (2 * pairs + 60 * members * members / 2) * states;
}

std::vector<EmissionNote> TreeLearner::notes(const StepRows& rows, const RowMatrix&, const Emission&) const {
  if (rows.bit_count() <= options_.most_bits) return {};
  return {{-1, -1,
           concat("the ", with_separators(options_.most_bits), " courses with the most takers (a course counts once a ",
                  "period) are tied to each other; the other ", with_separators(rows.bit_count() - options_.most_bits),
                  " are taken as if chosen one apart from the other")}};
}

}  // namespace desirepath::inline emissions
