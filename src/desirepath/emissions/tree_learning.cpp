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
  if (fits_a_block(2 * bits * states)) {
    const Index half = bits * states;
    const Vector sums = compute.sum_over(rows.row_count(), 2 * half, [&](Range range, Vector& sum) {
      Eigen::Map<RowMatrix> taken(sum.data(), bits, states), together(sum.data() + half, bits, states);
      std::vector<char> takes(static_cast<std::size_t>(bits), 0);
      for (std::int64_t row = range.first; row < range.last; ++row) {
        const auto weight = responsibilities.row(row).segment(first_state, states);
        for (const Id bit : rows.taken(row))
          takes[static_cast<std::size_t>(bit)] = 1;
        for (const Id bit : rows.taken(row)) {
          taken.row(bit) += weight;
          const Id parent = tree.parent(bit);
          if (parent >= 0 && takes[static_cast<std::size_t>(parent)]) together.row(bit) += weight;
        }
        for (const Id bit : rows.taken(row))
          takes[static_cast<std::size_t>(bit)] = 0;
      }
    });
    counts.taken = Eigen::Map<const RowMatrix>(sums.data(), bits, states);
    counts.together = Eigen::Map<const RowMatrix>(sums.data() + half, bits, states);
    return counts;
  }
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

/// What the unknown bits of one pattern are expected to be, summed over its rows. Bits whose messages a row leaves at
/// rest depend on the row by their parent's posterior alone, so they are done once for all rows: their parents' weight
/// flows down to them, less that of the rows that change them, which are counted one by one.
class PatternSums {
 public:
  PatternSums(const TreePattern& pattern, const DependencyTree& tree, Index states)
      : pattern_(pattern), tree_(tree), states_(states) {
    for (std::size_t p = 0; p < pattern.piece_count(); ++p) {
      first_.push_back(places_);
      places_ += static_cast<Index>(pattern.piece(p).size());
    }
  }
  /// Numbers a block needs: for each unknown bit four, for each bit one (taken, below an unknown parent), and the
  /// weight.
  Index size() const { return (4 * places_ + tree_.bit_count() + 1) * states_; }

  void add(std::span<const Id> taken, const Eigen::RowVectorXd& weight, TreePattern::Changed& changed,
           Vector& sums) const {
    Eigen::Map<RowMatrix> table(sums.data(), sums.size() / states_, states_);
    table.row(weight_row()) += weight;
    Eigen::RowVectorXd without(states_), with(states_), above(states_);
    for (const std::size_t p : pattern_.touched(taken)) {
      pattern_.change(p, taken, changed);
      const Index first = first_[p];
      if (changed.places.empty()) {
        if (changed.parent_taken) table.row(flow(first, 1)) += weight;
        continue;
      }
      RowMatrix belief(static_cast<Index>(changed.places.size()), states_);
      for (std::size_t i = 0; i < changed.places.size(); ++i) {
        const Id bit = changed.bits[i];
        const Index at = first + changed.places[i];
        if (pattern_.is_inside(bit)) {
          above = belief.row(changed.slot[static_cast<std::size_t>(tree_.parent(bit))]);
          table.row(flow(at, 1)).array() += weight.array() * above.array();
          table.row(flow(at, 0)).array() += weight.array() * (1 - above.array());
        } else {
          above.setConstant(changed.parent_taken ? 1 : 0);
          table.row(flow(at, 0)) += weight;
        }
        pattern_.given_parent(p, changed.places[i], changed, without, with);
        with.array() *= above.array();
        belief.row(static_cast<Index>(i)) = with.array() + (1 - above.array()) * without.array();
        table.row(own(at)).array() += weight.array() * belief.row(static_cast<Index>(i)).array();
        table.row(pair(at)).array() += weight.array() * with.array();
      }
      for (const Id child : taken) {
        const Id parent = tree_.parent(child);
        if (parent < 0 || changed.slot[static_cast<std::size_t>(parent)] < 0) continue;
        table.row(4 * places_ + child).array() +=
            weight.array() * belief.row(changed.slot[static_cast<std::size_t>(parent)]).array();
      }
    }
  }

