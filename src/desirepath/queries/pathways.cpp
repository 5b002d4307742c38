#include "desirepath/queries/pathways.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/text.h"
#include "desirepath/queries/node_groups.h"

namespace desirepath::inline queries {

std::vector<Id> PathNode::own_states(Id state_count) const {
  std::vector<Id> own = states;
  std::erase_if(own, [&](Id place) { return place >= state_count; });
  return own;
}

std::vector<EnrollmentStatus> PathNode::own_statuses(Id state_count) const {
  std::vector<EnrollmentStatus> own;
  for (const Id place : states) {
    if (place >= state_count) own.push_back(status_of(place, state_count));
  }
  return own;
}

std::vector<std::vector<Id>> enrolled_paths(const HiddenStates& states, const Cohort& cohort,
                                            const Executor& executor) {
  std::vector<std::vector<Id>> paths = states.paths(EvidenceBatch::of(cohort), executor);
  for (Id step = 0; step < states.step_count(); ++step) {
    const PeriodRange periods = states.step_periods(step);
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      if (is_present(cohort, s, periods)) continue;
      EnrollmentStatus status = cohort.status(s, periods.first);
      for (Id t = periods.first; t < periods.last; ++t) {
        if (cohort.status(s, t) != status) status = EnrollmentStatus::unknown;
      }
      paths[static_cast<std::size_t>(s)][static_cast<std::size_t>(step)] = place_of(status, states.state_count());
    }
  }
  return paths;
}

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

bool is_through_states(const StateFlows& flows, const StatePath& path) {
  return std::ranges::all_of(path.nodes, [&](std::size_t node) { return flows.nodes[node].kind == NodeKind::states; });
}

std::string path_words(const StateFlows& flows, const std::vector<std::size_t>& nodes, std::string_view arrow) {
  std::vector<std::string> names;
  for (const std::size_t node : nodes)
    names.push_back(flows.nodes[node].name);
  return join(names, arrow);
}

Table step_table(const StateFlows& flows) {
  return {flows.steps,
          {{"period", &StepStudents::period},
           {"enrolled", &StepStudents::enrolled, {.unit = "students", .decimals = 0}},
           {"exact", &StepStudents::is_exact}}};
}

std::string enrolled_count(const StepStudents& step) {
  return concat(step.is_exact ? "" : "at least ", with_separators(std::llround(step.enrolled)));
}

std::string enrolled_words(const StateFlows& flows) {
  std::vector<std::string> words;
  for (std::size_t step = 0; step < flows.steps.size(); ++step) {
    words.push_back(concat(enrolled_count(flows.steps[step]), step == 0 ? " students" : "", " in ",
                           flows.periods.size() == 1 ? "some period" : concat("period ", flows.periods[step])));
  }
  return concat("enrolled: ", join(words, ", "));
}

double GroupShare::error() const {
  const auto variance = [](double p, std::int64_t n) { return p * (1 - p) / static_cast<double>(n); };
  return std::sqrt(variance(share, students) + variance(others_share, others));
}

ComparedGroups compare_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                              const StudentGroups& groups, const Disclosure& disclosure, const LabelNull& null,
                              double most_q) {
  const NodeGroups counted = count_groups(flows, paths, groups, disclosure);
  std::vector<GroupShare> found;
  std::vector<GroupDifferences::Cell> cells;
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    if (flows.nodes[n].kind != NodeKind::states) continue;
    const auto step = static_cast<std::size_t>(flows.nodes[n].step);
    if (counted.shares[step] == StepShares::none) continue;
    const std::vector<double>& enrolled = counted.enrolled[step];
    const double in_all = std::accumulate(counted.counts[n].begin(), counted.counts[n].end(), 0.0);
    const double all = std::accumulate(enrolled.begin(), enrolled.end(), 0.0);
    for (std::size_t g = 0; g < counted.sizes.size(); ++g) {
      const double size = enrolled[g], inside = counted.counts[n][g];
      const double others = all - size, others_inside = in_all - inside;
      // Whoever is not in it can be few as well.
      const bool is_hidden = counted.hidden[n][g] != 0 || counted.hidden_enrolled[step][g] != 0;
      const auto rests = [&](double count) { return disclosure.rests(count); };
      if ((flows.exact_sizes && is_hidden) ||
          !std::ranges::all_of(
              std::initializer_list<double>{inside, size - inside, others_inside, others - others_inside}, rests))
        continue;
      const GroupShare share{n,
                             counted.groups.names[g],
                             static_cast<std::int64_t>(size),
                             static_cast<std::int64_t>(others),
                             inside / size,
                             others_inside / others,
                             1,
                             flows.exact_sizes,
                             flows.periods[step],
                             flows.nodes[n].name};
      if (is_mirrored(counted.sizes.size(), g, share.difference())) continue;
      found.push_back(share);
      cells.push_back({n, g});
    }
  }
  const auto chance = node_differences(flows, paths, counted.groups, null.strata).chance(cells, null);
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i].q = chance.q[i];
  std::erase_if(found, [&](const GroupShare& share) { return share.q > most_q; });
  // The order would tell of sizes that are withheld.
  if (flows.exact_sizes) {
    std::ranges::stable_sort(found, std::ranges::greater(), [](const GroupShare& share) {
      return std::abs(share.difference()) - 1.96 * share.error();
    });
  }
  return {std::move(found), chance.findings.cut(most_q)};
}

}  // namespace desirepath::inline queries
