#include "desirepath/models/load_tilt.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "desirepath/core/text.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

namespace {

constexpr double few_of_draws = 0.001;        // added to the share of a load
constexpr double share_within_bound = 0.999;  // of the draws
constexpr Id most_periods = 30;               // that a PeriodSet holds; hidden trees have fewer
constexpr double most_log_factor = 100;
constexpr std::int64_t most_loads = 10'000;

}  // namespace

std::vector<Loads> distinct_loads(std::span<const Loads> all) {
  std::map<std::pair<LoadPattern, std::vector<Id>>, double> weights;
  for (const Loads& loads : all)
    weights[{loads.pattern, loads.courses}] += loads.weight;
  std::vector<Loads> result;
  result.reserve(weights.size());
  for (const auto& [key, weight] : weights)
    result.push_back({key.first, key.second, weight});
  return result;
}

LoadTilt::LoadTilt(std::vector<Vector> log_factors, std::span<const Loads> draws)
    : log_factors_(std::move(log_factors)), draws_(distinct_loads(draws)) {}

std::int64_t LoadTilt::parameter_count() const {
  std::int64_t count = 0;
  for (const Vector& own : log_factors_) {
    for (Index load = 1; load < own.size(); ++load)
      count += own[load] != own[load - 1] ? 1 : 0;
  }
  return count;
}

double LoadTilt::log_product(PeriodSet enrolled, Id last, std::span<const Id> courses) const {
  double sum = 0;
  for_each_load(enrolled, last, courses, [&](Id term, Id load) {
    const Vector& factors = log_factors_[static_cast<std::size_t>(term)];
    sum += factors[std::min<Index>(load, factors.size() - 1)];
  });
  return sum;
}

double LoadTilt::log_normaliser(PeriodSet enrolled, Id last) const {
  const std::lock_guard lock(normalisers_->mutex);
  const auto [found, is_new] = normalisers_->known.try_emplace({enrolled, last}, 0);
  if (!is_new) return found->second;
  std::vector<double> logs;
  double weight = 0;
  for (const Loads& draw : draws_) {
    if (!has_period(draw.pattern.last, last)) continue;
    logs.push_back(std::log(draw.weight) + log_product(enrolled, last, draw.courses));
    weight += draw.weight;
  }
  // Otherwise nobody leaves then, under this model, and there is nothing to normalise.
  if (weight > 0) found->second = log_sum_exp(logs) - std::log(weight);
  return found->second;
}

double LoadTilt::log_load_ratio(Id period, Id last, Id courses) const {
  const double log_normaliser_of_all = log_normaliser(periods_until(last), last);
  const std::lock_guard lock(normalisers_->mutex);
  const auto [found, is_new] = normalisers_->ratios.try_emplace({period, last});
  Vector& ratios = found->second;
  if (is_new) {
    Id most = 0;
    for (const Loads& draw : draws_)
      most = std::max(most, draw.courses[static_cast<std::size_t>(period)]);
    Vector tilted = Vector::Zero(most + 1), by_trees = tilted;
    for (const Loads& draw : draws_) {
      if (!has_period(draw.pattern.last, last)) continue;
      const Id load = draw.courses[static_cast<std::size_t>(period)];
      by_trees[load] += draw.weight;
      tilted[load] +=
          draw.weight * std::exp(log_product(periods_until(last), last, draw.courses) - log_normaliser_of_all);
    }
    // Loads of hardly any draw say nothing.
    const double few = few_of_draws * by_trees.sum();
    if (few > 0)
      ratios = ((tilted.array() + few) / (by_trees.array() + few)).log();
    else
      ratios = Vector::Zero(1);
  }
  return ratios[std::min<Index>(courses, ratios.size() - 1)];
}

double LoadTilt::log_weight_bound(PeriodSet known, PeriodSet enrolled, PeriodSet last) const {
  std::vector<std::pair<double, double>> weights;  // of a completion, of the draw
  double all = 0;
  for (const Loads& draw : draws_) {
    if ((draw.pattern.last & last) == 0) continue;
    const auto own = static_cast<Id>(std::countr_zero(draw.pattern.last));
    const PeriodSet until = periods_until(own);
    weights.emplace_back(log_completion_weight(known & until, enrolled & until, own, draw.courses), draw.weight);
    all += draw.weight;
  }
  std::ranges::sort(weights);
  double sum = 0;
  for (const auto& [log_weight, weight] : weights) {
    sum += weight;
    if (sum >= share_within_bound * all) return log_weight;
  }
  return weights.empty() ? 0 : weights.back().first;
}

void LoadTilt::save(ArchiveWriter& archive) const {
  std::vector<std::int32_t> sizes;
  std::vector<std::int16_t> courses;
  std::vector<double> factors, weights;
  std::vector<std::uint8_t> last;
  for (const Vector& own : log_factors_) {
    sizes.push_back(static_cast<std::int32_t>(own.size()));
    factors.insert(factors.end(), own.begin(), own.end());
  }
  for (const Loads& draw : draws_) {
    for (const Id load : draw.courses)
      courses.push_back(static_cast<std::int16_t>(load));
    last.push_back(static_cast<std::uint8_t>(std::countr_zero(draw.pattern.last)));
    weights.push_back(draw.weight);
  }
  const auto rows = std::ssize(draws_);
  archive.add("load.sizes", std::move(sizes));
  archive.add("load.factors", std::move(factors));
  archive.add("load.draws", std::move(courses), {rows, period_count()});
  archive.add("load.last", std::move(last));
  archive.add("load.weights", std::move(weights));
}

bool LoadTilt::is_in(const ArchiveReader& archive) {
  return archive.has("load.factors");
}

LoadTilt LoadTilt::load(const ArchiveReader& archive, Id periods) {
  const auto require = [&](bool right) {
    if (!right) archive.refuse("damaged: the factors of loads");
  };
  require(periods <= most_periods);
  const auto sizes = archive.read<std::int32_t>("load.sizes", {load_term_count(periods)});
  require(std::ranges::all_of(sizes, [](std::int32_t size) { return size > 0 && size <= most_loads; }));
  const Vector all = archive.read_vector("load.factors");
  require(all.size() == std::accumulate(sizes.begin(), sizes.end(), Index{0}));
  require(all.cwiseAbs().maxCoeff() <= most_log_factor);
  std::vector<Vector> factors;
  Index begin = 0;
  for (const std::int32_t size : sizes) {
    factors.emplace_back(all.segment(begin, size));
    begin += size;
  }
  const auto last = archive.read<std::uint8_t>("load.last");
  const auto rows = std::ssize(last);
  const auto courses = archive.read<std::int16_t>("load.draws", {rows, periods});
  const Vector weights = archive.read_vector("load.weights");
  require(weights.size() == rows && rows > 0);
  std::vector<Loads> draws;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Id own = last[static_cast<std::size_t>(row)];
    require(own < periods && weights[row] > 0);
    const auto from = courses.begin() + row * periods;
    Loads draw{{periods_until(own), PeriodSet{1} << own}, {from, from + periods}, weights[row]};
    for (Id t = 0; t < periods; ++t) {
      const Id load = draw.courses[static_cast<std::size_t>(t)];
      require(load >= 0 && (load == 0 || t <= own));
    }
    draws.push_back(std::move(draw));
  }
  return {std::move(factors), draws};
}

}  // namespace desirepath::inline models