  /// Sums over all rows of the pattern into counts.
  void finish(const Vector& sums, EdgeCounts& counts) const {
    const Eigen::Map<const RowMatrix> table(sums.data(), sums.size() / states_, states_);
    counts.together += table.middleRows(4 * places_, tree_.bit_count());
    const Eigen::RowVectorXd weight = table.row(weight_row());
    Eigen::RowVectorXd without(states_), with(states_), in_taken(states_), in_not_taken(states_);
    TreePattern::Changed at_rest;
    for (std::size_t p = 0; p < pattern_.piece_count(); ++p) {
      pattern_.change(p, {}, at_rest);
      const auto bits = pattern_.piece(p);
      RowMatrix total(static_cast<Index>(bits.size()), states_);
      for (std::size_t i = 0; i < bits.size(); ++i) {
        const auto place = static_cast<Index>(i);
        const Index at = first_[p] + place;
        if (pattern_.is_inside(bits[i])) {
          const auto above = total.row(pattern_.place_of(tree_.parent(bits[i])));
          in_taken = above - table.row(flow(at, 1));
          in_not_taken = weight - above - table.row(flow(at, 0));
        } else {
          in_taken = table.row(flow(at, 1));
          in_not_taken = weight - in_taken - table.row(flow(at, 0));
        }
        pattern_.given_parent(p, place, at_rest, without, with);
        with.array() *= in_taken.array().max(0);
        total.row(place) = table.row(own(at)) + with;
        total.row(place).array() += in_not_taken.array().max(0) * without.array();
        counts.taken.row(bits[i]) += total.row(place);
        counts.together.row(bits[i]) += table.row(pair(at)) + with;
      }
    }
  }

 private:
  Index own(Index at) const { return 4 * at; }       // taken, in rows that change it
  Index pair(Index at) const { return 4 * at + 1; }  // taken with its parent, in these rows
  /// Below an unknown bit: weight of these rows by the parent's value. At the top: 1 the weight of the other rows whose
  /// known parent is taken, 0 that of the rows that change it.
  Index flow(Index at, int parent) const { return 4 * at + 2 + parent; }
  Index weight_row() const { return 4 * places_ + tree_.bit_count(); }

  const TreePattern& pattern_;
  const DependencyTree& tree_;
  Index states_;
  std::vector<Index> first_;  // by piece, in the numbering of all its pattern's unknown bits
  Index places_ = 0;
};

