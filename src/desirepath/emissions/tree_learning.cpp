// The M step of trees: the best shape from pair counts (sparse: a row costs its taken bits squared), tables from
// expected counts along it.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/tree.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

/// Expected counts along a group's tree: all rows complete, unknown bits by their posterior.
struct EdgeCounts {
  RowMatrix taken;     // bits by states
  RowMatrix together;  // bit and its parent, bits by states
};

/// Complete rows: what is taken, is taken.
EdgeCounts count_known_edges(const DependencyTree& tree, const StepRows& rows, const RowMatrix& responsibilities,
                             Id first_state, Index states, const Compute& compute) {
  const Id bits = rows.bit_count();
  EdgeCounts counts{RowMatrix::Zero(bits, states), RowMatrix::Zero(bits, states)};
  compute.for_blocks(bits, 8, [&](Range range) {
    for (auto bit = static_cast<Id>(range.first); bit < range.last; ++bit) {
      const Id parent = tree.parent(bit);
      for (const ColumnEntry& entry : rows.column(bit)) {
        const auto weight = responsibilities.row(entry.row).segment(first_state, states);
        counts.taken.row(bit) += weight;
        if (parent < 0) continue;
        if (std::ranges::binary_search(rows.taken(entry.row), parent)) counts.together.row(bit) += weight;
      }
    }
  });
  return counts;
}

/// Adds what the unknown bits are expected to be under the group's own probabilities.
void add_unknown_edges(const TreeGroup& group, const StepRows& rows, const RowMatrix& responsibilities,
                       EdgeCounts& counts, const Compute& compute) {
  const DependencyTree& tree = group.tree();
  const Index states = group.state_count();
  const Index bits = rows.bit_count();
  std::vector<std::unique_ptr<TreePattern>> patterns(static_cast<std::size_t>(rows.pattern_count()));
  compute.for_each(rows.pattern_count() - 1, [&](std::int64_t p) {
    patterns[static_cast<std::size_t>(p) + 1] =
        std::make_unique<TreePattern>(group, rows.unknown(static_cast<Id>(p) + 1));
  });
  // Rows one by one where a neighbour of a piece is taken; the others of a pattern all at once, by their weight.
  std::vector<Index> quiet_begin = {0};  // places of (pattern, piece) in the sums
  for (const auto& pattern : patterns) {
    quiet_begin.push_back(quiet_begin.back() + (pattern ? static_cast<Index>(pattern->piece_count()) : 0));
  }
  const Index quiet = 2 * bits * states;
  const Vector sums =
      compute.sum_over(rows.row_count(), quiet + quiet_begin.back() * states, [&](Range range, Vector& sum) {
        Eigen::Map<RowMatrix> taken(sum.data(), bits, states), together(sum.data() + bits * states, bits, states);
        for (std::int64_t row = range.first; row < range.last; ++row) {
          const Id number = rows.pattern_of(row);
          if (number == 0) continue;
          const TreePattern& pattern = *patterns[static_cast<std::size_t>(number)];
          const Eigen::RowVectorXd weight = responsibilities.row(row).segment(group.first_state(), states);
          const auto bits_taken = rows.taken(row);
          const std::vector<std::size_t> touched = pattern.touched(bits_taken);
          std::size_t next = 0;
          for (std::size_t p = 0; p < pattern.piece_count(); ++p) {
            if (next < touched.size() && touched[next] == p) {
              ++next;
              const PieceBeliefs beliefs = pattern.beliefs(p, bits_taken);
              const auto members = pattern.piece(p);
              for (std::size_t i = 0; i < members.size(); ++i) {
                const auto place = static_cast<Index>(i);
                taken.row(members[i]).array() += weight.array() * beliefs.taken.row(place).array();
                together.row(members[i]).array() += weight.array() * beliefs.together.row(place).array();
                // A taken bit below: its pair with this unknown parent.
                for (const Id child : tree.children(members[i])) {
                  if (!std::ranges::binary_search(bits_taken, child)) continue;
                  together.row(child).array() += weight.array() * beliefs.taken.row(place).array();
                }
              }
            } else {
              sum.segment(quiet + (quiet_begin[static_cast<std::size_t>(number)] + static_cast<Index>(p)) * states,
                          states) += weight.transpose();
            }
          }
        }
      });
  counts.taken += Eigen::Map<const RowMatrix>(sums.data(), bits, states);
  counts.together += Eigen::Map<const RowMatrix>(sums.data() + bits * states, bits, states);
  for (std::size_t number = 1; number < patterns.size(); ++number) {
    for (std::size_t p = 0; p < patterns[number]->piece_count(); ++p) {
      const PieceBeliefs beliefs = patterns[number]->beliefs(p, {});
      const auto members = patterns[number]->piece(p);
      const Eigen::RowVectorXd weight =
          sums.segment(quiet + (quiet_begin[number] + static_cast<Index>(p)) * states, states).transpose();
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto place = static_cast<Index>(i);
        counts.taken.row(members[i]).array() += weight.array() * beliefs.taken.row(place).array();
        counts.together.row(members[i]).array() += weight.array() * beliefs.together.row(place).array();
      }
    }
  }
}

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

