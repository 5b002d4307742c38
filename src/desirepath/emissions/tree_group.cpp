#include "desirepath/emissions/tree_group.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"

namespace desirepath::inline emissions {

namespace {

double log_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  if (low == -infinity) return high;
  return high + std::log1p(std::exp(low - high));
}

bool has(std::span<const Id> sorted, Id bit) {
  return std::ranges::binary_search(sorted, bit);
}

}  // namespace

TreeGroup::TreeGroup(DependencyTree tree, Id first_state, RowMatrix given_not_taken, RowMatrix given_taken)
    : tree_(std::move(tree)),
      first_state_(first_state),
      given_not_taken_(std::move(given_not_taken)),
      given_taken_(std::move(given_taken)) {
  const Index bits = tree_.bit_count(), states = given_not_taken_.cols();
  if (given_not_taken_.rows() != bits || given_taken_.rows() != bits || given_taken_.cols() != states) {
    throw InputError("tree: probabilities do not fit the bits");
  }
  for (LogScoreTable& table : log_)
    table.resize(bits, states);
  for (Index j = 0; j < bits; ++j) {
    for (Index k = 0; k < states; ++k) {
      for (const int given : {0, 1}) {
        const double p = given == 0 ? given_not_taken_(j, k) : given_taken_(j, k);
        if (!(p >= 0 && p <= 1)) throw InputError("tree: a probability outside 0 .. 1");
        log_[static_cast<std::size_t>(2 * given)].set(j, k, LogScore::of(1 - p));
        log_[static_cast<std::size_t>(2 * given + 1)].set(j, k, LogScore::of(p));
      }
    }
  }
  for (LogScoreTable& table : log_)
    table.drop_empty_counts();
}

TreePattern::TreePattern(const TreeGroup& group, const UnknownBits& unknown) : group_(group) {
  const DependencyTree& tree = group.tree();
  const Id bits = tree.bit_count();
  const Index states = group.state_count();
  if (!unknown.bits.empty()) {
    piece_of_.assign(static_cast<std::size_t>(bits), -1);
    place_of_.assign(static_cast<std::size_t>(bits), -1);
    for (const Id bit : tree.order()) {
      if (!unknown.contains(bit)) continue;
      const Id parent = tree.parent(bit);
      const bool continues = parent >= 0 && unknown.contains(parent);
      const Id piece = continues ? piece_of_[static_cast<std::size_t>(parent)] : static_cast<Id>(pieces_.size());
      if (!continues) pieces_.emplace_back();
      std::vector<Id>& members = pieces_[static_cast<std::size_t>(piece)];
      piece_of_[static_cast<std::size_t>(bit)] = piece;
      place_of_[static_cast<std::size_t>(bit)] = static_cast<Id>(members.size());
      members.push_back(bit);
    }
  }
  base_.resize(1, states);
  change_.resize(bits, states);
  together_.resize(bits, states);
  for (Id j = 0; j < bits; ++j) {
    if (is_unknown(j)) continue;
    const Id parent = tree.parent(j);
    const bool scored = parent < 0 || !is_unknown(parent);  // else the parent's piece holds it
    for (Index k = 0; k < states; ++k) {
      const auto log_p = [&](Id bit, bool given, bool value) { return group.log_probability(bit, given, value, k); };
      LogScore change;
      if (scored) {
        base_.set(0, k, base_.get(0, k) + log_p(j, false, false));
        change = log_p(j, false, true) - log_p(j, false, false);
        together_.set(j, k,
                      log_p(j, true, true) - log_p(j, true, false) - log_p(j, false, true) + log_p(j, false, false));
      }
      for (const Id child : tree.children(j)) {
        if (!is_unknown(child)) change += log_p(child, true, false) - log_p(child, false, false);
      }
      change_.set(j, k, change);
    }
  }
  default_sum_.resize(static_cast<Index>(pieces_.size()), states);
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    piece_sum(p, {}, default_sum_.data() + static_cast<Index>(p) * states);
    for (Index k = 0; k < states; ++k) {
      const double sum = default_sum_(static_cast<Index>(p), k);
      base_.set(0, k, base_.get(0, k) + (sum == -infinity ? LogScore{0, 1} : LogScore{sum, 0}));
    }
  }
  base_.drop_empty_counts();
  change_.drop_empty_counts();
  together_.drop_empty_counts();
}

