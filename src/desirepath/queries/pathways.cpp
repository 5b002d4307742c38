#include "desirepath/queries/pathways.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/queries/shown_states.h"

namespace desirepath::inline queries {

PathCounts count_paths(const std::vector<std::vector<Id>>& paths) {
  PathCounts counts;
  for (const std::vector<Id>& path : paths)
    counts[path] += 1;
  return counts;
}

PathCounts expected_paths(const HiddenStates& states, double students) {
  constexpr double least = 1e-3;  // students; fewer are told nowhere
  PathCounts counts;
  const Vector first = states.share(0);
  for (Id k = 0; k < states.state_count(); ++k)
    counts[{k}] = students * first[k];
  for (Id step = 0; step + 1 < states.step_count(); ++step) {
    const Matrix& transition = states.transition(step);
    PathCounts longer;
    for (const auto& [path, count] : counts) {
      for (Id k = 0; k < states.state_count(); ++k) {
        const double going = count * transition(path.back(), k);
        if (going < least) continue;
        std::vector<Id> next = path;
        next.push_back(k);
        longer[std::move(next)] = going;
      }
    }
    counts = std::move(longer);
  }
  return counts;
}

StateFlows flows_of(const PathCounts& counts, const Model& model, std::int64_t min_cell,
                    const std::map<std::pair<Id, Id>, std::string>& names) {
  const HiddenStates& states = *model.hidden_states();
  const Id steps = states.step_count(), per_step = states.state_count();
  const auto bound = static_cast<double>(min_cell);
  RowMatrix students = RowMatrix::Zero(steps, per_step);
  for (const auto& [path, count] : counts) {
    for (Id step = 0; step < steps; ++step)
      students(step, path[static_cast<std::size_t>(step)]) += count;
  }
  const std::vector<StateProfile> profiles = profile_states(model, 3);
  StateFlows flows;
  const auto place = [&](Id step, Id state) {
    return static_cast<std::size_t>(step) * static_cast<std::size_t>(per_step) + static_cast<std::size_t>(state);
  };
  std::vector<std::size_t> node_of(place(steps, 0));
  for (Id step = 0; step < steps; ++step) {
    const std::vector<double> here(students.row(step).begin(), students.row(step).end());
    const std::vector<std::uint8_t> hidden = small_and_company(here, bound);
    PathNode other{step, {}, "other", 0};
    std::vector<Id> others;
    for (Id k = 0; k < per_step; ++k) {
      const std::size_t at = place(step, k);
      if (hidden[static_cast<std::size_t>(k)] != 0 || here[static_cast<std::size_t>(k)] <= 0) {
        other.states.push_back(k);
        other.students += here[static_cast<std::size_t>(k)];
        others.push_back(k);
        continue;
      }
      const auto given = names.find({step, k});
      node_of[at] = flows.nodes.size();
      flows.nodes.push_back({step,
                             {k},
                             given != names.end() ? given->second : state_name(profiles[at], model.schema()),
                             here[static_cast<std::size_t>(k)]});
    }
    for (const Id k : others)
      node_of[place(step, k)] = flows.nodes.size();
    if (other.students > 0) flows.nodes.push_back(std::move(other));
  }
  const auto node = [&](Id step, Id state) { return node_of[place(step, state)]; };
  std::map<std::pair<std::size_t, std::size_t>, double> between;
  std::map<std::vector<std::size_t>, double> along;
  for (const auto& [path, count] : counts) {
    std::vector<std::size_t> nodes;
    for (Id step = 0; step < steps; ++step)
      nodes.push_back(node(step, path[static_cast<std::size_t>(step)]));
    for (std::size_t i = 1; i < nodes.size(); ++i)
      between[{nodes[i - 1], nodes[i]}] += count;
    along[std::move(nodes)] += count;
  }
  // A small flow follows from the others out of its node, so it takes company with it.
  for (std::size_t from = 0; from < flows.nodes.size(); ++from) {
    std::vector<std::size_t> to;
    std::vector<double> sizes;
    for (const auto& [pair, count] : between) {
      if (pair.first != from) continue;
      to.push_back(pair.second);
      sizes.push_back(count);
    }
    const std::vector<std::uint8_t> hidden = small_and_company(sizes, bound);
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (hidden[i] != 0)
        flows.withheld += sizes[i];
      else
        flows.flows.push_back({from, to[i], sizes[i], sizes[i] / flows.nodes[from].students});
    }
  }
  std::ranges::stable_sort(flows.flows, std::ranges::greater(), &PathFlow::students);
  for (const auto& [nodes, count] : along) {
    if (count >= bound) flows.paths.push_back({nodes, count});
  }
  std::ranges::stable_sort(flows.paths, std::ranges::greater(), &StatePath::students);
  return flows;
}

double GroupShare::error() const {
  const auto variance = [](double p, std::int64_t n) { return p * (1 - p) / static_cast<double>(n); };
  return std::sqrt(variance(share, students) + variance(others_share, others));
}

double GroupShare::p_value() const {
  const auto n = static_cast<double>(students), m = static_cast<double>(others);
  const double pooled = (share * n + others_share * m) / (n + m);
  const double spread = std::sqrt(pooled * (1 - pooled) * (1 / n + 1 / m));
  return spread > 0 ? std::erfc(std::abs(difference()) / spread / std::sqrt(2.0)) : 1;
}

std::vector<GroupShare> compare_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                                       const StudentGroups& groups, std::int64_t min_cell) {
  std::vector<std::int64_t> size(groups.names.size(), 0);
  for (const Id group : groups.of_student) {
    if (group >= 0) ++size[static_cast<std::size_t>(group)];
  }
  const std::int64_t all = std::accumulate(size.begin(), size.end(), std::int64_t{0});
  std::vector<GroupShare> found;
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const PathNode& node = flows.nodes[n];
    std::vector<std::int64_t> inside(groups.names.size(), 0);
    for (std::size_t s = 0; s < paths.size(); ++s) {
      const Id state = paths[s][static_cast<std::size_t>(node.step)];
      const bool is_in = std::ranges::find(node.states, state) != node.states.end();
      if (is_in && groups.of_student[s] >= 0) ++inside[static_cast<std::size_t>(groups.of_student[s])];
    }
    const std::int64_t in_all = std::accumulate(inside.begin(), inside.end(), std::int64_t{0});
    for (std::size_t g = 0; g < size.size(); ++g) {
      const std::int64_t others = all - size[g], others_inside = in_all - inside[g];
      // Whoever is not in it can be few as well.
      const bool is_small = std::ranges::any_of(
          std::initializer_list<std::int64_t>{inside[g], size[g] - inside[g], others_inside, others - others_inside},
          [&](std::int64_t count) { return count < min_cell; });
      if (is_small) continue;
      const GroupShare share{n,
                             groups.names[g],
                             size[g],
                             others,
                             static_cast<double>(inside[g]) / static_cast<double>(size[g]),
                             static_cast<double>(others_inside) / static_cast<double>(others)};
      if (!is_mirrored(size.size(), g, share.difference())) found.push_back(share);
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater(),
                           [](const GroupShare& share) { return std::abs(share.difference()) - 1.96 * share.error(); });
  return found;
}

}  // namespace desirepath::inline queries
