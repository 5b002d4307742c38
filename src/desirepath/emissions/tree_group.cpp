#include "desirepath/emissions/tree_group.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"

namespace desirepath::inline emissions {

namespace {

bool has(std::span<const Id> sorted, Id bit) {
  return std::ranges::binary_search(sorted, bit);
}

/// A bit's message to its parent, by the parent's value, from what is below the bit, by its own; divided by the larger.
void message_up(const TreeGroup& group, Id bit, const Eigen::Ref<const Eigen::RowVectorXd>& own_no,
                const Eigen::Ref<const Eigen::RowVectorXd>& own_yes, Eigen::Ref<Eigen::RowVectorXd> given_no,
                Eigen::Ref<Eigen::RowVectorXd> given_yes, Eigen::Ref<Eigen::RowVectorXd> scale) {
  const auto no = own_no.array(), yes = own_yes.array();
  given_no.array() = no + group.given_not_taken().row(bit).array() * (yes - no);
  given_yes.array() = no + group.given_taken().row(bit).array() * (yes - no);
  for (Index k = 0; k < scale.size(); ++k) {
    const double largest = std::max(given_no[k], given_yes[k]);
    scale[k] = largest > 0 ? largest : 1;
    given_no[k] /= scale[k];
    given_yes[k] /= scale[k];
  }
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
      for (const std::size_t given : {0U, 1U}) {
        const double p = given == 0 ? given_not_taken_(j, k) : given_taken_(j, k);
        if (!(p >= 0 && p <= 1)) throw InputError("tree: a probability outside 0 .. 1");
        log_[2 * given].set(j, k, LogScore::of(1 - p));
        log_[2 * given + 1].set(j, k, LogScore::of(p));
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
  Changed nothing;
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    settle(pieces_[p]);
    change(p, {}, nothing);
    piece_sum(p, nothing, default_sum_.data() + static_cast<Index>(p) * states);
    for (Index k = 0; k < states; ++k) {
      const double sum = default_sum_(static_cast<Index>(p), k);
      base_.set(0, k, base_.get(0, k) + (sum == -infinity ? LogScore{0, 1} : LogScore{sum, 0}));
    }
  }
  base_.drop_empty_counts();
  change_.drop_empty_counts();
  together_.drop_empty_counts();
}

void TreePattern::score(std::span<const Id> taken, double* out, Changed& scratch) const {
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
    change(piece, taken, scratch);
    piece_sum(piece, scratch, sum.data());
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

void TreePattern::settle(Piece& piece) const {
  const DependencyTree& tree = group_.tree();
  const auto places = static_cast<Index>(piece.bits.size());
  const Index states = group_.state_count();
  Messages& rest = piece.rest;
  for (const int v : {0, 1}) {
    rest.own[v] = piece.below[v];
    rest.to_parent[v].resize(places, states);
  }
  rest.scale.resize(places, states);
  piece.steady.assign(piece.bits.size(), true);
  for (Index place = places; place-- > 0;) {
    const Id bit = piece.bits[static_cast<std::size_t>(place)];
    message_up(group_, bit, rest.own[0].row(place), rest.own[1].row(place), rest.to_parent[0].row(place),
               rest.to_parent[1].row(place), rest.scale.row(place));
    piece.log_scale.array() += rest.scale.row(place).array().log();
    piece.steady[static_cast<std::size_t>(place)] =
        std::min(rest.to_parent[0].row(place).minCoeff(), rest.to_parent[1].row(place).minCoeff()) > 1e-200;
    if (!is_inside(bit)) continue;
    const Index above = place_of(tree.parent(bit));
    for (const int v : {0, 1})
      rest.own[v].row(above).array() *= rest.to_parent[v].row(place).array();
  }
}

void TreePattern::exact_below(const Piece& piece, Index place, std::span<const Id> taken,
                              Eigen::Ref<Eigen::RowVectorXd> no, Eigen::Ref<Eigen::RowVectorXd> yes) const {
  for (Index k = 0; k < group_.state_count(); ++k) {
    std::array<double, 2> logs = {0, 0}, at_rest = {0, 0};  // by the bit's value
    for (const Id child : group_.tree().children(piece.bits[static_cast<std::size_t>(place)])) {
      if (is_unknown(child)) continue;
      const bool value = has(taken, child);
      for (const std::size_t v : {0, 1}) {
        logs[v] += group_.log_probability(child, v == 1, value, k).value();
        at_rest[v] += group_.log_probability(child, v == 1, false, k).value();
      }
    }
    // Against the scale that `below` had taken out.
    const double largest = std::max(at_rest[0], at_rest[1]), shift = largest == -infinity ? 0 : largest;
    no[k] = std::exp(logs[0] - shift);
    yes[k] = std::exp(logs[1] - shift);
  }
}

void TreePattern::change(std::size_t number, std::span<const Id> taken, Changed& changed) const {
  const DependencyTree& tree = group_.tree();
  const Piece& piece = pieces_[number];
  const Index states = group_.state_count();
  if (static_cast<Id>(changed.slot.size()) != tree.bit_count())
    changed.slot.assign(static_cast<std::size_t>(tree.bit_count()), -1);
  else
    for (const Id bit : changed.bits)
      changed.slot[static_cast<std::size_t>(bit)] = -1;
  changed.places.clear();
  changed.bits.clear();
  const auto in_piece = [&](Id bit) {
    return bit >= 0 && is_unknown(bit) && piece_of_[static_cast<std::size_t>(bit)] == static_cast<Id>(number);
  };
  // A taken child changes its parent's message and those of all above it.
  for (const Id child : taken) {
    for (Id bit = tree.parent(child); in_piece(bit) && changed.slot[static_cast<std::size_t>(bit)] < 0;
         bit = tree.parent(bit)) {
      changed.slot[static_cast<std::size_t>(bit)] = 0;
      changed.places.push_back(place_of(bit));
    }
  }
  std::ranges::sort(changed.places);
  for (const Index place : changed.places) {
    const Id bit = piece.bits[static_cast<std::size_t>(place)];
    changed.slot[static_cast<std::size_t>(bit)] = static_cast<Index>(changed.bits.size());
    changed.bits.push_back(bit);
  }
  const auto count = static_cast<Index>(changed.places.size());
  const auto bit_at = [&](Index i) { return changed.bits[static_cast<std::size_t>(i)]; };
  const auto slot_of = [&](Id bit) { return changed.slot[static_cast<std::size_t>(bit)]; };
  changed.whole.assign(changed.places.size(), false);
  for (const int v : {0, 1}) {
    if (changed.own[v].rows() < count || changed.own[v].cols() != states) {
      changed.own[v].resize(2 * count, states);
      changed.to_parent[v].resize(2 * count, states);
    }
  }
  for (Index i = 0; i < count; ++i) {
    const Index place = changed.places[static_cast<std::size_t>(i)];
    const Id bit = bit_at(i);
    if (piece.exact[static_cast<std::size_t>(place)]) changed.whole[static_cast<std::size_t>(i)] = true;
    if (!piece.steady[static_cast<std::size_t>(place)] && is_inside(bit))
      changed.whole[static_cast<std::size_t>(slot_of(tree.parent(bit)))] = true;
  }
  for (Index i = 0; i < count; ++i) {
    const Index place = changed.places[static_cast<std::size_t>(i)];
    const bool whole = changed.whole[static_cast<std::size_t>(i)];
    for (const int v : {0, 1})
      changed.own[v].row(i) = whole ? piece.below[v].row(place) : piece.rest.own[v].row(place);
    if (piece.exact[static_cast<std::size_t>(place)])
      exact_below(piece, place, taken, changed.own[0].row(i), changed.own[1].row(i));
  }
  const RowMatrix& no = group_.given_not_taken();
  const RowMatrix& yes = group_.given_taken();
  for (const Id child : taken) {
    const Id bit = tree.parent(child);
    if (!in_piece(bit) || piece.exact[static_cast<std::size_t>(place_of(bit))]) continue;
    const Index i = slot_of(bit);
    changed.own[0].row(i).array() *= no.row(child).array() / (1 - no.row(child).array());
    changed.own[1].row(i).array() *= yes.row(child).array() / (1 - yes.row(child).array());
  }
  Eigen::RowVectorXd scale = Eigen::RowVectorXd::Ones(states), by(states);
  changed.log_scale.setZero(states);
  for (Index i = count; i-- > 0;) {
    const Index place = changed.places[static_cast<std::size_t>(i)];
    const Id bit = bit_at(i);
    if (changed.whole[static_cast<std::size_t>(i)]) {
      for (const Id child : tree.children(bit)) {
        if (!is_unknown(child)) continue;
        const Index j = slot_of(child);
        for (const int v : {0, 1}) {
          if (j >= 0)
            changed.own[v].row(i).array() *= changed.to_parent[v].row(j).array();
          else
            changed.own[v].row(i).array() *= piece.rest.to_parent[v].row(place_of(child)).array();
        }
      }
    }
    message_up(group_, bit, changed.own[0].row(i), changed.own[1].row(i), changed.to_parent[0].row(i),
               changed.to_parent[1].row(i), by);
    scale.array() *= by.array() / piece.rest.scale.row(place).array();
    if (scale.minCoeff() < 1e-200 || scale.maxCoeff() > 1e200) {
      changed.log_scale.array() += scale.array().log();
      scale.setOnes();
    }
    if (!is_inside(bit)) continue;
    const Index above = slot_of(tree.parent(bit));
    if (changed.whole[static_cast<std::size_t>(above)]) continue;
    for (const int v : {0, 1})
      changed.own[v].row(above).array() *=
          changed.to_parent[v].row(i).array() / piece.rest.to_parent[v].row(place).array();
  }
  changed.log_scale.array() += scale.array().log();
  const Id top = tree.parent(piece.bits.front());
  changed.parent_taken = top >= 0 && has(taken, top);
}

void TreePattern::given_parent(std::size_t number, Index place, const Changed& changed,
                               Eigen::Ref<Eigen::RowVectorXd> not_taken, Eigen::Ref<Eigen::RowVectorXd> taken) const {
  const Piece& piece = pieces_[number];
  const Id bit = piece.bits[static_cast<std::size_t>(place)];
  const Index i = changed.slot[static_cast<std::size_t>(bit)];
  const auto own_no = i >= 0 ? changed.own[0].row(i) : piece.rest.own[0].row(place);
  const auto own_yes = i >= 0 ? changed.own[1].row(i) : piece.rest.own[1].row(place);
  for (Index k = 0; k < group_.state_count(); ++k) {
    for (const bool u : {false, true}) {
      const double p = (u ? group_.given_taken() : group_.given_not_taken())(bit, k);
      const double yes = p * own_yes[k], total = yes + (1 - p) * own_no[k];
      (u ? taken : not_taken)[k] = total > 0 ? yes / total : 0;
    }
  }
}

void TreePattern::piece_sum(std::size_t number, const Changed& changed, double* out) const {
  const Piece& piece = pieces_[number];
  const int u = changed.parent_taken ? 1 : 0;
  const auto sum = changed.places.empty() ? piece.rest.to_parent[u].row(0) : changed.to_parent[u].row(0);
  for (Index k = 0; k < group_.state_count(); ++k)
    out[k] = sum[k] > 0 ? piece.log_scale[k] + changed.log_scale[k] + std::log(sum[k]) : -infinity;
}

PieceBeliefs TreePattern::beliefs(std::size_t number, std::span<const Id> taken) const {
  const std::vector<Id>& bits = pieces_[number].bits;
  Changed changed;
  change(number, taken, changed);
  const Index states = group_.state_count();
  const auto places = static_cast<Index>(bits.size());
  PieceBeliefs beliefs{RowMatrix::Zero(places, states), RowMatrix::Zero(places, states)};
  Eigen::RowVectorXd without(states), with(states), above(states);
  for (Index place = 0; place < places; ++place) {
    const Id bit = bits[static_cast<std::size_t>(place)];
    if (is_inside(bit))
      above = beliefs.taken.row(place_of(group_.tree().parent(bit)));
    else
      above.setConstant(changed.parent_taken ? 1 : 0);
    given_parent(number, place, changed, without, with);
    beliefs.together.row(place) = above.cwiseProduct(with);
    beliefs.taken.row(place) = beliefs.together.row(place).array() + (1 - above.array()) * without.array();
  }
  return beliefs;
}

void TreePattern::sample(std::size_t number, std::span<const Id> taken, Index state, RandomStream& stream,
                         std::vector<Id>& drawn) const {
  const std::vector<Id>& bits = pieces_[number].bits;
  Changed changed;
  change(number, taken, changed);
  Eigen::RowVectorXd without(group_.state_count()), with(group_.state_count());
  std::vector<bool> value(bits.size());
  for (std::size_t place = 0; place < bits.size(); ++place) {
    const Id bit = bits[place];
    const bool u =
        is_inside(bit) ? value[static_cast<std::size_t>(place_of(group_.tree().parent(bit)))] : changed.parent_taken;
    given_parent(number, static_cast<Index>(place), changed, without, with);
    value[place] = stream.bernoulli((u ? with : without)[state]);
    if (value[place]) drawn.push_back(bit);
  }
}

}  // namespace desirepath::inline emissions
