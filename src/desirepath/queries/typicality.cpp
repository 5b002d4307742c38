#include "desirepath/queries/typicality.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "desirepath/core/rounded.h"
#include "desirepath/disclosure/disclosed_bins.h"

namespace desirepath::inline queries {

Percentiles percentiles(const std::vector<double>& values, const std::vector<std::int64_t>& group) {
  std::map<std::int64_t, std::vector<double>> sorted;
  for (std::size_t s = 0; s < values.size(); ++s) {
    if (group[s] != 0) sorted[group[s]].push_back(values[s]);
  }
  sorted[0] = values;
  for (auto& [number, list] : sorted)
    std::ranges::sort(list);
  Percentiles result;
  for (std::size_t s = 0; s < values.size(); ++s) {
    const std::vector<double>& list = sorted.at(group[s]);
    const auto at_or_under = std::ranges::upper_bound(list, values[s]) - list.begin();
    result.value.push_back(100 * static_cast<double>(at_or_under) / static_cast<double>(list.size()));
    result.of.push_back(std::ssize(list));
  }
  return result;
}

std::vector<std::int64_t> least_typical_first(const Percentiles& percentiles) {
  std::vector<std::int64_t> order(percentiles.value.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int64_t s) { return percentiles.value[static_cast<std::size_t>(s)]; });
  return order;
}

std::vector<std::int64_t> groups_by_presence(const Cohort& cohort, std::int64_t fewest) {
  const auto students = static_cast<std::size_t>(cohort.student_count());
  std::map<std::vector<Presence>, std::vector<std::size_t>> same;
  for (std::size_t s = 0; s < students; ++s) {
    std::vector<Presence> pattern;
    for (Id t = 0; t < cohort.schema().period_count(); ++t)
      pattern.push_back(presence_of(cohort.status(static_cast<std::int64_t>(s), t)));
    same[pattern].push_back(s);
  }
  std::map<std::int64_t, std::vector<std::size_t>> as_many;
  std::vector<std::int64_t> group(students, 0);
  std::int64_t number = 1;
  for (const auto& [pattern, members] : same) {
    if (std::ssize(members) >= fewest) {
      for (const std::size_t s : members)
        group[s] = number;
      ++number;
    } else {
      auto& list = as_many[std::ranges::count(pattern, Presence::present)];
      list.insert(list.end(), members.begin(), members.end());
    }
  }
  for (const auto& [periods, members] : as_many) {
    if (std::ssize(members) < fewest) continue;
    for (const std::size_t s : members)
      group[s] = number;
    ++number;
  }
  return group;
}

std::optional<TypicalityContrast> contrast_typical(const Cohort& cohort, const Percentiles& percentiles,
                                                   std::int64_t size, const std::string& major,
                                                   const Disclosure& disclosure) {
  if (!disclosure.rests(static_cast<double>(size))) return std::nullopt;
  const std::vector<std::int64_t> order = least_typical_first(percentiles);
  const auto least = portray(cohort, {order.begin(), order.begin() + size}, major, disclosure),
             most = portray(cohort, {order.end() - size, order.end()}, major, disclosure);
  if (!least || !most) return std::nullopt;
  return TypicalityContrast{*most, *least};
}

std::int64_t ScoreHistogram::students() const {
  return std::transform_reduce(bins.begin(), bins.end(), std::int64_t{0}, std::plus<>(),
                               [](const ScoreBin& bin) { return bin.students; });
}

Table ScoreHistogram::table() const {
  const Look nats{.unit = "nats", .decimals = 2};
  return {bins,
          {{"from", &ScoreBin::from, nats},
           {"to", &ScoreBin::to, nats},
           {"students", &ScoreBin::students, {.unit = "students"}}}};
}

double ScoreHistogram::quantile(double share) const {
  double before = 0;
  const double wanted = share * static_cast<double>(students());
  for (const ScoreBin& bin : bins) {
    const auto here = static_cast<double>(bin.students);
    if (here > 0 && before + here >= wanted) return bin.from + (bin.to - bin.from) * (wanted - before) / here;
    before += here;
  }
  return bins.empty() ? 0.0 : bins.back().to;
}

ScoreHistogram score_histogram(std::vector<double> scores, const Disclosure& disclosure) {
  constexpr int about = 40;
  ScoreHistogram histogram;
  std::erase_if(scores, [](double score) { return !std::isfinite(score); });
  if (!disclosure.rests(static_cast<double>(scores.size()))) return histogram;
  std::ranges::sort(scores);
  const auto tail = std::min(static_cast<std::size_t>(disclosure.least()), scores.size()) - 1;
  const double low = std::min(scores[tail], scores[scores.size() - 1 - tail]),
               high = std::max(scores[tail], scores[scores.size() - 1 - tail]);
  const double width = axis_ticks(std::max(high - low, 1.0), about)[1];
  const double start = std::floor(low / width);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(std::floor(high / width) - start) + 1, 0);
  for (const double score : scores)
    ++counts[static_cast<std::size_t>(std::floor(std::clamp(score, low, high) / width) - start)];
  for (const DisclosedBin& bin : merge_small_bins(counts, 1, disclosure)) {
    histogram.is_merged = histogram.is_merged || bin.last > bin.first;
    histogram.bins.push_back({(start + static_cast<double>(bin.first)) * width,
                              (start + static_cast<double>(bin.last) + 1) * width, bin.students});
  }
  return histogram;
}

}  // namespace desirepath::inline queries
