#include "desirepath/queries/label_permutation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

std::vector<Id> label_strata(const Cohort& cohort, const std::string& by) {
  std::vector<Id> strata(static_cast<std::size_t>(cohort.student_count()), 0);
  if (!cohort.has_calendar() || is_entry_year(cohort, by)) return strata;
  std::map<std::int32_t, Id> number;
  for (std::size_t s = 0; s < strata.size(); ++s) {
    const std::int32_t year = cohort.entry_year(static_cast<std::int64_t>(s));
    strata[s] = number.emplace(year, static_cast<Id>(number.size())).first->second;
  }
  return strata;
}

GroupDifferences::GroupDifferences(LabelledStudents students, std::vector<std::vector<std::int64_t>> populations,
                                   std::vector<GroupMeasure> measures)
    : students_(std::move(students)),
      groups_(students_.names.size()),
      disclosed_groups_(groups_ == 2 ? 1 : groups_),
      populations_(std::move(populations)),
      measures_(std::move(measures)) {
  for (std::size_t s = 0; s < students_.stratum.size(); ++s) {
    const auto stratum = static_cast<std::size_t>(students_.stratum[s]);
    if (by_stratum_.size() <= stratum) by_stratum_.resize(stratum + 1);
    by_stratum_[stratum].push_back(static_cast<std::int64_t>(s));
  }
  strata_ = by_stratum_.size();
  // Share of each group in each stratum: what permuted labels give on average in any part of it.
  std::vector<double> share(strata_ * groups_, 0);
  for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
    for (const std::int64_t s : by_stratum_[stratum])
      share[stratum * groups_ + static_cast<std::size_t>(students_.group[static_cast<std::size_t>(s)])] +=
          1 / static_cast<double>(by_stratum_[stratum].size());
  }
  const auto stratum_of = [&](std::int64_t s) {
    return static_cast<std::size_t>(students_.stratum[static_cast<std::size_t>(s)]);
  };
  sizes_.assign(populations_.size() * strata_, 0);
  for (std::size_t p = 0; p < populations_.size(); ++p) {
    for (const std::int64_t s : populations_[p])
      ++sizes_[p * strata_ + stratum_of(s)];
  }
  constexpr double least_expected = 5;
  for (const GroupMeasure& measure : measures_) {
    std::vector<double> sums(strata_, 0), squares(strata_, 0), counts(strata_, 0);
    for (const auto& [student, value] : measure.values) {
      sums[stratum_of(student)] += value;
      squares[stratum_of(student)] += value * value;
      ++counts[stratum_of(student)];
    }
    for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
      const auto n = static_cast<double>(sizes_[measure.population * strata_ + stratum]);
      const double mean = n > 0 ? sums[stratum] / n : 0;
      const double rest = std::max(0.0, squares[stratum] - n * mean * mean);
      spreads_.push_back({mean, n > 1 ? rest / (n * (n - 1)) : 0});
    }
    for (std::size_t g = 0; g < disclosed_groups_; ++g) {
      double inside = 0, outside = 0, zeros_inside = 0, zeros_outside = 0;
      for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
        const auto n = static_cast<double>(sizes_[measure.population * strata_ + stratum]);
        const double part = share[stratum * groups_ + g], ones = measure.is_share ? counts[stratum] : n;
        inside += part * ones;
        outside += (1 - part) * ones;
        zeros_inside += part * (n - ones);
        zeros_outside += (1 - part) * (n - ones);
      }
      double least = std::min(inside, outside);
      if (measure.is_share) least = std::min({least, zeros_inside, zeros_outside});
      is_judged_.push_back(least >= least_expected ? 1 : 0);
    }
  }
  scores_ = scores(students_.group);
}

std::size_t GroupDifferences::index(std::size_t measure, std::size_t group) const {
  return measure * disclosed_groups_ + (disclosed_groups_ == 1 ? 0 : group);
}

double GroupDifferences::score(std::size_t measure, std::size_t group) const {
  return scores_[index(measure, group)];
}

std::vector<double> GroupDifferences::scores(const std::vector<Id>& group) const {
  // populations by strata by groups
  std::vector<std::int64_t> counts(populations_.size() * strata_ * groups_, 0);
  for (std::size_t p = 0; p < populations_.size(); ++p) {
    for (const std::int64_t student : populations_[p]) {
      const auto s = static_cast<std::size_t>(student);
      ++counts[(p * strata_ + static_cast<std::size_t>(students_.stratum[s])) * groups_ +
               static_cast<std::size_t>(group[s])];
    }
  }
  std::vector<double> result(is_judged_.size(), -infinity), sums(groups_);
  for (std::size_t m = 0; m < measures_.size(); ++m) {
    const GroupMeasure& measure = measures_[m];
    std::ranges::fill(sums, 0.0);
    double all = 0;
    for (const auto& [student, value] : measure.values) {
      sums[static_cast<std::size_t>(group[static_cast<std::size_t>(student)])] += value;
      all += value;
    }
    for (std::size_t g = 0; g < disclosed_groups_; ++g) {
      if (is_judged_[m * disclosed_groups_ + g] == 0) continue;
      double surplus = sums[g], variance = 0, inside = 0, size = 0;
      for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
        const Spread& spread = spreads_[m * strata_ + stratum];
        const auto n = static_cast<double>(sizes_[measure.population * strata_ + stratum]);
        const auto own = static_cast<double>(counts[(measure.population * strata_ + stratum) * groups_ + g]);
        surplus -= own * spread.mean;
        variance += own * (n - own) * spread.variance;
        inside += own;
        size += n;
      }
      const double difference = inside > 0 && inside < size ? sums[g] / inside - (all - sums[g]) / (size - inside) : 0;
      const bool agrees = surplus * difference > 0 && variance > 0;
      result[m * disclosed_groups_ + g] = agrees ? std::abs(surplus) / std::sqrt(variance) : 0;
    }
  }
  return result;
}

std::vector<Id> GroupDifferences::permuted(RandomStream stream) const {
  std::vector<Id> group = students_.group;
  std::vector<Id> labels;
  for (const std::vector<std::int64_t>& stratum : by_stratum_) {
    labels.clear();
    for (const std::int64_t s : stratum)
      labels.push_back(students_.group[static_cast<std::size_t>(s)]);
    shuffle(labels, stream);
    for (std::size_t i = 0; i < stratum.size(); ++i)
      group[static_cast<std::size_t>(stratum[i])] = labels[i];
  }
  return group;
}

GroupDifferences::Chance GroupDifferences::chance(const std::vector<Cell>& cells, const LabelNull& null) const {
  std::map<std::size_t, std::size_t> finding;  // of an index of scores_
  std::vector<double> found;
  for (const Cell& cell : cells) {
    const std::size_t i = index(cell.measure, cell.group);
    if (finding.emplace(i, found.size()).second) found.push_back(scores_[i]);
  }
  NullCounts counts(found);
  null.executor.for_each(null_sets, [&](std::int64_t set) {
    std::vector<double> by_chance = scores(permuted(null.stream.child(static_cast<std::uint64_t>(set))));
    std::erase(by_chance, -infinity);
    counts.add(by_chance);
  });
  Chance result{{}, counts.chance()};
  for (const Cell& cell : cells)
    result.q.push_back(result.findings.q[finding.at(index(cell.measure, cell.group))]);
  return result;
}

}  // namespace desirepath::inline queries
