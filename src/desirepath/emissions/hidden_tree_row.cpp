#include "desirepath/emissions/hidden_tree_row.h"

#include <algorithm>
#include <cmath>

#include "desirepath/emissions/plan_kernels.h"

namespace desirepath::inline emissions {

namespace {

/// What children change by more than this may bring back what vanished in the baseline.
constexpr double largest_change = 1e90;

}  // namespace

HiddenTreeRow::HiddenTreeRow(const HiddenTree& tree, const BaselineMessages& baseline,
                             std::span<const TreeChange> changes)
    : tree_(tree), baseline_(baseline), changes_(changes), place_(static_cast<std::size_t>(tree.node_count()), -1) {
  find_entries();
  if (entries_.empty()) {
    log_probability_ = baseline_.log_probability;
    return;
  }
  belief_.resize(std::ssize(entries_), tree_.stride());
  message_.resize(std::ssize(entries_), tree_.stride());
  if (!up()) up_in_logarithms();
}

void HiddenTreeRow::find_entries() {
  constexpr std::int32_t is_changed = 0;
  std::vector<std::int32_t> change_of(place_.size(), -1);
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    change_of[static_cast<std::size_t>(changes_[i].known.course)] = static_cast<std::int32_t>(i);
    for (Id c = changes_[i].known.course; c >= 0 && place_[static_cast<std::size_t>(c)] < 0;
         c = tree_.shape().parent(c))
      place_[static_cast<std::size_t>(c)] = is_changed;
  }
  if (changes_.empty()) return;
  for (const Id c : tree_.shape().order()) {
    std::int32_t& place = place_[static_cast<std::size_t>(c)];
    if (place < 0) continue;
    const Id parent = tree_.shape().parent(c);
    place = static_cast<std::int32_t>(entries_.size());
    entries_.push_back(
        {c, parent < 0 ? -1 : place_[static_cast<std::size_t>(parent)], change_of[static_cast<std::size_t>(c)]});
  }
}

const double* HiddenTreeRow::own(const Entry& entry) const {
  return entry.change >= 0 ? changes_[static_cast<std::size_t>(entry.change)].own
                           : baseline_.own.row(entry.course).data();
}

bool HiddenTreeRow::up() {
  const Index stride = tree_.stride(), states = tree_.state_count();
  RowMatrix changed = RowMatrix::Ones(belief_.rows(), stride);  // what the children change
  double log_scale = baseline_.log_scale;
  for (std::size_t e = entries_.size(); e-- > 0;) {
    const auto at = static_cast<Index>(e);
    const Id c = entries_[e].course;
    auto x = belief_.row(at);
    x = Eigen::Map<const Eigen::RowVectorXd>(own(entries_[e]), stride)
            .cwiseProduct(baseline_.below.row(c))
            .cwiseProduct(changed.row(at));
    const double peak = x.head(states).maxCoeff<Eigen::PropagateNaN>(),
                 factor = changed.row(at).head(states).maxCoeff<Eigen::PropagateNaN>();
    if (!(peak > smallest_peak && peak < 1 / smallest_peak && factor < largest_change)) return false;
    log_scale += std::log(peak);
    x /= peak;
    if (e == 0) break;
    multiply_rows(tree_.up(c), states, stride, 1, x.data(), tree_.padding(), tree_.ones(), message_.row(at).data());
    changed.row(entries_[e].parent).array() *= message_.row(at).array() * baseline_.inverse_message.row(c).array();
  }
  log_probability_ = log_scale + std::log(root_sum(tree_, belief_.row(0).data()));
  return true;
}

