#include "desirepath/emissions/tree_shape.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "desirepath/core/digest.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

/// Numbers that pairs counted in one round may take.
constexpr std::int64_t slab_numbers = 2 << 20;

/// Two whole numbers that stand for a set of unknown bits: few enough digits that sums of millions are exact.
std::pair<double, double> fingerprint_of(const UnknownBits& unknown) {
  const Digest digest = digest_of(std::as_bytes(std::span(unknown.bits)));
  constexpr std::uint64_t digits = (1U << 30U) - 1;
  return {static_cast<double>(digest.high & digits), static_cast<double>(digest.low & digits)};
}

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

}  // namespace

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

/// Weights of all pairs i < j, packed.
class TreeSearch::PairWeights {
 public:
  explicit PairWeights(std::size_t bits) : bits_(bits), values_(bits * (bits - 1) / 2, 0) {}
  double& at(std::size_t i, std::size_t j) { return values_[i * (2 * bits_ - i - 1) / 2 + (j - i - 1)]; }
  double at(std::size_t i, std::size_t j) const { return values_[i * (2 * bits_ - i - 1) / 2 + (j - i - 1)]; }

 private:
  std::size_t bits_;
  std::vector<double> values_;
};

RowSurvey survey_pairs(const StepRows& rows, Id most_bits) {
  RowSurvey survey(rows);
  RowMatrix unknown = RowMatrix::Zero(2, rows.bit_count());
  for (Id p = 1; p < rows.pattern_count(); ++p) {
    const auto [high, low] = fingerprint_of(rows.unknown(p));
    for (const Id bit : rows.unknown(p).bits) {
      unknown(0, bit) += high;
      unknown(1, bit) += low;
    }
  }
  survey.sums.add(std::move(unknown));
  if (rows.bit_count() > most_bits) {
    RowMatrix takers(1, rows.bit_count());
    for (Id bit = 0; bit < rows.bit_count(); ++bit)
      takers(0, bit) = static_cast<double>(rows.column(bit).size());
    survey.sums.add(std::move(takers));
  }
  return survey;
}

TreeSearch::TreeSearch(const RowSurvey& survey, const TreeOptions& options) : options_(options) {
  const RowMatrix& unknown = survey.sums.table(1);
  const auto bits = static_cast<Id>(unknown.cols());
  // The bits that take part, most takers first where not all can.
  members_.resize(static_cast<std::size_t>(bits));
  std::iota(members_.begin(), members_.end(), 0);
  if (bits > options_.most_bits) {
    const RowMatrix& takers = survey.sums.table(2);
    std::ranges::stable_sort(members_, std::ranges::greater(), [&](Id bit) { return takers(0, bit); });
    members_.resize(static_cast<std::size_t>(options_.most_bits));
    std::ranges::sort(members_);
  }
  place_.assign(static_cast<std::size_t>(bits), -1);
  for (std::size_t i = 0; i < members_.size(); ++i)
    place_[static_cast<std::size_t>(members_[i])] = static_cast<Id>(i);
  // Bits that are unknown in the same patterns, as those of one period are, have the same sum of fingerprints.
  std::map<std::pair<double, double>, Id> numbers;
  for (Id bit = 0; bit < bits; ++bit) {
    const auto [found, is_new] =
        numbers.emplace(std::pair(unknown(0, bit), unknown(1, bit)), static_cast<Id>(numbers.size()));
    if (is_new) example_of_.push_back(bit);
    group_of_.push_back(found->second);
  }
}

TreeSearch::~TreeSearch() = default;

Statistics TreeSearch::count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const {
  return takers_.empty() ? count_singles(rows, responsibilities, executor)
                         : count_slab(rows, responsibilities, executor);
}

Statistics TreeSearch::count_singles(const StepRows& rows, const RowMatrix& responsibilities,
                                     const Executor& executor) const {
  const auto groups = static_cast<Index>(example_of_.size());
  const Index states = responsibilities.cols();
  const auto knows = [&](Index group, Id pattern) {
    return !rows.unknown(pattern).contains(example_of_[static_cast<std::size_t>(group)]);
  };
  const RowMatrix weights = weights_by_pattern(rows, responsibilities, executor);
  Statistics sums;
  RowMatrix both_known = RowMatrix::Zero(groups * groups, states);
  for (Index g = 0; g < groups; ++g) {
    for (Index h = 0; h < groups; ++h) {
      for (Id p = 0; p < rows.pattern_count(); ++p) {
        if (knows(g, p) && knows(h, p)) both_known.row(g * groups + h) += weights.row(p);
      }
    }
  }
  sums.add(std::move(both_known));
  for (Index g = 0; g < groups; ++g) {
    RowMatrix takers = RowMatrix::Zero(rows.bit_count(), states);
    executor.for_blocks(rows.bit_count(), 8, [&](Range range) {
      for (auto bit = static_cast<Id>(range.first); bit < range.last; ++bit) {
        for (const ColumnEntry& entry : rows.column(bit)) {
          if (knows(g, rows.pattern_of(entry.row))) takers.row(bit) += responsibilities.row(entry.row);
        }
      }
    });
    sums.add(std::move(takers));
  }
  return sums;
}

Index TreeSearch::slab_row(std::int64_t member) const {
  const auto size = std::ssize(members_);
  return static_cast<Index>((member - first_member_) * size -
                            (member * (member - 1) - first_member_ * (first_member_ - 1)) / 2);
}

