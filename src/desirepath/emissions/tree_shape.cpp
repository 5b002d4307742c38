// The best shape of trees from pair counts (sparse: a row costs its taken bits squared): Chow and Liu, weighted.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/tree.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

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
  static constexpr int lane = 8;
  static Index width_of(Index count) { return (count + lane - 1) / lane * lane; }
  explicit WeightLanes(Index count) : count_(count), values_(Vector::Zero(width_of(count))) {}
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
  Index count_;
  Vector values_;
};

/// Mutual information of pairs of bits in every state, whole lanes of states at a time. What depends on one of the bits
/// alone is taken once: its share and entropy, and, since most pairs of courses are never taken together, the term of
/// "taken, the other not" of such a pair.
class PairInformation {
 public:
  /// both_known: weight of the rows that know both of two groups of bits, groups by groups. takers: for each group,
  /// bits by states: weight of those who take a bit among the rows that know the group. a: added to each cell.
  PairInformation(const std::vector<Eigen::RowVectorXd>& both_known, const std::vector<RowMatrix>& takers,
                  const std::vector<Id>& group_of, Index first, Index count, double a)
      : group_of_(group_of), groups_(takers.size()), width_(WeightLanes::width_of(count)), a_(a) {
    for (const Eigen::RowVectorXd& weight : both_known) {
      Vector all = Vector::Zero(width_), inverse = Vector::Zero(width_);
      for (Index k = 0; k < count; ++k) {
        all[k] = weight[first + k] + 4 * a;
        if (all[k] > 0) inverse[k] = 1 / all[k];
      }
      all_.push_back(std::move(all));
      inverse_.push_back(std::move(inverse));
    }
    for (std::size_t g = 0; g < takers.size(); ++g) {
      for (std::vector<RowMatrix>* terms : {&share_, &own_, &apart_})
        terms->push_back(RowMatrix::Zero(takers[g].rows(), width_));
      RowMatrix &share = share_.back(), &own = own_.back(), &apart = apart_.back();
      for (Index bit = 0; bit < share.rows(); ++bit) {
        const Vector& inverse = inverse_[pair_of(group_of[static_cast<std::size_t>(bit)], static_cast<Id>(g))];
        for (Index k = 0; k < count; ++k) {
          if (!(inverse[k] > 0)) continue;
          const double x = (takers[g](bit, first + k) + 2 * a) * inverse[k];
          share(bit, k) = x;
          own(bit, k) = x_log_x(x) + x_log_x(std::max(0.0, 1 - x));
          apart(bit, k) = x_log_x(std::max(0.0, x - a * inverse[k])) - own(bit, k);
        }
      }
    }
  }

  /// Information in every state, and its sum over states by weight. together: in whole lanes, as are the values.
  double operator()(Id bit, Id other, const double* together, double* values) const {
    const Id group = group_of_[static_cast<std::size_t>(bit)], other_group = group_of_[static_cast<std::size_t>(other)];
    const auto x_at = static_cast<std::size_t>(other_group), y_at = static_cast<std::size_t>(group);
    const std::size_t pair = pair_of(group, other_group);
    double sum = 0;
    for (Index k = 0; k < width_; k += WeightLanes::lane) {
      const Lane met = lane_at(together + k), inverse = lane_at(inverse_[pair].data() + k);
      const Lane x = lane_at(&share_[x_at](bit, k)), y = lane_at(&share_[y_at](other, k));
      const Lane p11 = (met + a_) * inverse;
      // A state without weight has no shares: all its terms are 0, log 1 among them.
      Lane value = x_log_x_of(p11) + x_log_x_of((1 - x - y + p11).max(0));
      if ((met == 0).all())
        value += lane_at(&apart_[x_at](bit, k)) + lane_at(&apart_[y_at](other, k));
      else
        value += x_log_x_of((x - p11).max(0)) + x_log_x_of((y - p11).max(0)) - lane_at(&own_[x_at](bit, k)) -
                 lane_at(&own_[y_at](other, k));
      Eigen::Map<Lane>(values + k) = value;
      sum += (lane_at(all_[pair].data() + k) * value).sum();
    }
    return sum;
  }
  Index width() const { return width_; }

 private:
  using Lane = Eigen::Array<double, WeightLanes::lane, 1>;
  static Eigen::Map<const Lane> lane_at(const double* values) { return Eigen::Map<const Lane>(values); }
  static Lane x_log_x_of(const Lane& x) { return x * x.max(std::numeric_limits<double>::min()).log(); }
  std::size_t pair_of(Id group, Id other_group) const {
    return static_cast<std::size_t>(group) * groups_ + static_cast<std::size_t>(other_group);
  }

  const std::vector<Id>& group_of_;  // by bit
  std::size_t groups_;
  Index width_;
  double a_;
  std::vector<Vector> all_, inverse_;  // weights that know both of two groups, and four cells of a; groups by groups
  /// By the other's group, bits by states: a bit's share, its entropy's negative, and its own terms where the two never
  /// meet.
  std::vector<RowMatrix> share_, own_, apart_;
};

}  // namespace

std::vector<DependencyTree> TreeLearner::best_trees(const StepRows& rows, const RowMatrix& responsibilities,
                                                    const Executor& executor) const {
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
  const RowMatrix weights = weights_by_pattern(rows, responsibilities, executor);
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
  executor.for_blocks(bits, 8, [&](Range range) {
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
      Vector values(measure.width());
      for (std::size_t j = i + 1; j < members.size(); ++j) {
        const double sum =
            measure(members[i], members[j], together.row(static_cast<Index>(j - i)).data(), values.data());
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
      executor.for_each(tiles, [&](std::int64_t number) {
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
      executor.for_each(size, [&](std::int64_t number) {
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

}  // namespace desirepath::inline emissions