/// Adds what the unknown bits are expected to be under the group's own probabilities.
void add_unknown_edges(const TreeGroup& group, const StepRows& rows, const RowMatrix& responsibilities,
                       EdgeCounts& counts, const Compute& compute) {
  std::vector<std::vector<std::int64_t>> rows_of(static_cast<std::size_t>(rows.pattern_count()));
  for (std::int64_t row = 0; row < rows.row_count(); ++row)
    rows_of[static_cast<std::size_t>(rows.pattern_of(row))].push_back(row);
  for (std::size_t number = 1; number < rows_of.size(); ++number) {
    const std::vector<std::int64_t>& members = rows_of[number];
    const TreePattern pattern(group, rows.unknown(static_cast<Id>(number)));
    const PatternSums sums(pattern, group.tree(), group.state_count());
    const Vector total =
        compute.sum_over(static_cast<std::int64_t>(members.size()), sums.size(), [&](Range range, Vector& sum) {
          TreePattern::Changed changed;
          for (std::int64_t i = range.first; i < range.last; ++i) {
            const std::int64_t row = members[static_cast<std::size_t>(i)];
            sums.add(rows.taken(row), responsibilities.row(row).segment(group.first_state(), group.state_count()),
                     changed, sum);
          }
        });
    sums.finish(total, counts);
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

/// A row's weights in whole lanes, the last filled up with zeros: rows of sums as wide as this are added to without a
/// loop over the rest.
class WeightLanes {
 public:
  explicit WeightLanes(Index count) : count_(count), values_(Vector::Zero((count + lane - 1) / lane * lane)) {}
  Index width() const { return values_.size(); }
  template <class Row>
  void set(const Row& row) {
    for (Index k = 0; k < count_; ++k)
      values_[k] = row[k];
  }
  /// sums: the start of a row of a matrix of this width.
  void add_to(double* sums) const {
    using Lane = Eigen::Array<double, lane, 1>;
    for (Index k = 0; k < values_.size(); k += lane)
      Eigen::Map<Lane, Eigen::Aligned64>(sums + k) += Eigen::Map<const Lane, Eigen::Aligned64>(values_.data() + k);
  }

 private:
  static constexpr int lane = 8;
  Index count_;
  Vector values_;
};

/// Mutual information of pairs of bits in every state. Most pairs of courses are never taken together: then all but one
/// of the logarithms depend on one of the two bits alone and are taken once.
class PairInformation {
 public:
  /// both_known: weight of the rows that know both of two groups of bits, groups by groups. takers: for each group,
  /// bits by states: weight of those who take a bit among the rows that know the group. a: added to each cell.
  PairInformation(const std::vector<Eigen::RowVectorXd>& both_known, const std::vector<RowMatrix>& takers,
                  const std::vector<Id>& group_of, Index first, Index count, double a)
      : both_known_(both_known), takers_(takers), group_of_(group_of), first_(first), count_(count), a_(a) {
    for (std::size_t g = 0; g < takers.size(); ++g) {
      RowMatrix terms = RowMatrix::Zero(takers[g].rows(), count);
      for (Index bit = 0; bit < terms.rows(); ++bit) {
        const Eigen::RowVectorXd& weight = weight_of(group_of[static_cast<std::size_t>(bit)], static_cast<Id>(g));
        for (Index k = 0; k < count; ++k) {
          const double all = weight[first + k] + 4 * a;
          if (!(all > 0)) continue;
          const double x = (takers[g](bit, first + k) + 2 * a) / all;
          terms(bit, k) = x_log_x(std::max(0.0, x - a / all)) - x_log_x(x) - x_log_x(std::max(0.0, 1 - x));
        }
      }
      alone_.push_back(std::move(terms));
    }
  }

  /// Information in every state, and its sum over states by weight.
  double operator()(Id bit, Id other, const Eigen::Ref<const Eigen::RowVectorXd>& together,
                    Eigen::RowVectorXd& values) const {
    const Id group = group_of_[static_cast<std::size_t>(bit)], other_group = group_of_[static_cast<std::size_t>(other)];
    const Eigen::RowVectorXd& weight = weight_of(group, other_group);
    const RowMatrix& x_takers = takers_[static_cast<std::size_t>(other_group)];
    const RowMatrix& y_takers = takers_[static_cast<std::size_t>(group)];
    const RowMatrix& x_alone = alone_[static_cast<std::size_t>(other_group)];
    const RowMatrix& y_alone = alone_[static_cast<std::size_t>(group)];
    double sum = 0;
    for (Index k = 0; k < count_; ++k) {
      const double all = weight[first_ + k] + 4 * a_;
      values[k] = 0;
      if (!(all > 0)) continue;
      const double p11 = (together[k] + a_) / all;
      const double x = (x_takers(bit, first_ + k) + 2 * a_) / all, y = (y_takers(other, first_ + k) + 2 * a_) / all;
      if (together[k] == 0) {
        values[k] = x_alone(bit, k) + y_alone(other, k) + x_log_x(p11) + x_log_x(std::max(0.0, 1 - x - y + p11));
      } else {
        values[k] =
            mutual_information(p11, std::max(0.0, x - p11), std::max(0.0, y - p11), std::max(0.0, 1 - x - y + p11));
      }
      sum += all * values[k];
    }
    return sum;
  }

 private:
  const Eigen::RowVectorXd& weight_of(Id group, Id other_group) const {
    return both_known_[static_cast<std::size_t>(group) * takers_.size() + static_cast<std::size_t>(other_group)];
  }

  const std::vector<Eigen::RowVectorXd>& both_known_;
  const std::vector<RowMatrix>& takers_;
  const std::vector<Id>& group_of_;  // by bit
  Index first_, count_;
  double a_;
  /// By the other's group, bits by states: a bit's own terms, and that of "taken, the other not" if the two never meet.
  std::vector<RowMatrix> alone_;
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
  const RowMatrix weights = weights_by_pattern(rows, responsibilities, compute);
  // Weight of the rows that know both groups, and each bit's takers among the rows that know a group.
  std::vector<Eigen::RowVectorXd> both_known(static_cast<std::size_t>(groups * groups),
                                             Eigen::RowVectorXd::Zero(states));
  for (Index g = 0; g < groups; ++g) {
    for (Index h = 0; h < groups; ++h) {
      for (Id p = 0; p < rows.pattern_count(); ++p) {
        const auto pattern = static_cast<std::size_t>(p);
        if (known.known[static_cast<std::size_t>(g)][pattern] && known.known[static_cast<std::size_t>(h)][pattern]) {
          both_known[static_cast<std::size_t>(g * groups + h)] += weights.row(p);
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
    const PairInformation measure(both_known, takers, known.group_of, first, count, a);
    const auto inform = [&](std::size_t i, const Eigen::Ref<const RowMatrix>& together) {
      Eigen::RowVectorXd values(count);
      for (std::size_t j = i + 1; j < members.size(); ++j) {
        const double sum = measure(members[i], members[j], together.row(static_cast<Index>(j - i)), values);
        if (shared) {
          information[0].at(i, j) = sum;
          continue;
        }
        for (Index k = 0; k < count; ++k)
          information[static_cast<std::size_t>(k)].at(i, j) = values[k];
      }
    };
    // Pairs of a few bits with all later ones at a time: the slab stays in the cache. Where rows and weights do not,
    // and few passes over them suffice, rows are read in order; else those of each bit.
    const auto size = static_cast<std::int64_t>(members.size());
    const std::int64_t tile =
        std::max<std::int64_t>(1, 131'072 / std::max<std::int64_t>(1, size * WeightLanes(count).width()));
    const std::int64_t tiles = (size + tile - 1) / tile;
    if (rows.row_count() * states > 1'000'000 && tiles <= 64) {
      compute.for_each(tiles, [&](std::int64_t number) {
        const Index begin = number * tile, end = std::min(size, begin + tile);
        WeightLanes weight(count);
        RowMatrix together = RowMatrix::Zero((end - begin) * size, weight.width());
        for (std::int64_t row = 0; row < rows.row_count(); ++row) {
          const auto taken = rows.taken(row);
          weight.set(responsibilities.row(row).segment(first, count));
          for (std::size_t at = 0; at < taken.size(); ++at) {
            const Id i = place[static_cast<std::size_t>(taken[at])];
            if (i < begin) continue;
            if (i >= end) break;
            for (const Id other : taken.subspan(at + 1)) {
              const Id j = place[static_cast<std::size_t>(other)];
              if (j >= 0) weight.add_to(together.row((i - begin) * size + j).data());
            }
          }
        }
        for (Index i = begin; i < end; ++i)
          inform(static_cast<std::size_t>(i), together.middleRows((i - begin) * size + i, size - i));
      });
    } else {
      compute.for_each(size, [&](std::int64_t number) {
        const auto i = static_cast<std::size_t>(number);
        WeightLanes weight(count);
        RowMatrix together = RowMatrix::Zero(static_cast<Index>(members.size() - i), weight.width());
        for (const ColumnEntry& entry : rows.column(members[i])) {
          weight.set(responsibilities.row(entry.row).segment(first, count));
          for (const Id other : rows.taken(entry.row).subspan(static_cast<std::size_t>(entry.place) + 1)) {
            const Id j = place[static_cast<std::size_t>(other)];
            if (j >= 0) weight.add_to(together.row(j - static_cast<Index>(i)).data());
          }
        }
        inform(i, together);
      });
    }
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
  const Eigen::RowVectorXd total = weights_by_pattern(rows, responsibilities, compute).colwise().sum();

  const bool shared = options_.shape == TreeShape::shared;
  const auto* before = dynamic_cast<const TreeEmission*>(previous);
  std::vector<TreeGroup> groups;
  if (rows.all_known() || before == nullptr) {
    // Complete rows: the best shape with its tables is the exact M step. At the start the same, unknown bits taken to
    // be independent with the shares of those who know them.
    const std::vector<DependencyTree> trees = best_trees(rows, responsibilities, compute);
    std::unique_ptr<Emission> independent;
    if (!rows.all_known())
      independent = BernoulliLearner(BernoulliOptions{2 * options_.pseudocount})
                        .maximize(rows, responsibilities, nullptr, compute);
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
  const Eigen::RowVectorXd total = weights_by_pattern(rows, responsibilities, compute).colwise().sum();
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
