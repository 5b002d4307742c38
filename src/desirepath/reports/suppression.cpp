#include "desirepath/reports/suppression.h"

#include <algorithm>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline reports {

void check_min_cell(std::int64_t min_cell) {
  if (min_cell >= 5) return;
  throw OptionError(concat(setting_name("min-cell"), " under 5 is refused: figures would rest on single students"));
}

SafeSeries merge_small_series(const CohortSummary& summary, std::int64_t min_cell, std::size_t most_groups) {
  // The students of two merged cells may overlap; the larger of the two is a safe lower bound for their union.
  using Cells = std::vector<CellCount>;
  const auto merge = [](CellCount& into, const CellCount& from) {
    into.enrollments += from.enrollments;
    into.students = std::max(into.students, from.students);
  };
  const auto is_small = [&](const CellCount& cell) { return cell.students > 0 && cell.students < min_cell; };

  std::vector<std::string> times = summary.times;
  std::vector<Cells> cells = summary.by_group;
  Cells totals(times.size());
  for (const Cells& row : cells) {
    for (std::size_t t = 0; t < times.size(); ++t)
      merge(totals[t], row[t]);
  }
  std::int64_t merged_times = 0;
  for (std::size_t t = 0; t < times.size() && times.size() > 1;) {
    if (!is_small(totals[t])) {
      ++t;
      continue;
    }
    // Towards the middle of the series.
    const std::size_t into = t < times.size() / 2 ? t + 1 : t - 1;
    const std::size_t low = std::min(t, into), high = std::max(t, into);
    times[low] = split(times[low], '-').front() + "-" + split(times[high], '-').back();
    merge(totals[low], totals[high]);
    for (Cells& row : cells) {
      merge(row[low], row[high]);
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(high));
    }
    totals.erase(totals.begin() + static_cast<std::ptrdiff_t>(high));
    times.erase(times.begin() + static_cast<std::ptrdiff_t>(high));
    ++merged_times;
    t = 0;
  }

  SafeSeries safe;
  safe.times = times;
  Cells other(times.size());
  std::int64_t merged_groups = 0;
  std::vector<std::size_t> named;
  for (std::size_t g = 0; g < cells.size(); ++g) {
    const bool safe_group = std::ranges::none_of(cells[g], is_small);
    if (safe_group && named.size() < most_groups) {
      named.push_back(g);
      continue;
    }
    for (std::size_t t = 0; t < times.size(); ++t)
      merge(other[t], cells[g][t]);
    ++merged_groups;
  }
  // "Other" itself must be safe, and one group alone in it would be that group.
  while (!named.empty() && (std::ranges::any_of(other, is_small) || merged_groups == 1)) {
    for (std::size_t t = 0; t < times.size(); ++t)
      merge(other[t], cells[named.back()][t]);
    named.pop_back();
    ++merged_groups;
  }
  const auto add = [&](const std::string& name, const Cells& row) {
    safe.groups.push_back(name);
    safe.enrollments.emplace_back();
    for (const CellCount& cell : row)
      safe.enrollments.back().push_back(cell.enrollments);
  };
  for (const std::size_t g : named)
    add(summary.groups[g], cells[g]);
  if (merged_groups > 0) add("other", other);
  const std::string grouping = summary.grouping.empty() ? "group" : summary.grouping;
  if (merged_groups > 0) safe.note = concat(counted(merged_groups, grouping, grouping + "s"), " merged into 'other'");
  if (merged_times > 0) {
    safe.note += concat(safe.note.empty() ? "" : ", ", counted(merged_times, summary.time, summary.time + "s"),
                        " merged with a neighbour");
  }
  return safe;
}

std::vector<SafeBin> merge_small_bins(const std::vector<std::int64_t>& counts, std::int64_t min_cell,
                                      std::int64_t width) {
  std::vector<SafeBin> bins;
  const auto size = static_cast<std::int64_t>(counts.size());
  for (std::int64_t first = 0; first < size; first += width) {
    SafeBin bin{first, std::min(first + width, size) - 1, 0};
    for (std::int64_t v = bin.first; v <= bin.last; ++v)
      bin.students += counts[static_cast<std::size_t>(v)];
    bins.push_back(bin);
  }
  // The smallest offender joins the smaller of its neighbours that has students, until none is left.
  while (bins.size() > 1) {
    std::size_t worst = bins.size();
    for (std::size_t b = 0; b < bins.size(); ++b) {
      const bool small = bins[b].students > 0 && bins[b].students < min_cell;
      if (small && (worst == bins.size() || bins[b].students < bins[worst].students)) worst = b;
    }
    if (worst == bins.size()) break;
    const bool has_left = worst > 0, has_right = worst + 1 < bins.size();
    const bool to_left = has_left && (!has_right || worst >= bins.size() / 2);
    const std::size_t low = to_left ? worst - 1 : worst;
    bins[low].last = bins[low + 1].last;
    bins[low].students += bins[low + 1].students;
    bins.erase(bins.begin() + static_cast<std::ptrdiff_t>(low) + 1);
  }
  return bins;
}

}  // namespace desirepath::inline reports