/// Bits whose rows know them in the same patterns, as the bits of one period do.
struct KnownTogether {
  std::vector<Id> group_of;              // by bit
  std::vector<std::vector<bool>> known;  // groups by patterns
  explicit KnownTogether(const StepRows& rows) {
    std::map<std::vector<bool>, Id> numbers;
    for (Id bit = 0; bit < rows.bit_count(); ++bit) {
      std::vector<bool> signature;
      for (Id p = 0; p < rows.pattern_count(); ++p)
        signature.push_back(!rows.unknown(p).contains(bit));
      const auto [found, is_new] = numbers.emplace(std::move(signature), static_cast<Id>(numbers.size()));
      if (is_new) known.push_back(found->first);
      group_of.push_back(found->second);
    }
  }
};

Eigen::RowVectorXd pattern_weight(const Vector& weights, Index pattern, Index states) {
  return weights.segment(pattern * states, states).transpose();
}

Vector weights_by_pattern(const StepRows& rows, const RowMatrix& responsibilities, const Compute& compute) {
  const Index states = responsibilities.cols();
  return compute.sum_over(rows.row_count(), rows.pattern_count() * states, [&](Range range, Vector& sums) {
    for (std::int64_t row = range.first; row < range.last; ++row) {
      sums.segment(rows.pattern_of(row) * states, states) += responsibilities.row(row).transpose();
    }
  });
}

/// Weights of all pairs i < j, packed.
class PairWeights {
 public:
  explicit PairWeights(std::size_t bits) : bits_(bits), values_(bits * (bits - 1) / 2, 0) {}
  double& at(std::size_t i, std::size_t j) { return values_[i * (2 * bits_ - i - 1) / 2 + (j - i - 1)]; }
  double at(std::size_t i, std::size_t j) const { return values_[i * (2 * bits_ - i - 1) / 2 + (j - i - 1)]; }

 private:
  std::size_t bits_;
  std::vector<double> values_;
};

}  // namespace

