#include "desirepath/queries/chance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

/// Numbers of the scores, the weakest first.
std::vector<std::size_t> from_the_weakest(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
  return order;
}

/// by_chance(rank): expected number at or above the score of that rank, the weakest being 0.
template <class ByChance>
ChanceOfFindings cut_by_rank(const std::vector<double>& scores, const ByChance& by_chance) {
  ChanceOfFindings chance{std::vector<double>(scores.size(), 1), std::vector<double>(scores.size(), 0)};
  const std::vector<std::size_t> order = from_the_weakest(scores);
  double least = 1;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;  // equal scores are as strong as each other
    while (last < order.size() && scores[order[last]] == scores[order[first]])
      ++last;
    const double expected = by_chance(first), as_strong = static_cast<double>(order.size() - first);
    if (scores[order[first]] > -infinity) least = std::min(least, expected / as_strong);
    for (std::size_t i = first; i < last; ++i) {
      chance.q[order[i]] = least;
      chance.by_chance[order[i]] = expected;
    }
    first = last;
  }
  return chance;
}

}  // namespace

void ChanceSettings::declare(SettingVisitor& visit) {
  visit(Setting("q",
                "largest q-value of a finding that is listed: the expected share of chance findings in a list cut "
                "there (1: all)")
            .above(0)
            .at_most(1)
            .taking("Q"),
        q);
}

FindingCount ChanceOfFindings::cut(double most_q) const {
  FindingCount count;
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (q[i] > most_q) continue;
    ++count.findings;
    count.by_chance = std::max(count.by_chance, by_chance[i]);
  }
  return count;
}

NullCounts::NullCounts(std::vector<double> scores)
    : scores_(std::move(scores)), ascending_(scores_), reached_(scores_.size() + 1, 0) {
  std::ranges::sort(ascending_);
}

void NullCounts::add(const std::vector<double>& null_scores) {
  std::vector<std::size_t> reached;
  reached.reserve(null_scores.size());
  // The same value summed in another order is a tie all the same.
  constexpr double rounding = 1e-9;
  for (const double score : null_scores) {
    const double at_most = std::isfinite(score) ? score + rounding * std::abs(score) : score;
    reached.push_back(static_cast<std::size_t>(std::ranges::upper_bound(ascending_, at_most) - ascending_.begin()));
  }
  const std::lock_guard lock(mutex_);
  ++sets_;
  for (const std::size_t findings : reached)
    ++reached_[findings];
}

ChanceOfFindings NullCounts::chance() const {
  // [i]: null scores at or above that of the finding of rank i.
  std::vector<std::int64_t> above(scores_.size(), 0);
  std::int64_t sum = 0;
  for (std::size_t i = scores_.size(); i-- > 0;)
    above[i] = sum += reached_[i + 1];
  return cut_by_rank(
      scores_, [&](std::size_t rank) { return static_cast<double>(1 + above[rank]) / static_cast<double>(1 + sets_); });
}

ChanceOfFindings chance_from_p_values(const std::vector<double>& p_values, std::int64_t tests) {
  std::vector<double> scores;
  for (const double p : p_values)
    scores.push_back(-p);
  std::vector<double> ascending = scores;
  std::ranges::sort(ascending);
  return cut_by_rank(scores, [&](std::size_t rank) { return -ascending[rank] * static_cast<double>(tests); });
}

Interval share_interval(double share, double of) {
  constexpr double z = 1.959963984540054;
  const double spread = z * z / of;
  const double centre = (share + spread / 2) / (1 + spread);
  const double half = z * std::sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

double misfit(std::vector<double> in_errors) {
  constexpr double median_size = 0.674489750196082;  // of a normal variable's
  if (in_errors.empty()) return 1;
  const auto middle = in_errors.begin() + std::ssize(in_errors) / 2;
  std::ranges::nth_element(in_errors, middle, {}, [](double value) { return std::abs(value); });
  return std::max(1.0, std::abs(*middle) / median_size);
}

void set_findings(Answer& answer, const FindingCount& found) {
  answer.set({{"findings", found.findings}, {"by_chance", rounded_chance(found.by_chance)}});
}

double rounded_chance(double value) {
  if (value <= 0) return 0;
  const double scale = std::pow(10.0, 1 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

std::string chance_words(const FindingCount& count, std::string_view one, std::string_view many) {
  if (count.findings == 0) return concat("no ", many, " beyond what chance would give");
  const std::string found = counted(count.findings, one, many);
  return count.by_chance < 0.95
             ? concat(found, "; fewer than one would appear by chance")
             : concat(found, "; about ", with_separators(std::llround(count.by_chance)), " would appear by chance");
}

}  // namespace desirepath::inline queries
