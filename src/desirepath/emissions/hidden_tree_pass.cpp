#include "desirepath/emissions/hidden_tree_pass.h"

#include <algorithm>
#include <cmath>

#include "desirepath/emissions/pack_kernels.h"

namespace desirepath::inline emissions {

namespace {

/// 0 for states, 1 in the padding: what products start from, so that their logs exist everywhere.
Vector padding_of(const HiddenTree& tree) {
  Vector start = Vector::Zero(tree.stride());
  start.tail(tree.stride() - tree.state_count()).setOnes();
  return start;
}

/// Beliefs whose largest is within this, or one over it, are left as they are: dozens of them times each other are
/// still numbers.
constexpr double ordinary_peak = 1e6;
/// What children change by more than this may bring back what vanished in the baseline.
constexpr double largest_factor = 1e90;

/// sum_z pi(z) x(z), first to last.
double root_sum(const HiddenTree& tree, const double* belief) {
  double sum = 0;
  for (Index z = 0; z < tree.state_count(); ++z)
    sum += tree.initial()[z] * belief[z];
  return sum;
}

}  // namespace

BaselineMessages::BaselineMessages(const HiddenTree& tree, TimingCode baseline) {
  const Index courses = tree.course_count(), stride = tree.stride(), states = tree.state_count();
  own.resize(courses, stride);
  log_below = RowMatrix::Zero(courses, stride);
  log_below.rightCols(stride - states).setConstant(nowhere);
  below.resize(courses, stride);
  belief = message = inverse_message = RowMatrix::Zero(courses, stride);
  log_message = RowMatrix::Zero(courses, stride);
  const Vector start = padding_of(tree);
  const auto order = tree.shape().order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const Id c = order[i], parent = tree.shape().parent(c);
    tree.own({c, baseline}, own.row(c).data());
    below.row(c) = log_below.row(c);
    const double shift = exponentiate(below.row(c).data(), states, stride);
    belief.row(c) = own.row(c).cwiseProduct(below.row(c));
    const double peak = largest_of(belief.row(c).data(), stride);
    belief.row(c) /= peak;
    const double log_peak = std::log(peak);
    if (parent < 0) {
      const double sum = root_sum(tree, belief.row(c).data());
      log_scale = shift;
      log_probability = shift + log_peak + std::log(sum);
      root = belief.row(c).transpose().cwiseProduct(Eigen::Map<const Vector>(tree.initial(), stride)) / sum;
      continue;
    }
    const double* in[1] = {belief.row(c).data()};
    double* out[1] = {message.row(c).data()};
    multiply<1>(tree.up(c), states, stride, in, start.data(), out);
    inverse_message.row(c) = (peak * message.row(c)).cwiseInverse();
    inverse_message.row(c).tail(stride - states).setOnes();  // products of the padding stay numbers
    for (Index z = 0; z < states; ++z)
      log_message(c, z) = shift + log_peak + std::log(message(c, z));
    log_below.row(parent).head(states) += log_message.row(c).head(states);
  }
}

void TreeSums::resize(const HiddenTree& tree, Index kind_count) {
  const Index courses = tree.course_count(), stride = tree.stride();
  pairs = RowMatrix::Zero(courses * tree.state_count(), stride);
  kinds = RowMatrix::Zero(kind_count, stride);
  above = RowMatrix::Zero(courses, stride);
  here = RowMatrix::Zero(courses, stride);
  untouched = 0;
}

void TreeSums::clear_group() {
  above.setZero();
  here.setZero();
  untouched = 0;
}

void TreeSums::add(const TreeSums& other) {
  pairs += other.pairs;
  kinds += other.kinds;
}

HiddenTreePass::HiddenTreePass(const HiddenTree& tree, const BaselineMessages& baseline)
    : tree_(tree),
      baseline_(baseline),
      rank_(static_cast<std::size_t>(tree.course_count())),
      mark_(rank_.size(), -1),
      place_of_(rank_.size(), -1) {
  const auto order = tree.shape().order();
  for (std::size_t i = 0; i < order.size(); ++i)
    rank_[static_cast<std::size_t>(order[i])] = static_cast<Id>(i);
  begin();
}

void HiddenTreePass::begin() {
  row_begin_.assign(1, 0);
  touched_.clear();
}

