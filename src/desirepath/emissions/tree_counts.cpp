#include "desirepath/emissions/tree_counts.h"

#include <algorithm>

namespace desirepath::inline emissions {

EdgeCounts count_known_edges(const DependencyTree& tree, const StepRows& rows, const RowMatrix& responsibilities,
                             Id first_state, Index states, const Executor& executor) {
  const Id bits = rows.bit_count();
  EdgeCounts counts{RowMatrix::Zero(bits, states), RowMatrix::Zero(bits, states)};
  if (fits_a_block(Index{2} * bits * states)) {
    const Index half = Index{bits} * states;
    const Vector sums = executor.sum_over(rows.row_count(), 2 * half, [&](Range range, Vector& sum) {
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
  executor.for_blocks(bits, 8, [&](Range range) {
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

namespace {

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

}  // namespace

void add_unknown_edges(const TreeGroup& group, const StepRows& rows, const RowMatrix& responsibilities,
                       EdgeCounts& counts, const Executor& executor) {
  std::vector<std::vector<std::int64_t>> rows_of(static_cast<std::size_t>(rows.pattern_count()));
  for (std::int64_t row = 0; row < rows.row_count(); ++row)
    rows_of[static_cast<std::size_t>(rows.pattern_of(row))].push_back(row);
  for (std::size_t number = 1; number < rows_of.size(); ++number) {
    const std::vector<std::int64_t>& members = rows_of[number];
    const TreePattern pattern(group, rows.unknown(static_cast<Id>(number)));
    const PatternSums sums(pattern, group.tree(), group.state_count());
    const Vector total =
        executor.sum_over(static_cast<std::int64_t>(members.size()), sums.size(), [&](Range range, Vector& sum) {
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

}  // namespace desirepath::inline emissions