Statistics TreeSearch::count_slab(const StepRows& rows, const RowMatrix& responsibilities,
                                  const Executor& executor) const {
  const std::int64_t size = std::ssize(members_);
  const Index width = WeightLanes::width_of(state_count_);
  RowMatrix together = RowMatrix::Zero(slab_row(end_member_), width);
  // Pairs of a few bits with all later ones at a time: they stay in the cache. Where rows and weights do not, and few
  // passes over them suffice, rows are read in order; else those of each bit. The sums are the same.
  const std::int64_t tile = std::max<std::int64_t>(1, 131'072 / std::max<std::int64_t>(1, size * width));
  const std::int64_t tiles = (end_member_ - first_member_ + tile - 1) / tile;
  if (rows.row_count() * responsibilities.cols() > 1'000'000 && (size + tile - 1) / tile <= 64) {
    executor.for_each(tiles, [&](std::int64_t number) {
      const std::int64_t begin = first_member_ + number * tile, end = std::min(end_member_, begin + tile);
      WeightLanes weight(state_count_);
      for (std::int64_t row = 0; row < rows.row_count(); ++row) {
        const auto taken = rows.taken(row);
        weight.set(responsibilities.row(row).segment(first_state_, state_count_));
        for (std::size_t at = 0; at < taken.size(); ++at) {
          const Id i = place_[static_cast<std::size_t>(taken[at])];
          if (i < begin) continue;
          if (i >= end) break;
          const Index here = slab_row(i) - i;
          for (const Id other : taken.subspan(at + 1)) {
            const Id j = place_[static_cast<std::size_t>(other)];
            if (j >= 0) weight.add_to(together.row(here + j).data());
          }
        }
      }
    });
  } else {
    executor.for_each(end_member_ - first_member_, [&](std::int64_t number) {
      const std::int64_t i = first_member_ + number;
      const Index here = slab_row(i) - i;
      WeightLanes weight(state_count_);
      for (const ColumnEntry& entry : rows.column(members_[static_cast<std::size_t>(i)])) {
        weight.set(responsibilities.row(entry.row).segment(first_state_, state_count_));
        for (const Id other : rows.taken(entry.row).subspan(static_cast<std::size_t>(entry.place) + 1)) {
          const Id j = place_[static_cast<std::size_t>(other)];
          if (j >= 0) weight.add_to(together.row(here + j).data());
        }
      }
    });
  }
  Statistics sums;
  sums.add(std::move(together));
  return sums;
}

bool TreeSearch::take(const Statistics& sums, const Executor& executor) {
  const std::int64_t size = std::ssize(members_);
  if (takers_.empty()) {
    const RowMatrix& both_known = sums.table(0);
    for (Index pair = 0; pair < both_known.rows(); ++pair)
      both_known_.emplace_back(both_known.row(pair));
    for (std::size_t g = 0; g < example_of_.size(); ++g)
      takers_.push_back(sums.table(1 + g));
    begin_states();
  } else {
    inform(sums.table(0), executor);
    first_member_ = end_member_;
    if (first_member_ == size) {
      grow_trees();
      first_state_ += state_count_;
      begin_states();
    }
  }
  // As many members as fit a slab, and one at least.
  end_member_ = first_member_;
  while (end_member_ < size && (end_member_ == first_member_ ||
                                slab_row(end_member_ + 1) * WeightLanes::width_of(state_count_) <= slab_numbers))
    ++end_member_;
  return first_state_ == both_known_.front().size();
}

void TreeSearch::begin_states() {
  const Index states = both_known_.front().size();
  const bool shared = options_.shape == TreeShape::shared;
  // Trees of their own need a table of pairs each; so many states at a time as fit half a gigabyte.
  const double table_bytes = 4.0 * static_cast<double>(members_.size()) * static_cast<double>(members_.size());
  const Index at_once =
      shared ? states : std::clamp<Index>(static_cast<Index>(5e8 / std::max(1.0, table_bytes)), 1, states);
  state_count_ = std::min(at_once, states - first_state_);
  first_member_ = 0;
  information_.clear();
  if (state_count_ == 0) return;
  information_.assign(shared ? 1 : static_cast<std::size_t>(state_count_), PairWeights(members_.size()));
  measure_ = std::make_unique<PairInformation>(both_known_, takers_, group_of_, first_state_, state_count_,
                                               options_.pseudocount);
}

void TreeSearch::inform(const RowMatrix& together, const Executor& executor) {
  executor.for_each(end_member_ - first_member_, [&](std::int64_t number) {
    const auto i = static_cast<std::size_t>(first_member_ + number);
    const Index here = slab_row(first_member_ + number);
    Vector values(measure_->width());
    for (std::size_t j = i + 1; j < members_.size(); ++j) {
      const double sum =
          (*measure_)(members_[i], members_[j], together.row(here + static_cast<Index>(j - i)).data(), values.data());
      if (options_.shape == TreeShape::shared) {
        information_[0].at(i, j) = sum;
        continue;
      }
      for (Index k = 0; k < state_count_; ++k)
        information_[static_cast<std::size_t>(k)].at(i, j) = values[k];
    }
  });
}

void TreeSearch::grow_trees() {
  for (const PairWeights& pairs : information_) {
    trees_.push_back(maximum_spanning_tree(bit_count(), members_, [&](Id i, Id j) {
      return pairs.at(static_cast<std::size_t>(place_[static_cast<std::size_t>(i)]),
                      static_cast<std::size_t>(place_[static_cast<std::size_t>(j)]));
    }));
  }
}

}  // namespace desirepath::inline emissions