void HiddenTreePass::add_row(std::span<const TreeChange> changes) {
  ++stamp_;
  const auto row = static_cast<std::int32_t>(row_count());
  for (const TreeChange& change : changes) {
    std::int32_t child = -1;
    for (Id course = change.course; course >= 0; course = tree_.shape().parent(course)) {
      const auto c = static_cast<std::size_t>(course);
      const bool seen = mark_[c] == stamp_;
      if (!seen) {
        mark_[c] = stamp_;
        place_of_[c] = static_cast<std::int32_t>(touched_.size());
        touched_.push_back({course, -1, row, -1, baseline_.own.row(course).data()});
      }
      if (child >= 0) touched_[static_cast<std::size_t>(child)].parent = place_of_[c];
      if (seen) break;
      child = place_of_[c];
    }
    Entry& entry = touched_[static_cast<std::size_t>(place_of_[static_cast<std::size_t>(change.course)])];
    entry.own = change.own;
    entry.kind = change.kind;
  }
  row_begin_.push_back(touched_.size());
}

void HiddenTreePass::arrange() {
  const auto rank_of = [&](const Entry& entry) {
    return static_cast<std::size_t>(rank_[static_cast<std::size_t>(entry.course)]);
  };
  course_begin_.assign(rank_.size() + 1, 0);
  for (const Entry& entry : touched_)
    ++course_begin_[rank_of(entry) + 1];
  for (std::size_t i = 0; i < rank_.size(); ++i)
    course_begin_[i + 1] += course_begin_[i];
  next_.assign(course_begin_.begin(), course_begin_.end() - 1);
  moved_.resize(touched_.size());
  for (std::size_t i = 0; i < touched_.size(); ++i)
    moved_[i] = static_cast<std::int32_t>(next_[rank_of(touched_[i])]++);
  entries_.resize(touched_.size());
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    Entry& entry = entries_[static_cast<std::size_t>(moved_[i])];
    entry = touched_[i];
    if (entry.parent >= 0) entry.parent = moved_[static_cast<std::size_t>(entry.parent)];
  }
  const auto needed = static_cast<Index>(entries_.size());
  if (belief_.rows() < needed) {
    const Index room = needed + needed / 4;
    belief_.resize(room, tree_.stride());
    message_.resize(room, tree_.stride());
    state_.resize(room, tree_.stride());
  }
}

void HiddenTreePass::up(std::span<double> log_probability) {
  arrange();
  const Index stride = tree_.stride(), states = tree_.state_count();
  std::fill(log_probability.begin(), log_probability.end(), baseline_.log_probability);
  state_.topRows(static_cast<Index>(entries_.size())).setOnes();
  const Vector start = padding_of(tree_);
  std::vector<double> log_scale(entries_.size(), 0);  // what beliefs from here down were divided by
  std::vector<std::int32_t> lost;                     // rows to be done in logarithms
  const auto order = tree_.shape().order();
  for (std::size_t rank = order.size(); rank-- > 0;) {
    const std::size_t first = course_begin_[rank], last = course_begin_[rank + 1];
    if (first == last) continue;
    const Id c = order[rank];
    const double* below = baseline_.below.row(c).data();
    for (std::size_t e = first; e < last; ++e) {
      double* x = belief(e);
      const double *own = entries_[e].own, *changed = state(e);
      for (Index z = 0; z < stride; z += pack_width)
        store(x + z, load(own + z) * load(below + z) * load(changed + z));
      const double peak = largest_of(x, stride), factor = largest_of(changed, stride);
      if (peak > 1 / ordinary_peak && peak < ordinary_peak && factor < largest_factor) continue;
      if (!(peak > smallest_peak && peak < 1 / smallest_peak && factor < largest_factor)) {
        lost.push_back(entries_[e].row);
        std::fill(x, x + states, 1.0);  // anything: it is done again
        continue;
      }
      log_scale[e] += std::log(peak);
      const double inverse = 1 / peak;
      for (Index z = 0; z < stride; z += pack_width)
        store(x + z, inverse * load(x + z));
    }
    if (rank == 0) {
      for (std::size_t e = first; e < last; ++e) {
        const double root = std::log(root_sum(tree_, belief(e)));
        if (std::isnan(root)) lost.push_back(entries_[e].row);  // a product beyond all numbers times one of nothing
        log_probability[static_cast<std::size_t>(entries_[e].row)] = baseline_.log_scale + log_scale[e] + root;
      }
      break;
    }
    multiply_rows(
        tree_.up(c), states, stride, first, last, start.data(), [&](std::size_t e) { return belief(e); },
        [&](std::size_t e) { return message(e); });
    // The parent's product changes by the message over the baseline one.
    const double* usual = baseline_.inverse_message.row(c).data();
    for (std::size_t e = first; e < last; ++e) {
      const double* u = message(e);
      const auto above = static_cast<std::size_t>(entries_[e].parent);
      double* parent = state(above);
      for (Index z = 0; z < stride; z += pack_width)
        store(parent + z, load(parent + z) * (load(u + z) * load(usual + z)));
      log_scale[above] += log_scale[e];
    }
  }
  std::ranges::sort(lost);
  lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
  for (const std::int32_t row : lost)
    log_probability[static_cast<std::size_t>(row)] = up_in_logs(row);
}

