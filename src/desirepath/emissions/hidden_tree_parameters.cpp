#include "desirepath/emissions/hidden_tree_parameters.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline emissions {

namespace {

constexpr Index whole_pack = 8;  // doubles: the widest pack

bool is_positive_distribution(const auto& row) {
  return (row.array() > 0).all() && std::abs(row.sum() - 1) < 1e-6;
}

bool rows_are_positive_distributions(const RowMatrix& matrix) {
  for (Index r = 0; r < matrix.rows(); ++r) {
    if (!is_positive_distribution(matrix.row(r))) return false;
  }
  return true;
}

/// Each node's over its own values, 0 beyond them.
bool are_timings(const HiddenTreeParameters& p, const RowMatrix& timing) {
  const Index each = timing.rows() / p.nodes();
  for (Index r = 0; r < timing.rows(); ++r) {
    const Id values = p.values(static_cast<Id>(r / each));
    if (!is_positive_distribution(timing.row(r).head(values)) ||
        (timing.row(r).tail(timing.cols() - values).array() != 0).any())
      return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> HiddenTreeParameters::fault() const {
  const Index count = nodes(), h = states();
  if (courses() < 1 || h < 1 || periods() < 1 || periods() > most_timing_periods) return "an empty hidden tree";
  const auto is_trait_size = [](Id values_of_trait) {
    return values_of_trait >= 2 && values_of_trait <= most_node_values;
  };
  const bool has_departure = departure >= 0 && departure < std::ssize(trait_values) &&
                             trait_values[static_cast<std::size_t>(departure)] == periods();
  if (!std::ranges::all_of(trait_values, is_trait_size) || (departure != -1 && !has_departure))
    return "a hidden tree's traits make no sense";
  const Index values_of_widest = widest_node(shape());
  if (transition.rows() != count * h || transition.cols() != h || timing.rows() != count * h ||
      timing.cols() != values_of_widest || retake.rows() != count || centres.states.size() != h ||
      centres.timing.rows() != count || centres.timing.cols() != values_of_widest || centres.retake.size() != periods())
    return "a hidden tree's tables do not fit its courses and states";
  try {
    const DependencyTree tree(parents);
    if (tree.edge_count() != count - 1) return "a hidden tree in several pieces";
    for (Id c = 0; c < nodes(); ++c) {
      if (tree.parent(c) >= 0 && !rows_are_positive_distributions(transition.middleRows(c * h, h)))
        return "a hidden tree's transitions are no distributions";
    }
  } catch (const InputError& error) {
    return error.what();
  }
  if (!is_positive_distribution(initial) || !are_timings(*this, timing) || !is_positive_distribution(centres.states) ||
      !are_timings(*this, centres.timing))
    return "a hidden tree's probabilities do not sum to one";
  const auto is_share = [](const auto& values_of) {
    return ((values_of.array() >= 0) && (values_of.array() < 1)).all();
  };
  if (!is_share(retake) || !is_share(centres.retake)) return "a retake's probability outside 0 .. 1";
  return std::nullopt;
}

void HiddenTreeParameters::save(ArchiveWriter& archive, const std::string& prefix) const {
  archive.add(prefix + ".parents", parents);
  archive.add(prefix + ".initial", initial);
  archive.add(prefix + ".transition", transition);
  archive.add(prefix + ".timing", timing);
  archive.add(prefix + ".retake", retake);
  archive.add(prefix + ".centre_states", centres.states);
  archive.add(prefix + ".centre_timing", centres.timing);
  archive.add(prefix + ".centre_retake", centres.retake);
  if (trait_values.empty()) return;
  archive.add(prefix + ".trait_values", trait_values);
  archive.add(prefix + ".departure", std::vector<Id>{departure});
}

HiddenTreeParameters HiddenTreeParameters::load(const ArchiveReader& archive, const std::string& prefix) {
  const auto vector = [&](const std::string& name) { return archive.read_vector(prefix + name); };
  HiddenTreeParameters loaded;
  loaded.parents = archive.read<std::int32_t>(prefix + ".parents");
  loaded.initial = vector(".initial");
  loaded.transition = archive.read_matrix(prefix + ".transition");
  loaded.timing = archive.read_matrix(prefix + ".timing");
  loaded.retake = archive.read_matrix(prefix + ".retake");
  loaded.centres = {vector(".centre_states"), archive.read_matrix(prefix + ".centre_timing"), vector(".centre_retake")};
  if (archive.has(prefix + ".trait_values")) {
    loaded.trait_values = archive.read<std::int32_t>(prefix + ".trait_values");
    loaded.departure = archive.read<std::int32_t>(prefix + ".departure", {1})[0];
    if (loaded.courses() < 1) archive.refuse("damaged: an empty hidden tree");
  }
  if (const auto fault = loaded.fault()) archive.refuse("damaged: " + *fault);
  return loaded;
}

HiddenTree::HiddenTree(HiddenTreeParameters parameters)
    : parameters_(std::move(parameters)), shape_(parameters_.parents) {
  const Index h = state_count(), nodes = node_count(), values = width();
  stride_ = (h + whole_pack - 1) / whole_pack * whole_pack;
  initial_ = Vector::Zero(stride_);
  initial_.head(h) = parameters_.initial;
  ones_ = padding_ = Vector::Ones(stride_);
  padding_.head(h).setZero();
  down_ = RowMatrix::Zero(nodes * h, stride_);
  down_.leftCols(h) = parameters_.transition;
  up_ = RowMatrix::Zero(nodes * h, stride_);
  timing_ = RowMatrix::Zero(nodes * values, stride_);
  for (Index c = 0; c < nodes; ++c) {
    up_.middleRows(c * h, h).leftCols(h) = parameters_.transition.middleRows(c * h, h).transpose();
    timing_.middleRows(c * values, values).leftCols(h) = parameters_.timing.middleRows(c * h, h).transpose();
  }
}

void HiddenTree::own(const CourseTiming& known, double* out) const {
  double weigh[most_node_values];
  const auto values = static_cast<std::size_t>(width());
  weights(known, {weigh, values});
  const double* shares = timing(known.course);
  std::fill(out, out + stride_, 0.0);
  for (std::size_t v = 0; v < values; ++v) {
    if (weigh[v] == 0) continue;
    for (Index z = 0; z < state_count(); ++z)
      out[z] += weigh[v] * shares[static_cast<Index>(v) * stride_ + z];
  }
}

RowMatrix HiddenTree::state_shares() const {
  const Index h = state_count();
  RowMatrix states(node_count(), h);
  for (const Id c : shape_.order()) {
    const Id parent = shape_.parent(c);
    if (parent < 0)
      states.row(c) = parameters_.initial.transpose();
    else
      states.row(c) = states.row(parent) * parameters_.transition.middleRows(c * h, h);
  }
  return states;
}

RowMatrix HiddenTree::timing_shares() const {
  const Index h = state_count();
  const RowMatrix states = state_shares();
  RowMatrix shares(node_count(), width());
  for (Id c = 0; c < node_count(); ++c)
    shares.row(c) = states.row(c) * parameters_.timing.middleRows(c * h, h);
  return shares;
}

Vector HiddenTree::link_information() const {
  const Index h = state_count();
  const RowMatrix states = state_shares(), shares = timing_shares();
  Vector information = Vector::Zero(node_count());
  for (Id c = 0; c < node_count(); ++c) {
    const Id parent = shape_.parent(c);
    if (parent < 0) continue;
    const RowMatrix pairs = states.row(parent).transpose().asDiagonal() * parameters_.transition.middleRows(c * h, h);
    const RowMatrix together =
        parameters_.timing.middleRows(parent * h, h).transpose() * pairs * parameters_.timing.middleRows(c * h, h);
    for (Index u = 0; u < together.rows(); ++u) {
      for (Index v = 0; v < together.cols(); ++v) {
        const double apart = shares(parent, u) * shares(c, v);
        if (together(u, v) > 0 && apart > 0) information[c] += together(u, v) * std::log(together(u, v) / apart);
      }
    }
  }
  return information.cwiseMax(0);
}

}  // namespace desirepath::inline emissions