std::vector<DependencyTree> TreeLearner::best_trees(const StepRows& rows, const RowMatrix& responsibilities,
                                                    const Compute& compute) const {
  const Id bits = rows.bit_count();
  const Index states = responsibilities.cols();
  const double a = options_.pseudocount;
  // The bits that take part, most takers first where not all can.
  std::vector<Id> members(static_cast<std::size_t>(bits));
  std::iota(members.begin(), members.end(), 0);
  if (bits > options_.most_bits) {
    std::ranges::stable_sort(members, std::ranges::greater(), [&](Id bit) { return rows.column(bit).size(); });
    members.resize(static_cast<std::size_t>(options_.most_bits));
    std::ranges::sort(members);
  }
  std::vector<Id> place(static_cast<std::size_t>(bits), -1);
  for (std::size_t i = 0; i < members.size(); ++i)
    place[static_cast<std::size_t>(members[i])] = static_cast<Id>(i);

  const KnownTogether known(rows);
  const auto groups = static_cast<Index>(known.known.size());
  const Vector weights = weights_by_pattern(rows, responsibilities, compute);
  // Weight of the rows that know both groups, and each bit's takers among the rows that know a group.
  std::vector<Eigen::RowVectorXd> both_known(static_cast<std::size_t>(groups * groups),
                                             Eigen::RowVectorXd::Zero(states));
  for (Index g = 0; g < groups; ++g) {
    for (Index h = 0; h < groups; ++h) {
      for (Id p = 0; p < rows.pattern_count(); ++p) {
        const auto pattern = static_cast<std::size_t>(p);
        if (known.known[static_cast<std::size_t>(g)][pattern] && known.known[static_cast<std::size_t>(h)][pattern]) {
          both_known[static_cast<std::size_t>(g * groups + h)] += pattern_weight(weights, p, states);
        }
      }
    }
  }
  std::vector<RowMatrix> takers(static_cast<std::size_t>(groups), RowMatrix::Zero(bits, states));
  compute.for_blocks(bits, 8, [&](Range range) {
    for (auto bit = static_cast<Id>(range.first); bit < range.last; ++bit) {
      for (const ColumnEntry& entry : rows.column(bit)) {
        const auto pattern = static_cast<std::size_t>(rows.pattern_of(entry.row));
        for (Index g = 0; g < groups; ++g) {
          if (known.known[static_cast<std::size_t>(g)][pattern])
            takers[static_cast<std::size_t>(g)].row(bit) += responsibilities.row(entry.row);
        }
      }
    }
  });

  const bool shared = options_.shape == TreeShape::shared;
  std::vector<DependencyTree> trees;
  // Trees of their own need a table of pairs each; so many states at a time as fit half a gigabyte.
  const double table_bytes = 4.0 * static_cast<double>(members.size()) * static_cast<double>(members.size());
  const Index at_once =
      shared ? states : std::clamp<Index>(static_cast<Index>(5e8 / std::max(1.0, table_bytes)), 1, states);
  for (Index first = 0; first < states; first += at_once) {
    const Index count = std::min(at_once, states - first);
    std::vector<PairWeights> information(shared ? 1 : static_cast<std::size_t>(count), PairWeights(members.size()));
    compute.for_each(static_cast<std::int64_t>(members.size()), [&](std::int64_t number) {
      const auto i = static_cast<std::size_t>(number);
      const Id bit = members[i];
      // Pairs of this bit with all later ones: the slab stays in the cache.
      RowMatrix together = RowMatrix::Zero(static_cast<Index>(members.size() - i), count);
      for (const ColumnEntry& entry : rows.column(bit)) {
        const auto weight = responsibilities.row(entry.row).segment(first, count);
        for (const Id other : rows.taken(entry.row).subspan(static_cast<std::size_t>(entry.place) + 1)) {
          const Id j = place[static_cast<std::size_t>(other)];
          if (j >= 0) together.row(j - static_cast<Index>(i)) += weight;
        }
      }
      const Id group = known.group_of[static_cast<std::size_t>(bit)];
      for (std::size_t j = i + 1; j < members.size(); ++j) {
        const Id other = members[j], other_group = known.group_of[static_cast<std::size_t>(other)];
        const Eigen::RowVectorXd& total = both_known[static_cast<std::size_t>(group * groups + other_group)];
        double sum = 0;
        for (Index k = 0; k < count; ++k) {
          const double weight = total[first + k] + 4 * a;
          if (!(weight > 0)) continue;
          const double p11 = (together(static_cast<Index>(j - i), k) + a) / weight;
          const double x = (takers[static_cast<std::size_t>(other_group)](bit, first + k) + 2 * a) / weight;
          const double y = (takers[static_cast<std::size_t>(group)](other, first + k) + 2 * a) / weight;
          const double value =
              mutual_information(p11, std::max(0.0, x - p11), std::max(0.0, y - p11), std::max(0.0, 1 - x - y + p11));
          if (shared) {
            sum += weight * value;
          } else {
            information[static_cast<std::size_t>(k)].at(i, j) = value;
          }
        }
        if (shared) information[0].at(i, j) = sum;
      }
    });
    for (const PairWeights& pairs : information) {
      trees.push_back(maximum_spanning_tree(bits, members, [&](Id i, Id j) {
        return pairs.at(static_cast<std::size_t>(place[static_cast<std::size_t>(i)]),
                        static_cast<std::size_t>(place[static_cast<std::size_t>(j)]));
      }));
    }
  }
  return trees;
}