void TreePattern::score(std::span<const Id> taken, double* out) const {
  const DependencyTree& tree = group_.tree();
  const Index states = group_.state_count();
  Eigen::Map<Eigen::RowVectorXd> total(out, states);
  total = base_.finite.row(0);
  for (const Id bit : taken) {
    total += change_.finite.row(bit);
    const Id parent = tree.parent(bit);
    if (parent >= 0 && has(taken, parent)) total += together_.finite.row(bit);
  }
  const bool zeros = base_.has_zeros() || change_.has_zeros() || together_.has_zeros();
  const std::vector<std::size_t> changed = pieces_.empty() ? std::vector<std::size_t>{} : touched(taken);
  if (!zeros && changed.empty()) return;

  Eigen::RowVectorXd counts = Eigen::RowVectorXd::Zero(states);
  if (base_.has_zeros()) counts += base_.zeros.row(0);
  for (const Id bit : taken) {
    if (change_.has_zeros()) counts += change_.zeros.row(bit);
    const Id parent = tree.parent(bit);
    if (together_.has_zeros() && parent >= 0 && has(taken, parent)) counts += together_.zeros.row(bit);
  }
  Eigen::RowVectorXd sum(states);
  for (const std::size_t piece : changed) {
    piece_sum(piece, taken, sum.data());
    for (Index k = 0; k < states; ++k) {
      const double before = default_sum_(static_cast<Index>(piece), k);
      if (before == -infinity)
        counts[k] -= 1;
      else
        total[k] -= before;
      if (sum[k] == -infinity)
        counts[k] += 1;
      else
        total[k] += sum[k];
    }
  }
  for (Index k = 0; k < states; ++k) {
    if (counts[k] > 0.5) total[k] = -infinity;
  }
}

std::vector<std::size_t> TreePattern::touched(std::span<const Id> taken) const {
  std::vector<std::size_t> pieces;
  const DependencyTree& tree = group_.tree();
  for (const Id bit : taken) {
    const Id parent = tree.parent(bit);
    if (parent >= 0 && is_unknown(parent))
      pieces.push_back(static_cast<std::size_t>(piece_of_[static_cast<std::size_t>(parent)]));
    for (const Id child : tree.children(bit)) {
      if (is_unknown(child)) pieces.push_back(static_cast<std::size_t>(piece_of_[static_cast<std::size_t>(child)]));
    }
  }
  std::ranges::sort(pieces);
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  return pieces;
}

/// For each bit of a piece: what its subtree says of its own value, and of its parent's.
struct TreePattern::Messages {
  RowMatrix own[2];           // log p(everything below | bit = v), places by states
  RowMatrix to_parent[2];     // log p(everything below and the bit itself | parent = u)
  bool parent_taken = false;  // the value of the piece's known parent
};

