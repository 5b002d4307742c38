// The M step of trees: tables from expected counts along the best shape.
#include <algorithm>
#include <cmath>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/tree.h"
#include "desirepath/emissions/tree_counts.h"
#include "desirepath/emissions/tree_shape.h"

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

/// Tables of groups from statistics: for each group what is taken, and taken together with the parent; last the weight
/// of the states.
std::unique_ptr<Emission> emission_from(const std::vector<const DependencyTree*>& trees, Statistics sums, double a) {
  const RowMatrix& weight = sums.table(sums.table_count() - 1);
  std::vector<TreeGroup> groups;
  Index first = 0;
  for (std::size_t g = 0; g < trees.size(); ++g) {
    const EdgeCounts counts{std::move(sums.table(2 * g)), std::move(sums.table(2 * g + 1))};
    const Index states = counts.taken.cols();
    groups.push_back(
        group_from_counts(*trees[g], static_cast<Id>(first), counts, weight.row(0).segment(first, states), a));
    first += states;
  }
  return std::make_unique<TreeEmission>(std::move(groups));
}

void add_edges(EdgeCounts counts, Statistics& sums) {
  sums.add(std::move(counts.taken));
  sums.add(std::move(counts.together));
}

void add_weights(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor, Statistics& sums) {
  sums.add(RowMatrix(weights_by_pattern(rows, responsibilities, executor).colwise().sum()));
}

/// Looks for the best trees, then counts along them.
class NewTrees : public EmissionStep {
 public:
  /// margins: of bits by states, by which unknown bits enter the counts; without any, the shares of those who know
  /// them.
  NewTrees(const RowSurvey& survey, const TreeOptions& options, RowMatrix margins)
      : options_(options),
        search_(survey, options),
        has_unknown_(!survey.all_known()),
        needs_margins_(has_unknown_ && margins.size() == 0),
        margins_(std::move(margins)) {}

  Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const override {
    if (!is_searched_) {
      Statistics sums = search_.count(rows, responsibilities, executor);
      if (needs_margins_) {
        BitCounts bits = count_bits(rows, responsibilities, executor);
        sums.add(std::move(bits.taken));
        sums.add(std::move(bits.known));
      }
      return sums;
    }
    Statistics sums;
    const Index states = is_shared() ? responsibilities.cols() : 1;
    for (std::size_t g = 0; g < search_.trees().size(); ++g) {
      const auto first = static_cast<Id>(g);
      EdgeCounts counts = count_known_edges(search_.trees()[g], rows, responsibilities, first, states, executor);
      if (has_unknown_) {
        // Pairs of a new shape are not neighbours in an old one: they are taken to be independent.
        const RowMatrix p = margins_.middleCols(first, states);
        add_unknown_edges(TreeGroup(search_.trees()[g], first, p, p), rows, responsibilities, counts, executor);
      }
      add_edges(std::move(counts), sums);
    }
    add_weights(rows, responsibilities, executor, sums);
    return sums;
  }

  StepResult maximise(Statistics sums, const Executor& executor) override {
    if (!is_searched_) {
      if (needs_margins_) {
        const std::size_t last = sums.table_count() - 1;
        margins_ = bernoulli_shares({sums.table(last - 1), sums.table(last)}, 2 * options_.pseudocount);
        needs_margins_ = false;
      }
      is_searched_ = search_.take(sums, executor);
      return StepResult::count_again();
    }
    std::vector<const DependencyTree*> trees;
    for (const DependencyTree& tree : search_.trees())
      trees.push_back(&tree);
    return {emission_from(trees, std::move(sums), options_.pseudocount)};
  }

  bool is_searched() const { return is_searched_; }
  const std::vector<DependencyTree>& trees() const { return search_.trees(); }

 private:
  bool is_shared() const { return options_.shape == TreeShape::shared; }

  TreeOptions options_;
  TreeSearch search_;
  bool has_unknown_, needs_margins_, is_searched_ = false;
  RowMatrix margins_;
};

/// Other trees than the current ones, if they are better ones.
class ProposedTrees : public EmissionStep {
 public:
  ProposedTrees(const TreeLearner& learner, const RowSurvey& survey, const TreeOptions& options,
                const TreeEmission& current)
      : learner_(learner), survey_(survey), current_(current), search_(survey, options, current.bit_probabilities()) {}

  Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const override {
    return (fill_ ? *fill_ : static_cast<const EmissionStep&>(search_)).count(rows, responsibilities, executor);
  }