std::unique_ptr<Emission> TreeLearner::maximize(const StepRows& rows, const RowMatrix& responsibilities,
                                                const Emission* previous, const Compute& compute) const {
  const Index states = responsibilities.cols();
  const Vector weights = weights_by_pattern(rows, responsibilities, compute);
  Eigen::RowVectorXd total = Eigen::RowVectorXd::Zero(states);
  for (Index p = 0; p < rows.pattern_count(); ++p)
    total += pattern_weight(weights, p, states);

  const bool shared = options_.shape == TreeShape::shared;
  const auto* before = dynamic_cast<const TreeEmission*>(previous);
  std::vector<TreeGroup> groups;
  if (rows.all_known() || before == nullptr) {
    // Complete rows: the best shape with its tables is the exact M step. At the start the same, unknown bits taken to
    // be independent with the shares of those who know them.
    const std::vector<DependencyTree> trees = best_trees(rows, responsibilities, compute);
    std::unique_ptr<Emission> independent;
    if (!rows.all_known())
      independent = BernoulliLearner(2 * options_.pseudocount).maximize(rows, responsibilities, nullptr, compute);
    for (std::size_t g = 0; g < trees.size(); ++g) {
      const auto first = static_cast<Id>(g);
      const Index count = shared ? states : 1;
      EdgeCounts counts = count_known_edges(trees[g], rows, responsibilities, first, count, compute);
      if (independent) {
        const RowMatrix p = independent->bit_probabilities().middleCols(first, count);
        const TreeGroup flat(trees[g], first, p, p);
        add_unknown_edges(flat, rows, responsibilities, counts, compute);
      }
      groups.push_back(group_from_counts(trees[g], first, counts, total.segment(first, count), options_.pseudocount));
    }
    return std::make_unique<TreeEmission>(std::move(groups));
  }
  for (const TreeGroup& old : before->groups()) {
    EdgeCounts counts =
        count_known_edges(old.tree(), rows, responsibilities, old.first_state(), old.state_count(), compute);
    add_unknown_edges(old, rows, responsibilities, counts, compute);
    groups.push_back(group_from_counts(old.tree(), old.first_state(), counts,
                                       total.segment(old.first_state(), old.state_count()), options_.pseudocount));
  }
  return std::make_unique<TreeEmission>(std::move(groups));
}

std::unique_ptr<Emission> TreeLearner::propose(const StepRows& rows, const RowMatrix& responsibilities,
                                               const Emission& current, const Compute& compute) const {
  if (rows.all_known()) return nullptr;  // maximize() has the best shape already
  const auto& emission = dynamic_cast<const TreeEmission&>(current);
  const std::vector<DependencyTree> trees = best_trees(rows, responsibilities, compute);
  bool changed = false;
  for (std::size_t g = 0; g < trees.size(); ++g)
    changed = changed || !(trees[g] == emission.groups()[g].tree());
  if (!changed) return nullptr;
  const Vector weights = weights_by_pattern(rows, responsibilities, compute);
  Eigen::RowVectorXd total = Eigen::RowVectorXd::Zero(responsibilities.cols());
  for (Index p = 0; p < rows.pattern_count(); ++p)
    total += pattern_weight(weights, p, responsibilities.cols());
  const RowMatrix margins = emission.bit_probabilities();
  std::vector<TreeGroup> groups;
  for (std::size_t g = 0; g < trees.size(); ++g) {
    const TreeGroup& old = emission.groups()[g];
    EdgeCounts counts =
        count_known_edges(trees[g], rows, responsibilities, old.first_state(), old.state_count(), compute);
    // Pairs of the new shape are not neighbours in the old one: unknown bits enter by the current margins.
    const RowMatrix p = margins.middleCols(old.first_state(), old.state_count());
    add_unknown_edges(TreeGroup(trees[g], old.first_state(), p, p), rows, responsibilities, counts, compute);
    groups.push_back(group_from_counts(trees[g], old.first_state(), counts,
                                       total.segment(old.first_state(), old.state_count()), options_.pseudocount));
  }
  return std::make_unique<TreeEmission>(std::move(groups));
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
           concat("the tree spans the ", with_separators(options_.most_bits), " bits with the most takers; the other ",
                  with_separators(rows.bit_count() - options_.most_bits), " are independent")}};
}

}  // namespace desirepath::inline emissions
