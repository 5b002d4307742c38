#include "desirepath/emissions/tree_group.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"

namespace desirepath::inline emissions {

namespace {

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
      std::vector<Id>& members = pieces_[static_cast<std::size_t>(piece)].bits;
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
  for (Piece& piece : pieces_) {
    const auto places = static_cast<Index>(piece.bits.size());
    piece.exact.assign(piece.bits.size(), false);
    piece.log_scale = Eigen::RowVectorXd::Zero(states);
    for (RowMatrix& below : piece.below)
      below.setOnes(places, states);
    for (Index place = 0; place < places; ++place) {
      const Id bit = piece.bits[static_cast<std::size_t>(place)];
      for (Index k = 0; k < states; ++k) {
        std::array<double, 2> logs = {0, 0};
        for (const Id child : tree.children(bit)) {
          if (is_unknown(child)) continue;
          for (const int v : {0, 1})
            logs[static_cast<std::size_t>(v)] += group.log_probability(child, v == 1, false, k).value();
        }
        const double largest = std::max(logs[0], logs[1]);
        if (std::min(logs[0], logs[1]) == -infinity) piece.exact[static_cast<std::size_t>(place)] = true;
        const double shift = largest == -infinity ? 0 : largest;
        for (const int v : {0, 1})
          piece.below[v](place, k) = std::exp(logs[static_cast<std::size_t>(v)] - shift);
        piece.log_scale[k] += shift;
      }
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

/// For each bit of a piece: what its subtree says of its own value, and of its parent's; rescaled as it goes.
struct TreePattern::Messages {
  RowMatrix own[2];        // p(everything below | bit = v) up to scale, places by states
  RowMatrix to_parent[2];  // p(everything below and the bit itself | parent = u), the larger of the two 1
  Eigen::RowVectorXd log_scale;
  bool parent_taken = false;  // the value of the piece's known parent
};

void TreePattern::upward(std::size_t number, std::span<const Id> taken, Messages& messages) const {
  const DependencyTree& tree = group_.tree();
  const Piece& piece = pieces_[number];
  const Index states = group_.state_count();
  const auto places = static_cast<Index>(piece.bits.size());
  messages.log_scale = piece.log_scale;
  for (const int v : {0, 1}) {
    messages.own[v] = piece.below[v];
    messages.to_parent[v].resize(places, states);
  }
  const RowMatrix& no = group_.given_not_taken();
  const RowMatrix& yes = group_.given_taken();
  // Taken children change the products their parents start from.
  for (const Id bit : taken) {
    const Id parent = tree.parent(bit);
    if (parent < 0 || !is_unknown(parent) || piece_of_[static_cast<std::size_t>(parent)] != static_cast<Id>(number))
      continue;
    const Index place = place_of_[static_cast<std::size_t>(parent)];
    if (piece.exact[static_cast<std::size_t>(place)]) continue;
    messages.own[0].row(place).array() *= no.row(bit).array() / (1 - no.row(bit).array());
    messages.own[1].row(place).array() *= yes.row(bit).array() / (1 - yes.row(bit).array());
  }
  for (Index place = 0; place < places; ++place) {
    if (!piece.exact[static_cast<std::size_t>(place)]) continue;
    for (Index k = 0; k < states; ++k) {
      std::array<double, 2> logs = {0, 0};
      double shift = 0;
      for (const int pass : {0, 1}) {
        // First the scale that `below` had taken out, then the row's own product against it.
        std::array<double, 2> sum = {0, 0};
        for (const Id child : tree.children(piece.bits[static_cast<std::size_t>(place)])) {
          if (is_unknown(child)) continue;
          const bool value = pass == 1 && has(taken, child);
          for (const int v : {0, 1})
            sum[static_cast<std::size_t>(v)] += group_.log_probability(child, v == 1, value, k).value();
        }
        if (pass == 0)
          shift = std::max(sum[0], sum[1]) == -infinity ? 0 : std::max(sum[0], sum[1]);
        else
          logs = sum;
      }
      for (const int v : {0, 1})
        messages.own[v](place, k) = std::exp(logs[static_cast<std::size_t>(v)] - shift);
    }
  }
  const Id top = tree.parent(piece.bits.front());
  messages.parent_taken = top >= 0 && has(taken, top);
  Eigen::RowVectorXd scale = Eigen::RowVectorXd::Ones(states);
  for (Index place = places; place-- > 0;) {
    const Id bit = piece.bits[static_cast<std::size_t>(place)];
    const auto own_no = messages.own[0].row(place).array(), own_yes = messages.own[1].row(place).array();
    auto given_no = messages.to_parent[0].row(place).array();
    auto given_yes = messages.to_parent[1].row(place).array();
    given_no = own_no + no.row(bit).array() * (own_yes - own_no);
    given_yes = own_no + yes.row(bit).array() * (own_yes - own_no);
    bool small = false;
    for (Index k = 0; k < states; ++k) {
      const double largest = std::max(given_no[k], given_yes[k]);
      const double by = largest > 0 ? largest : 1;
      given_no[k] /= by;
      given_yes[k] /= by;
      scale[k] *= by;
      small = small || scale[k] < 1e-200 || scale[k] > 1e200;
    }
    if (small) {
      messages.log_scale.array() += scale.array().log();
      scale.setOnes();
    }
    const Id parent = tree.parent(bit);
    if (parent >= 0 && is_unknown(parent)) {
      const Index above = place_of_[static_cast<std::size_t>(parent)];
      messages.own[0].row(above).array() *= given_no;
      messages.own[1].row(above).array() *= given_yes;
    }
  }
  messages.log_scale.array() += scale.array().log();
}

void TreePattern::piece_sum(std::size_t piece, std::span<const Id> taken, double* out) const {
  Messages messages;
  upward(piece, taken, messages);
  const auto sum = messages.to_parent[messages.parent_taken ? 1 : 0].row(0);
  for (Index k = 0; k < group_.state_count(); ++k)
    out[k] = sum[k] > 0 ? messages.log_scale[k] + std::log(sum[k]) : -infinity;
}

PieceBeliefs TreePattern::beliefs(std::size_t number, std::span<const Id> taken) const {
  const DependencyTree& tree = group_.tree();
  const std::vector<Id>& bits = pieces_[number].bits;
  Messages messages;
  upward(number, taken, messages);
  const Index states = group_.state_count();
  const auto places = static_cast<Index>(bits.size());
  PieceBeliefs beliefs{RowMatrix::Zero(places, states), RowMatrix::Zero(places, states)};
  // p(bit = 1 | parent = u, everything below), then down from the top.
  const auto given = [&](Index place, bool u, Index k) {
    const double p = (u ? group_.given_taken() : group_.given_not_taken())(bits[static_cast<std::size_t>(place)], k);
    const double taken_weight = p * messages.own[1](place, k),
                 total = taken_weight + (1 - p) * messages.own[0](place, k);
    return total > 0 ? taken_weight / total : 0.0;
  };
  for (Index place = 0; place < places; ++place) {
    const Id parent = tree.parent(bits[static_cast<std::size_t>(place)]);
    const bool inside = parent >= 0 && is_unknown(parent);
    for (Index k = 0; k < states; ++k) {
      if (!inside) {
        const double p = given(place, messages.parent_taken, k);
        beliefs.taken(place, k) = p;
        if (messages.parent_taken) beliefs.together(place, k) = p;
        continue;
      }
      const double above = beliefs.taken(place_of_[static_cast<std::size_t>(parent)], k);
      const double with = above > 0 ? above * given(place, true, k) : 0;
      const double without = above < 1 ? (1 - above) * given(place, false, k) : 0;
      beliefs.together(place, k) = with;
      beliefs.taken(place, k) = with + without;
    }
  }
  return beliefs;
}

void TreePattern::sample(std::size_t number, std::span<const Id> taken, Index state, RandomStream& stream,
                         std::vector<Id>& drawn) const {
  const DependencyTree& tree = group_.tree();
  const std::vector<Id>& bits = pieces_[number].bits;
  Messages messages;
  upward(number, taken, messages);
  std::vector<bool> value(bits.size());
  for (std::size_t place = 0; place < bits.size(); ++place) {
    const Id bit = bits[place], parent = tree.parent(bit);
    const bool inside = parent >= 0 && is_unknown(parent);
    const bool u =
        inside ? value[static_cast<std::size_t>(place_of_[static_cast<std::size_t>(parent)])] : messages.parent_taken;
    const auto at = static_cast<Index>(place);
    const double p = (u ? group_.given_taken() : group_.given_not_taken())(bit, state);
    const double yes = p * messages.own[1](at, state), total = yes + (1 - p) * messages.own[0](at, state);
    value[place] = total > 0 && stream.bernoulli(yes / total);
    if (value[place]) drawn.push_back(bit);
  }
}

}  // namespace desirepath::inline emissions