double HiddenTreePass::up_in_logs(std::int32_t row) {
  const Index stride = tree_.stride(), states = tree_.state_count();
  const Vector start = padding_of(tree_);
  std::vector<std::size_t> own;  // the row's entries, parents first
  for (std::size_t e = 0; e < entries_.size(); ++e) {
    if (entries_[e].row == row) own.push_back(e);
  }
  for (const std::size_t e : own)
    std::fill(state(e), state(e) + stride, 0.0);
  for (std::size_t i = own.size(); i-- > 0;) {
    const std::size_t e = own[i];
    const Id c = entries_[e].course;
    double *x = belief(e), *u = message(e);
    for (Index z = 0; z < stride; ++z)
      x[z] = z < states ? std::log(entries_[e].own[z]) + baseline_.log_below(c, z) + state(e)[z] : nowhere;
    const double shift = exponentiate(x, states, stride);
    if (entries_[e].parent < 0) return shift + std::log(root_sum(tree_, x));
    const double* in[1] = {x};
    double* out[1] = {u};
    multiply<1>(tree_.up(c), states, stride, in, start.data(), out);
    double* parent = state(static_cast<std::size_t>(entries_[e].parent));
    for (Index z = 0; z < states; ++z)
      parent[z] += shift + std::log(u[z]) - baseline_.log_message(c, z);
  }
  return baseline_.log_probability;
}

void HiddenTreePass::root_posterior(std::size_t entry) {
  const double* x = belief(entry);
  double* post = state(entry);
  const double sum = root_sum(tree_, x);
  for (Index z = 0; z < tree_.stride(); ++z)
    post[z] = tree_.initial()[z] * x[z] / sum;
}

void HiddenTreePass::down(std::span<const double> weights, std::span<const std::int32_t> baseline_kinds,
                          TreeSums& sums) {
  for (std::size_t row = 0; row < row_count(); ++row) {
    if (row_begin_[row] == row_begin_[row + 1]) sums.untouched += weights[row];
  }
  if (entries_.empty()) return;
  const Index stride = tree_.stride(), states = tree_.state_count();
  const auto order = tree_.shape().order();
  const Vector nothing = Vector::Zero(stride);
  const auto count = [&](std::size_t e) {
    const Entry& entry = entries_[e];
    const double weight = weights[static_cast<std::size_t>(entry.row)];
    const Index kind = entry.kind >= 0 ? entry.kind : baseline_kinds[static_cast<std::size_t>(entry.course)];
    double *here = sums.here.row(entry.course).data(), *of_kind = sums.kinds.row(kind).data();
    const double* post = state(e);
    for (Index z = 0; z < stride; z += pack_width) {
      const Pack weighed = weight * load(post + z);
      store(here + z, load(here + z) + weighed);
      store(of_kind + z, load(of_kind + z) + weighed);
    }
  };
  for (std::size_t e = course_begin_[0]; e < course_begin_[1]; ++e) {
    root_posterior(e);
    count(e);
  }
  for (std::size_t rank = 1; rank < order.size(); ++rank) {
    const std::size_t first = course_begin_[rank], last = course_begin_[rank + 1];
    if (first == last) continue;
    const Id c = order[rank];
    double* above = sums.above.row(c).data();
    // g = posterior of the parent over the message; it replaces the message, then weighed.
    for (std::size_t e = first; e < last; ++e) {
      const double weight = weights[static_cast<std::size_t>(entries_[e].row)];
      const double* parent = state(static_cast<std::size_t>(entries_[e].parent));
      double* g = message(e);
      for (Index z = 0; z < stride; z += pack_width) {
        const Pack arriving = load(parent + z);
        store(above + z, load(above + z) + weight * arriving);
        store(g + z, arriving / load(g + z));
      }
    }
    multiply_rows(
        tree_.down(c), states, stride, first, last, nothing.data(), [&](std::size_t e) { return message(e); },
        [&](std::size_t e) { return state(e); });
    for (std::size_t e = first; e < last; ++e) {
      const double weight = weights[static_cast<std::size_t>(entries_[e].row)];
      double *post = state(e), *g = message(e);
      const double* x = belief(e);
      for (Index z = 0; z < stride; z += pack_width) {
        store(post + z, load(post + z) * load(x + z));
        store(g + z, weight * load(g + z));
      }
      count(e);
    }
    double* pairs = sums.pairs.row(c * states).data();
    std::size_t e = first;
    for (; e + 4 <= last; e += 4) {
      const double* left[4] = {message(e), message(e + 1), message(e + 2), message(e + 3)};
      const double* right[4] = {belief(e), belief(e + 1), belief(e + 2), belief(e + 3)};
      add_products<4>(pairs, states, stride, left, right);
    }
    for (; e < last; ++e) {
      const double *left[1] = {message(e)}, *right[1] = {belief(e)};
      add_products<1>(pairs, states, stride, left, right);
    }
  }
}

