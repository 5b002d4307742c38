#include "desirepath/emissions/hidden_tree_pass.h"

#include <algorithm>
#include <cmath>

#include "desirepath/probability/normal_kernels.h"

namespace desirepath::inline emissions {

namespace {

/// In the padding of logs: never the largest, and finite.
constexpr double nowhere = -1e300;
/// exp() of less than this is 0.
constexpr double vanishing = -700;
/// A product whose largest entry is below this may have lost others that matter.
constexpr double smallest_peak = 1e-200;

/// out_e = start + sum_z x_e[z] table.row(z), for four rows x_e at a time or one; each as if it were alone.
template <int count, int packs>
void multiply_tile(const double* table, Index states, Index stride, const double* const* x, const double* start,
                   double* const* out) {
  Pack sum[count][packs];
  for (int p = 0; p < packs; ++p) {
    for (int e = 0; e < count; ++e)
      sum[e][p] = load(start + p * pack_width);
  }
  for (Index z = 0; z < states; ++z) {
    const double* row = table + z * stride;
    Pack a[packs];
    for (int p = 0; p < packs; ++p)
      a[p] = load(row + p * pack_width);
    for (int e = 0; e < count; ++e) {
      const Pack factor = broadcast(x[e][z]);
      for (int p = 0; p < packs; ++p)
        sum[e][p] += factor * a[p];
    }
  }
  for (int e = 0; e < count; ++e) {
    for (int p = 0; p < packs; ++p)
      store(out[e] + p * pack_width, sum[e][p]);
  }
}

template <int count>
void multiply(const double* table, Index states, Index stride, const double* const* x, const double* start,
              double* const* out) {
  constexpr int widest = 4;
  for (Index begin = 0; begin < stride; begin += widest * pack_width) {
    double* targets[count];
    for (int e = 0; e < count; ++e)
      targets[e] = out[e] + begin;
    const Index packs = std::min<Index>(widest, (stride - begin) / pack_width);
    if (packs == 1) multiply_tile<count, 1>(table + begin, states, stride, x, start + begin, targets);
    if (packs == 2) multiply_tile<count, 2>(table + begin, states, stride, x, start + begin, targets);
    if (packs == 3) multiply_tile<count, 3>(table + begin, states, stride, x, start + begin, targets);
    if (packs == 4) multiply_tile<count, 4>(table + begin, states, stride, x, start + begin, targets);
  }
}

/// Rows first .. last-1 of x times a table of states by stride.
template <class Input, class Output>
void multiply_rows(const double* table, Index states, Index stride, std::size_t first, std::size_t last,
                   const double* start, const Input& x, const Output& out) {
  std::size_t e = first;
  for (; e + 4 <= last; e += 4) {
    const double* in[4] = {x(e), x(e + 1), x(e + 2), x(e + 3)};
    double* to[4] = {out(e), out(e + 1), out(e + 2), out(e + 3)};
    multiply<4>(table, states, stride, in, start, to);
  }
  for (; e < last; ++e) {
    const double* in[1] = {x(e)};
    double* to[1] = {out(e)};
    multiply<1>(table, states, stride, in, start, to);
  }
}

/// sums.row(z') += sum over four rows (or one) of weight_e[z'] x_e.
template <int count>
void add_products(double* sums, Index states, Index stride, const double* const* weight, const double* const* x) {
  for (Index begin = 0; begin < stride; begin += pack_width) {
    Pack right[count];
    for (int e = 0; e < count; ++e)
      right[e] = load(x[e] + begin);
    for (Index z = 0; z < states; ++z) {
      double* target = sums + z * stride + begin;
      Pack sum = load(target);
      for (int e = 0; e < count; ++e)
        sum += weight[e][z] * right[e];
      store(target, sum);
    }
  }
}

double largest_of(const double* values, Index stride) {
  Pack largest = load(values);
  for (Index z = pack_width; z < stride; z += pack_width)
    largest = larger(largest, load(values + z));
  double result = largest[0];
  for (std::ptrdiff_t lane = 1; lane < pack_width; ++lane)
    result = std::max(result, largest[lane]);
  return result;
}

/// Shifts logs by their largest and exponentiates them; the padding becomes 0. Returns the shift.
double exponentiate(double* logs, Index states, Index stride) {
  const double shift = largest_of(logs, stride);
  for (Index z = 0; z < stride; z += pack_width) {
    const Pack x = load(logs + z) - shift;
    const Pack exponents = exponential(larger(x, broadcast(vanishing)), broadcast(0));
    store(logs + z, x > vanishing ? exponents : broadcast(0));
  }
  for (Index z = states; z < stride; ++z)
    logs[z] = 0;
  return shift;
}

/// Logs of whole packs, in place.
void take_logs(std::vector<double>& values) {
  values.resize((values.size() + pack_width - 1) / pack_width * pack_width, 1.0);
  for (std::size_t i = 0; i < values.size(); i += pack_width)
    store(values.data() + i, logarithm(load(values.data() + i)));
}

/// 0 for states, 1 in the padding: what products start from, so that their logs exist everywhere.
Vector padding_of(const HiddenTree& tree) {
  Vector start = Vector::Zero(tree.stride());
  start.tail(tree.stride() - tree.state_count()).setOnes();
  return start;
}

/// sum_z pi(z) x(z), first to last.
double root_sum(const HiddenTree& tree, const double* belief) {
  double sum = 0;
  for (Index z = 0; z < tree.state_count(); ++z)
    sum += tree.initial()[z] * belief[z];
  return sum;
}

}  // namespace

RestMessages::RestMessages(const HiddenTree& tree, TimingCode rest) {
  const Index courses = tree.course_count(), stride = tree.stride(), states = tree.state_count();
  own.resize(courses, stride);
  log_below = RowMatrix::Zero(courses, stride);
  log_below.rightCols(stride - states).setConstant(nowhere);
  below.resize(courses, stride);
  belief = message = inverse_message = RowMatrix::Zero(courses, stride);
  log_message = RowMatrix::Zero(courses, stride);
  log_peak = Vector::Zero(courses);
  const Vector start = padding_of(tree);
  const auto order = tree.shape().order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const Id c = order[i], parent = tree.shape().parent(c);
    tree.own({c, rest}, own.row(c).data());
    below.row(c) = log_below.row(c);
    const double shift = exponentiate(below.row(c).data(), states, stride);
    belief.row(c) = own.row(c).cwiseProduct(below.row(c));
    const double peak = largest_of(belief.row(c).data(), stride);
    belief.row(c) /= peak;
    log_peak[c] = std::log(peak);
    if (parent < 0) {
      const double sum = root_sum(tree, belief.row(c).data());
      log_scale = shift;
      log_probability = shift + log_peak[c] + std::log(sum);
      root = belief.row(c).transpose().cwiseProduct(Eigen::Map<const Vector>(tree.initial(), stride)) / sum;
      continue;
    }
    const double* in[1] = {belief.row(c).data()};
    double* out[1] = {message.row(c).data()};
    multiply<1>(tree.up(c), states, stride, in, start.data(), out);
    inverse_message.row(c) = message.row(c).cwiseInverse();
    for (Index z = 0; z < states; ++z)
      log_message(c, z) = shift + log_peak[c] + std::log(message(c, z));
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

HiddenTreePass::HiddenTreePass(const HiddenTree& tree, const RestMessages& rest)
    : tree_(tree),
      rest_(rest),
      rank_(static_cast<std::size_t>(tree.course_count())),
      mark_(rank_.size(), -1),
      entry_of_(rank_.size(), -1),
      ratio_(tree.stride()) {
  const auto order = tree.shape().order();
  for (std::size_t i = 0; i < order.size(); ++i)
    rank_[static_cast<std::size_t>(order[i])] = static_cast<Id>(i);
  begin();
}

void HiddenTreePass::begin() {
  row_begin_.assign(1, 0);
  touched_begin_.assign(1, 0);
  changes_.clear();
  touched_.clear();
}

void HiddenTreePass::add_row(std::span<const TreeChange> changes) {
  ++stamp_;
  for (const TreeChange& change : changes) {
    changes_.push_back(change);
    for (Id c = change.course; c >= 0 && mark_[static_cast<std::size_t>(c)] != stamp_; c = tree_.shape().parent(c)) {
      mark_[static_cast<std::size_t>(c)] = stamp_;
      touched_.push_back(c);
    }
  }
  row_begin_.push_back(changes_.size());
  touched_begin_.push_back(touched_.size());
}

void HiddenTreePass::arrange() {
  const std::size_t courses = rank_.size();
  course_begin_.assign(courses + 1, 0);
  for (const Id c : touched_)
    ++course_begin_[static_cast<std::size_t>(rank_[static_cast<std::size_t>(c)]) + 1];
  for (std::size_t i = 0; i < courses; ++i)
    course_begin_[i + 1] += course_begin_[i];
  entries_.resize(touched_.size());
  std::vector<std::size_t> next(course_begin_.begin(), course_begin_.end() - 1);
  for (std::size_t row = 0; row < row_count(); ++row) {
    for (std::size_t i = touched_begin_[row]; i < touched_begin_[row + 1]; ++i) {
      const auto c = static_cast<std::size_t>(touched_[i]);
      const std::size_t e = next[static_cast<std::size_t>(rank_[c])]++;
      entry_of_[c] = static_cast<std::int32_t>(e);
      entries_[e] = {touched_[i], -1, static_cast<std::int32_t>(row), -1, rest_.own.row(touched_[i]).data()};
    }
    for (std::size_t i = touched_begin_[row]; i < touched_begin_[row + 1]; ++i) {
      const Id parent = tree_.shape().parent(touched_[i]);
      if (parent >= 0)
        entries_[static_cast<std::size_t>(entry_of_[static_cast<std::size_t>(touched_[i])])].parent =
            entry_of_[static_cast<std::size_t>(parent)];
    }
    for (std::size_t i = row_begin_[row]; i < row_begin_[row + 1]; ++i) {
      Entry& entry = entries_[static_cast<std::size_t>(entry_of_[static_cast<std::size_t>(changes_[i].course)])];
      entry.own = changes_[i].own;
      entry.kind = changes_[i].kind;
    }
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
  std::fill(log_probability.begin(), log_probability.end(), rest_.log_probability);
  state_.topRows(static_cast<Index>(entries_.size())).setOnes();
  const Vector start = padding_of(tree_);
  std::vector<double> log_scale(entries_.size(), 0), peaks;  // of what the children changed; of a course's products
  std::vector<std::int32_t> lost;                            // rows to be done in logarithms
  const auto order = tree_.shape().order();
  for (std::size_t rank = order.size(); rank-- > 0;) {
    const std::size_t first = course_begin_[rank], last = course_begin_[rank + 1];
    if (first == last) continue;
    const Id c = order[rank];
    const double* below = rest_.below.row(c).data();
    peaks.assign(last - first, 1);
    for (std::size_t e = first; e < last; ++e) {
      double* x = belief(e);
      const double *own = entries_[e].own, *changed = state(e);
      for (Index z = 0; z < stride; z += pack_width)
        store(x + z, load(own + z) * load(below + z) * load(changed + z));
      const double peak = largest_of(x, stride);
      if (!(peak > smallest_peak)) {
        lost.push_back(entries_[e].row);
        std::fill(x, x + states, 1.0);  // anything: it is done again
        continue;
      }
      peaks[e - first] = peak;
      const double inverse = 1 / peak;
      for (Index z = 0; z < stride; z += pack_width)
        store(x + z, inverse * load(x + z));
    }
    if (rank == 0) {
      for (std::size_t e = first; e < last; ++e)
        log_probability[static_cast<std::size_t>(entries_[e].row)] =
            rest_.log_scale + log_scale[e] + std::log(peaks[e - first] * root_sum(tree_, belief(e)));
      break;
    }
    multiply_rows(
        tree_.up(c), states, stride, first, last, start.data(), [&](std::size_t e) { return belief(e); },
        [&](std::size_t e) { return message(e); });
    // The parent's product changes by the message over the one at rest.
    const double* at_rest = rest_.inverse_message.row(c).data();
    double* ratio = ratio_.data();
    for (std::size_t e = first; e < last; ++e) {
      const double* u = message(e);
      for (Index z = 0; z < stride; z += pack_width)
        store(ratio + z, load(u + z) * load(at_rest + z));
      for (Index z = states; z < stride; ++z)
        ratio[z] = 0;
      const double peak = largest_of(ratio, stride), inverse = 1 / peak;
      peaks[e - first] *= peak;
      double* parent = state(static_cast<std::size_t>(entries_[e].parent));
      for (Index z = 0; z < stride; z += pack_width)
        store(parent + z, load(parent + z) * (inverse * load(ratio + z)));
    }
    take_logs(peaks);
    for (std::size_t e = first; e < last; ++e)
      log_scale[static_cast<std::size_t>(entries_[e].parent)] += log_scale[e] + peaks[e - first] - rest_.log_peak[c];
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
      x[z] = z < states ? std::log(entries_[e].own[z]) + rest_.log_below(c, z) + state(e)[z] : nowhere;
    const double shift = exponentiate(x, states, stride);
    if (entries_[e].parent < 0) return shift + std::log(root_sum(tree_, x));
    const double* in[1] = {x};
    double* out[1] = {u};
    multiply<1>(tree_.up(c), states, stride, in, start.data(), out);
    double* parent = state(static_cast<std::size_t>(entries_[e].parent));
    for (Index z = 0; z < states; ++z)
      parent[z] += shift + std::log(u[z]) - rest_.log_message(c, z);
  }
  return rest_.log_probability;
}

void HiddenTreePass::root_posterior(std::size_t entry) {
  const double* x = belief(entry);
  double* post = state(entry);
  const double sum = root_sum(tree_, x);
  for (Index z = 0; z < tree_.stride(); ++z)
    post[z] = tree_.initial()[z] * x[z] / sum;
}

void HiddenTreePass::down(std::span<const double> weights, std::span<const std::int32_t> rest_kinds, TreeSums& sums) {
  const Index stride = tree_.stride(), states = tree_.state_count();
  for (std::size_t row = 0; row < row_count(); ++row) {
    if (row_begin_[row] == row_begin_[row + 1]) sums.untouched += weights[row];
  }
  if (entries_.empty()) return;
  const auto order = tree_.shape().order();
  const Vector nothing = Vector::Zero(stride);
  const auto count = [&](std::size_t e) {
    const Entry& entry = entries_[e];
    const double weight = weights[static_cast<std::size_t>(entry.row)];
    const Index kind = entry.kind >= 0 ? entry.kind : rest_kinds[static_cast<std::size_t>(entry.course)];
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
      const double* root = here ? state(0) : rest_.root.data();
      std::copy(root, root + stride, states.row(c).data());
      continue;
    }
    const std::size_t e = changed ? course_begin_[rank] : 0;
    const double* u = here ? message(e) : rest_.message.row(c).data();
    const double* x = here ? belief(e) : rest_.belief.row(c).data();
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
    const double* x = here ? belief(course_begin_[rank]) : rest_.belief.row(c).data();
    const double* prior =
        parent < 0 ? tree_.initial() : tree_.down(c) + states[static_cast<std::size_t>(parent)] * tree_.stride();
    for (std::size_t z = 0; z < count; ++z)
      weights[z] = prior[z] * x[z];
    states[static_cast<std::size_t>(c)] = static_cast<Id>(stream.categorical(weights));
  }
}

void add_unchanged(const HiddenTree& tree, const RestMessages& rest, std::span<const std::int32_t> rest_kinds,
                   TreeSums& sums) {
  const Index stride = tree.stride(), states = tree.state_count();
  RowMatrix unchanged(tree.course_count(), stride);  // posterior of courses over the rows that leave them at rest
  const Vector nothing = Vector::Zero(stride);
  Vector g(stride);
  for (const Id c : tree.shape().order()) {
    const Id parent = tree.shape().parent(c);
    auto here = unchanged.row(c);
    if (parent < 0) {
      here = sums.untouched * rest.root.transpose();
    } else {
      // Rounding of the difference for a course that all rows change.
      for (Index z = 0; z < stride; ++z)
        g[z] = std::max(0.0, unchanged(parent, z) + sums.here(parent, z) - sums.above(c, z)) / rest.message(c, z);
      const double* in[1] = {g.data()};
      double* out[1] = {here.data()};
      multiply<1>(tree.down(c), states, stride, in, nothing.data(), out);
      here.array() *= rest.belief.row(c).array();
      const double *left[1] = {g.data()}, *right[1] = {rest.belief.row(c).data()};
      add_products<1>(sums.pairs.row(c * states).data(), states, stride, left, right);
    }
    sums.kinds.row(rest_kinds[static_cast<std::size_t>(c)]) += here;
  }
}

}  // namespace desirepath::inline emissions