void HiddenTreeRow::up_in_logarithms() {
  const Index stride = tree_.stride(), states = tree_.state_count();
  RowMatrix changed = RowMatrix::Zero(belief_.rows(), stride);
  for (std::size_t e = entries_.size(); e-- > 0;) {
    const auto at = static_cast<Index>(e);
    const Id c = entries_[e].course;
    double *x = belief_.row(at).data(), *u = message_.row(at).data();
    const double* likelihood = own(entries_[e]);
    for (Index z = 0; z < stride; ++z)
      x[z] = z < states ? std::log(likelihood[z]) + baseline_.log_below(c, z) + changed(at, z) : nowhere;
    const double shift = exponentiate(x, states, stride);
    if (e == 0) {
      log_probability_ = shift + std::log(root_sum(tree_, x));
      return;
    }
    multiply_rows(tree_.up(c), states, stride, 1, x, tree_.padding(), tree_.ones(), u);
    for (Index z = 0; z < states; ++z)
      changed(entries_[e].parent, z) += shift + std::log(u[z]) - baseline_.log_message(c, z);
  }
}

template <class Visit>
void HiddenTreeRow::down(const Visit& visit) const {
  const Index stride = tree_.stride(), states = tree_.state_count();
  RowMatrix posterior(tree_.node_count(), stride);
  const Vector nothing = Vector::Zero(stride);
  Vector g(stride);
  for (const Id c : tree_.shape().order()) {
    const Id parent = tree_.shape().parent(c);
    const Index at = place_[static_cast<std::size_t>(c)];
    const double* belief = at >= 0 ? belief_.row(at).data() : baseline_.belief.row(c).data();
    const double* message = at >= 0 ? message_.row(at).data() : baseline_.message.row(c).data();
    double* own = posterior.row(c).data();
    if (parent < 0) {
      const double sum = root_sum(tree_, belief);
      for (Index z = 0; z < stride; ++z)
        own[z] = tree_.initial()[z] * belief[z] / sum;
    } else {
      for (Index z = 0; z < stride; ++z)
        g[z] = posterior(parent, z) / message[z];
      multiply_rows(tree_.down(c), states, stride, 1, g.data(), nothing.data(), belief, own);
    }
    visit(c, parent < 0 ? nullptr : g.data(), belief, own);
  }
}

RowMatrix HiddenTreeRow::posterior() const {
  RowMatrix states(tree_.node_count(), tree_.stride());
  down([&](Id c, const double*, const double*, const double* own) {
    std::copy(own, own + tree_.stride(), states.row(c).data());
  });
  return states;
}

void HiddenTreeRow::add_to(TreeSums& sums, double weight) const {
  const Index stride = tree_.stride();
  Vector weighed(stride);
  down([&](Id c, const double* g, const double* belief, const double* own) {
    if (g != nullptr) {
      Eigen::Map<RowMatrix>(sums.pairs(c), tree_.state_count(), stride) +=
          weight * Eigen::Map<const Vector>(g, tree_.state_count()) *
          Eigen::Map<const Eigen::RowVectorXd>(belief, stride);
    }
    weighed = weight * Eigen::Map<const Vector>(own, stride);
    const Index at = place_[static_cast<std::size_t>(c)];
    const std::int32_t change = at >= 0 ? entries_[static_cast<std::size_t>(at)].change : -1;
    if (change >= 0) {
      const TreeChange& by = changes_[static_cast<std::size_t>(change)];
      sums.add(by.known, weighed.data(), by.own);
    } else {
      sums.add(tree_.unmentioned(c, baseline_.code), weighed.data(), baseline_.own.row(c).data());
    }
  });
}

void HiddenTreeRow::draw(RandomStream& stream, std::vector<Id>& states) const {
  states.resize(place_.size());
  const auto count = static_cast<std::size_t>(tree_.state_count());
  std::vector<double> weights(count);
  for (const Id c : tree_.shape().order()) {
    const Id parent = tree_.shape().parent(c);
    const Index at = place_[static_cast<std::size_t>(c)];
    const double* belief = at >= 0 ? belief_.row(at).data() : baseline_.belief.row(c).data();
    const double* prior =
        parent < 0 ? tree_.initial() : tree_.down(c) + states[static_cast<std::size_t>(parent)] * tree_.stride();
    for (std::size_t z = 0; z < count; ++z)
      weights[z] = prior[z] * belief[z];
    states[static_cast<std::size_t>(c)] = static_cast<Id>(stream.categorical(weights));
  }
}

}  // namespace desirepath::inline emissions