void HiddenTreePass::posterior(RowMatrix& states) {
  const Index stride = tree_.stride(), count = tree_.state_count();
  states.resize(tree_.course_count(), stride);
  const bool changed = !entries_.empty();
  if (changed) root_posterior(0);
  const Vector nothing = Vector::Zero(stride);
  Vector g(stride);
  const auto order = tree_.shape().order();
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Id c = order[rank], parent = tree_.shape().parent(c);
    const bool here = changed && course_begin_[rank] < course_begin_[rank + 1];
    if (parent < 0) {
      const double* root = here ? state(0) : baseline_.root.data();
      std::copy(root, root + stride, states.row(c).data());
      continue;
    }
    const std::size_t e = changed ? course_begin_[rank] : 0;
    const double* u = here ? message(e) : baseline_.message.row(c).data();
    const double* x = here ? belief(e) : baseline_.belief.row(c).data();
    for (Index z = 0; z < stride; ++z)
      g[z] = states(parent, z) / u[z];
    const double* in[1] = {g.data()};
    double* out[1] = {states.row(c).data()};
    multiply<1>(tree_.down(c), count, stride, in, nothing.data(), out);
    for (Index z = 0; z < stride; ++z)
      states(c, z) *= x[z];
  }
}

void HiddenTreePass::draw(RandomStream& stream, std::vector<Id>& states) {
  states.resize(rank_.size());
  const auto count = static_cast<std::size_t>(tree_.state_count());
  std::vector<double> weights(count);
  const auto order = tree_.shape().order();
  const bool changed = !entries_.empty();
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Id c = order[rank], parent = tree_.shape().parent(c);
    const bool here = changed && course_begin_[rank] < course_begin_[rank + 1];
    const double* x = here ? belief(course_begin_[rank]) : baseline_.belief.row(c).data();
    const double* prior =
        parent < 0 ? tree_.initial() : tree_.down(c) + states[static_cast<std::size_t>(parent)] * tree_.stride();
    for (std::size_t z = 0; z < count; ++z)
      weights[z] = prior[z] * x[z];
    states[static_cast<std::size_t>(c)] = static_cast<Id>(stream.categorical(weights));
  }
}

void add_unchanged(const HiddenTree& tree, const BaselineMessages& baseline,
                   std::span<const std::int32_t> baseline_kinds, TreeSums& sums) {
  const Index stride = tree.stride(), states = tree.state_count();
  RowMatrix unchanged(tree.course_count(), stride);  // posterior of courses over the rows that leave them unchanged
  const Vector nothing = Vector::Zero(stride);
  Vector g(stride);
  for (const Id c : tree.shape().order()) {
    const Id parent = tree.shape().parent(c);
    auto here = unchanged.row(c);
    if (parent < 0) {
      here = sums.untouched * baseline.root.transpose();
    } else {
      // Rounding of the difference for a course that all rows change.
      for (Index z = 0; z < stride; ++z)
        g[z] = std::max(0.0, unchanged(parent, z) + sums.here(parent, z) - sums.above(c, z)) / baseline.message(c, z);
      const double* in[1] = {g.data()};
      double* out[1] = {here.data()};
      multiply<1>(tree.down(c), states, stride, in, nothing.data(), out);
      here.array() *= baseline.belief.row(c).array();
      const double *left[1] = {g.data()}, *right[1] = {baseline.belief.row(c).data()};
      add_products<1>(sums.pairs.row(c * states).data(), states, stride, left, right);
    }
    sums.kinds.row(baseline_kinds[static_cast<std::size_t>(c)]) += here;
  }
}

}  // namespace desirepath::inline emissions