  StepResult maximise(Statistics sums, const Executor& executor) override {
    const bool was_searched = search_.is_searched();
    EmissionStep& current = fill_ ? *fill_ : static_cast<EmissionStep&>(search_);
    StepResult result = current.maximise(std::move(sums), executor);
    if (!was_searched && search_.is_searched() && !has_changed()) return {};
    if (!result.is_done) return result;
    // The current tree has filled its unknown bits in all steps so far, a tree filled once from margins would lose to
    // it whatever its shape: it is judged when it has filled its own a few times, with the states of students as they
    // are.
    proposed_ = std::move(result.emission);
    if (filled_++ == fill_steps) return {std::move(proposed_)};
    fill_ = learner_.step(survey_, *proposed_);
    return StepResult::count_again();
  }

 private:
  bool has_changed() const {
    for (std::size_t g = 0; g < search_.trees().size(); ++g) {
      if (!(search_.trees()[g] == current_.groups()[g].tree())) return true;
    }
    return false;
  }

  const TreeLearner& learner_;
  const RowSurvey& survey_;
  const TreeEmission& current_;
  NewTrees search_;
  std::unique_ptr<Emission> proposed_;
  std::unique_ptr<EmissionStep> fill_;
  int filled_ = 0;
};

}  // namespace

RowSurvey TreeLearner::survey(const StepRows& rows) const {
  return survey_pairs(rows, options_.most_bits);
}

std::unique_ptr<EmissionStep> TreeLearner::first_step(const RowSurvey& survey, Id, const RandomStream&) const {
  return std::make_unique<NewTrees>(survey, options_, RowMatrix());
}

std::unique_ptr<EmissionStep> TreeLearner::step(const RowSurvey& survey, const Emission& previous) const {
  // Complete rows: the best shape with its tables is the exact M step.
  if (survey.all_known()) return std::make_unique<NewTrees>(survey, options_, RowMatrix());
  const auto& before = dynamic_cast<const TreeEmission&>(previous);
  const auto count = [&before](const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
    Statistics sums;
    for (const TreeGroup& old : before.groups()) {
      EdgeCounts counts =
          count_known_edges(old.tree(), rows, responsibilities, old.first_state(), old.state_count(), executor);
      add_unknown_edges(old, rows, responsibilities, counts, executor);
      add_edges(std::move(counts), sums);
    }
    add_weights(rows, responsibilities, executor, sums);
    return sums;
  };
  const auto maximise = [&before, a = options_.pseudocount](Statistics sums, const Executor&) {
    std::vector<const DependencyTree*> trees;
    for (const TreeGroup& old : before.groups())
      trees.push_back(&old.tree());
    return emission_from(trees, std::move(sums), a);
  };
  return one_round(count, maximise);
}

std::unique_ptr<EmissionStep> TreeLearner::proposal(const RowSurvey& survey, const Emission& current) const {
  if (survey.all_known()) return nullptr;  // a step has the best shape already
  return std::make_unique<ProposedTrees>(*this, survey, options_, dynamic_cast<const TreeEmission&>(current));
}

std::optional<std::string> TreeLearner::incompatibility(const Emission& emission) const {
  const auto* trees = dynamic_cast<const TreeEmission*>(&emission);
  if (trees == nullptr) return "no dependency trees";
  const bool shared = options_.shape == TreeShape::shared;
  if (trees->groups().size() == (shared ? 1 : static_cast<std::size_t>(trees->state_count()))) return std::nullopt;
  return concat(setting_name("tree"), shared ? " per-state, not shared" : " shared, not per-state");
}

double TreeLearner::log_prior(const RowSurvey&, const Emission& emission) const {
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

std::vector<EmissionNote> TreeLearner::notes(const RowSurvey& survey, const Vector&) const {
  const Index bits = survey.sums.table(1).cols();
  if (bits <= options_.most_bits) return {};
  return {{-1, -1,
           concat("the ", with_separators(options_.most_bits), " courses with the most takers (a course counts once a ",
                  "period) are tied to each other; the other ", with_separators(bits - options_.most_bits),
                  " are taken as if chosen one apart from the other")}};
}

}  // namespace desirepath::inline emissions