TreePattern::Messages TreePattern::upward(std::size_t piece, std::span<const Id> taken) const {
  const DependencyTree& tree = group_.tree();
  const std::vector<Id>& members = pieces_[piece];
  const Index states = group_.state_count();
  const auto places = static_cast<Index>(members.size());
  Messages messages;
  for (const int v : {0, 1}) {
    messages.own[v].setZero(places, states);
    messages.to_parent[v].setZero(places, states);
  }
  const Id top = tree.parent(members.front());
  messages.parent_taken = top >= 0 && has(taken, top);
  for (Index place = places; place-- > 0;) {
    const Id bit = members[static_cast<std::size_t>(place)];
    for (const Id child : tree.children(bit)) {
      for (const int v : {0, 1}) {
        auto own = messages.own[v].row(place);
        if (is_unknown(child)) {
          own += messages.to_parent[v].row(place_of_[static_cast<std::size_t>(child)]);
        } else {
          const bool value = has(taken, child);
          for (Index k = 0; k < states; ++k)
            own[k] += group_.log_probability(child, v == 1, value, k).value();
        }
      }
    }
    for (const int u : {0, 1}) {
      for (Index k = 0; k < states; ++k) {
        const double no = group_.log_probability(bit, u == 1, false, k).value() + messages.own[0](place, k);
        const double yes = group_.log_probability(bit, u == 1, true, k).value() + messages.own[1](place, k);
        messages.to_parent[u](place, k) = log_add(no, yes);
      }
    }
  }
  return messages;
}

void TreePattern::piece_sum(std::size_t piece, std::span<const Id> taken, double* out) const {
  const Messages messages = upward(piece, taken);
  Eigen::Map<Eigen::RowVectorXd>(out, group_.state_count()) = messages.to_parent[messages.parent_taken ? 1 : 0].row(0);
}

PieceBeliefs TreePattern::beliefs(std::size_t piece, std::span<const Id> taken) const {
  const DependencyTree& tree = group_.tree();
  const std::vector<Id>& members = pieces_[piece];
  const Messages messages = upward(piece, taken);
  const Index states = group_.state_count();
  const auto places = static_cast<Index>(members.size());
  PieceBeliefs beliefs{RowMatrix::Zero(places, states), RowMatrix::Zero(places, states)};
  // p(bit = 1 | parent = u, everything below), then down from the top.
  const auto given = [&](Index place, int u, Index k) {
    const double total = messages.to_parent[u](place, k);
    if (total == -infinity) return 0.0;
    const Id bit = members[static_cast<std::size_t>(place)];
    return std::exp(group_.log_probability(bit, u == 1, true, k).value() + messages.own[1](place, k) - total);
  };
  for (Index place = 0; place < places; ++place) {
    const Id parent = tree.parent(members[static_cast<std::size_t>(place)]);
    const bool inside = parent >= 0 && is_unknown(parent);
    for (Index k = 0; k < states; ++k) {
      if (!inside) {
        const double p = given(place, messages.parent_taken ? 1 : 0, k);
        beliefs.taken(place, k) = p;
        if (messages.parent_taken) beliefs.together(place, k) = p;
        continue;
      }
      const double above = beliefs.taken(place_of_[static_cast<std::size_t>(parent)], k);
      const double with = above > 0 ? above * given(place, 1, k) : 0;
      const double without = above < 1 ? (1 - above) * given(place, 0, k) : 0;
      beliefs.together(place, k) = with;
      beliefs.taken(place, k) = with + without;
    }
  }
  return beliefs;
}

void TreePattern::sample(std::size_t piece, std::span<const Id> taken, Index state, RandomStream& stream,
                         std::vector<Id>& drawn) const {
  const DependencyTree& tree = group_.tree();
  const std::vector<Id>& members = pieces_[piece];
  const Messages messages = upward(piece, taken);
  std::vector<bool> value(members.size());
  for (std::size_t place = 0; place < members.size(); ++place) {
    const Id bit = members[place], parent = tree.parent(bit);
    const bool inside = parent >= 0 && is_unknown(parent);
    const int u = inside ? (value[static_cast<std::size_t>(place_of_[static_cast<std::size_t>(parent)])] ? 1 : 0)
                         : (messages.parent_taken ? 1 : 0);
    const auto at = static_cast<Index>(place);
    const double yes = group_.log_probability(bit, u == 1, true, state).value() + messages.own[1](at, state);
    const double total = messages.to_parent[u](at, state);
    value[place] = total > -infinity && stream.bernoulli(std::exp(yes - total));
    if (value[place]) drawn.push_back(bit);
  }
}

}  // namespace desirepath::inline emissions
