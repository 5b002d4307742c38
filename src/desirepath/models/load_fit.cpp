#include "desirepath/models/load_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <Eigen/Cholesky>

#include "desirepath/core/rounded.h"

namespace desirepath::inline models {

namespace {

constexpr double fewest_students = 100;
constexpr std::array bends = {1e4, 1e3, 1e2, 1e1, 1.0, 0.1};  // from the smoothest
constexpr double shift_ridge = 1e-6;  // adding a constant to all factors of a term changes nothing
constexpr int most_steps = 50;
constexpr double enough_draws = 20;        // behind a factor
constexpr double largest_log_factor = 50;  // of loads that no student has, where draws have them
constexpr std::size_t most_patterns = 64;  // that the factors are learned from, by their students

/// The patterns with the most students, in their own order.
std::map<LoadPattern, double> usual_patterns(std::span<const Loads> students) {
  std::map<LoadPattern, double> all;
  for (const Loads& loads : students) {
    if (loads.pattern.enrolled != 0) all[loads.pattern] += loads.weight;
  }
  if (all.size() <= most_patterns) return all;
  std::vector<std::pair<double, LoadPattern>> ranked;
  for (const auto& [pattern, weight] : all)
    ranked.emplace_back(-weight, pattern);
  std::ranges::sort(ranked);
  for (std::size_t i = most_patterns; i < ranked.size(); ++i)
    all.erase(ranked[i].second);
  return all;
}

}  // namespace

LoadGroups::LoadGroups(std::span<const Loads> students, std::span<const Loads> draws, Id periods, double least,
                       std::span<const double> counted) {
  struct Behind {
    double students = 0, draws = 0;
  };
  std::vector<std::vector<Behind>> loads(static_cast<std::size_t>(load_term_count(periods)), std::vector<Behind>(1));
  const auto at = [&](Id term, Id load) -> Behind& {
    std::vector<Behind>& own = loads[static_cast<std::size_t>(term)];
    if (static_cast<std::size_t>(load) >= own.size()) own.resize(static_cast<std::size_t>(load) + 1);
    return own[static_cast<std::size_t>(load)];
  };
  for (std::size_t s = 0; s < students.size(); ++s) {
    for_each_load(students[s].pattern.enrolled, last_period_of(students[s].pattern), students[s].courses,
                  [&](Id term, Id load) { at(term, load).students += counted.empty() ? 1 : counted[s]; });
  }
  for (const auto& [pattern, weight] : usual_patterns(students)) {
    for (const Loads& draw : draws) {
      if ((draw.pattern.last & pattern.last) == 0) continue;
      for_each_load(pattern.enrolled, last_period_of(pattern), draw.courses,
                    [&](Id term, Id load) { at(term, load).draws += 1; });
    }
  }
  for (const std::vector<Behind>& own : loads) {
    std::vector<Behind> until(1);
    for (const Behind& here : own)
      until.push_back({until.back().students + here.students, until.back().draws + here.draws});
    // Sums of weights are rounded: what is meant to be enough may come out a little less.
    const auto is_few = [&](std::size_t from, std::size_t to) {
      return until[to].students - until[from].students < least - 1e-9;
    };
    const auto has_draws = [&](std::size_t from, std::size_t to) {
      return until[to].draws - until[from].draws >= enough_draws;
    };
    const std::size_t size = own.size();
    std::size_t first = 0, end = size;  // between the tails of few students
    while (first < size && is_few(0, first + 1))
      ++first;
    while (end > first && is_few(end - 1, size))
      --end;
    std::vector<std::size_t> begins = {0};
    const auto begin_at = [&](std::size_t load) {
      if (has_draws(begins.back(), load) && has_draws(load, size)) begins.push_back(load);
    };
    if (first < end) {
      if (!is_few(first, end)) begin_at(first);
      for (std::size_t load = first + 1; load < end; ++load) {
        if (!is_few(std::max(begins.back(), first), load) && !is_few(load, end)) begin_at(load);
      }
      begin_at(end);
    }
    std::vector<Index>& groups = group_of_.emplace_back(size);
    std::vector<double>& stands_for = stands_for_.emplace_back();
    for (std::size_t g = 0; g < begins.size(); ++g) {
      const std::size_t to = g + 1 < begins.size() ? begins[g + 1] : size;
      std::fill(groups.begin() + static_cast<std::ptrdiff_t>(begins[g]),
                groups.begin() + static_cast<std::ptrdiff_t>(to), static_cast<Index>(g));
      stands_for.push_back(is_few(begins[g], to) ? least / 2 : 0);
    }
  }
}

LoadProblem::LoadProblem(std::span<const Loads> students, std::span<const Loads> draws, LoadGroups groups)
    : groups_(std::move(groups)), begin_(1, 0) {
  for (Id term = 0; term < groups_.term_count(); ++term)
    begin_.push_back(begin_.back() + groups_.group_count(term));
  observed_ = Vector::Zero(size());
  const std::map<LoadPattern, double> patterns = usual_patterns(students);
  for (const Loads& loads : students) {
    if (!patterns.contains(loads.pattern)) continue;
    for_each_load(loads.pattern.enrolled, last_period_of(loads.pattern), loads.courses,
                  [&](Id term, Id load) { observed_[begin(term) + groups_.of(term, load)] += loads.weight; });
  }
  for (Id term = 0; term < groups_.term_count(); ++term) {
    auto own = observed_.segment(begin(term), groups_.group_count(term));
    const double all = own.sum();
    for (Index g = 0; g < own.size(); ++g)
      own[g] = groups_.stands_for(term, g).value_or(own[g]);
    if (own.sum() > 0) own *= all / own.sum();
  }
  for (const auto& [pattern, weight] : patterns) {
    std::map<std::vector<std::int32_t>, double> alike;
    std::vector<std::int32_t> places;
    double all = 0;
    for (const Loads& draw : draws) {
      if ((draw.pattern.last & pattern.last) == 0) continue;
      places.clear();
      for_each_load(pattern.enrolled, last_period_of(pattern), draw.courses, [&](Id term, Id load) {
        places.push_back(static_cast<std::int32_t>(begin(term) + groups_.of(term, load)));
      });
      alike[places] += draw.weight;
      all += draw.weight;
    }
    if (!(all > 0)) continue;
    Part& part = parts_.emplace_back();
    part.students = weight;
    part.width = alike.begin()->first.size();
    for (const auto& [place, share] : alike) {
      part.place.insert(part.place.end(), place.begin(), place.end());
      part.weight.push_back(share / all);
    }
  }
}

double LoadProblem::log_mean(const Part& part, const Vector& log_factors, std::vector<double>* shares) {
  std::vector<double> logs(part.weight.size());
  double largest = -infinity;
  for (std::size_t d = 0; d < logs.size(); ++d) {
    double sum = 0;
    for (std::size_t i = 0; i < part.width; ++i)
      sum += log_factors[part.place[d * part.width + i]];
    logs[d] = sum;
    largest = std::max(largest, sum);
  }
  double sum = 0;
  for (std::size_t d = 0; d < logs.size(); ++d) {
    logs[d] = part.weight[d] * std::exp(logs[d] - largest);
    sum += logs[d];
  }
  if (shares != nullptr) {
    for (double& share : logs)
      share /= sum;
    *shares = std::move(logs);
  }
  return largest + std::log(sum);
}

double LoadProblem::log_likelihood(const Vector& log_factors) const {
  double sum = observed_.dot(log_factors);
  for (const Part& part : parts_)
    sum -= part.students * log_mean(part, log_factors, nullptr);
  return sum;
}

LoadProblem::Slope LoadProblem::slope(const Vector& log_factors) const {
  Slope slope{observed_, Matrix::Zero(size(), size())};
  Vector mean(size());
  Matrix second(size(), size());
  std::vector<double> shares;
  for (const Part& part : parts_) {
    log_mean(part, log_factors, &shares);
    mean.setZero();
    second.setZero();
    for (std::size_t d = 0; d < shares.size(); ++d) {
      const std::int32_t* place = part.place.data() + d * part.width;
      for (std::size_t i = 0; i < part.width; ++i) {
        mean[place[i]] += shares[d];
        // Places of a draw ascend: this is the lower half.
        for (std::size_t j = 0; j <= i; ++j)
          second(place[i], place[j]) += shares[d];
      }
    }
    second.triangularView<Eigen::StrictlyUpper>() = second.transpose();
    slope.gradient -= part.students * mean;
    slope.curvature += part.students * (second - mean * mean.transpose());
  }
  return slope;
}

Matrix LoadProblem::penalty(double bend, double of_leavers) const {
  Matrix result = shift_ridge * Matrix::Identity(size(), size());
  const Id periods = (groups_.term_count() + 2) / 3;
  for (Id term = 0; term < groups_.term_count(); ++term) {
    const double own = term < 2 * periods - 1 ? bend : of_leavers;
    for (Index g = begin(term) + 1; g + 1 < begin(term) + groups_.group_count(term); ++g) {
      const Eigen::Vector3d difference(1, -2, 1);
      result.block<3, 3>(g - 1, g - 1) += own * difference * difference.transpose();
    }
  }
  return result;
}

Vector LoadProblem::climb(const Matrix& penalty, Vector from) const {
  const auto objective = [&](const Vector& at) { return log_likelihood(at) - 0.5 * at.dot(penalty * at); };
  Vector best = std::move(from);
  double value = objective(best);
  for (int step = 0; step < most_steps; ++step) {
    const Slope slope = this->slope(best);
    const Vector uphill = slope.gradient - penalty * best;
    const Vector direction = (slope.curvature + penalty).ldlt().solve(uphill);
    const double promised = uphill.dot(direction);
    if (!(promised > 1e-12 * (1 + std::abs(value)))) break;
    double length = 1, found = -infinity;
    Vector next;
    do {
      next = best + length * direction;
      found = objective(next);
      length /= 2;
    } while (!(found >= value) && length > 1e-9);
    if (!(found >= value)) break;
    best = std::move(next);
    value = found;
  }
  return best;
}

double LoadProblem::expected_gain(const Vector& log_factors, const Matrix& penalty) const {
  const Matrix curvature = slope(log_factors).curvature;
  return log_likelihood(log_factors) - (curvature + penalty).ldlt().solve(curvature).trace();
}

std::vector<Vector> LoadProblem::by_load(const Vector& log_factors) const {
  std::vector<Vector> result;
  for (Id term = 0; term < groups_.term_count(); ++term) {
    Vector& own = result.emplace_back(groups_.load_count(term));
    for (Index load = 0; load < own.size(); ++load)
      own[load] = log_factors[begin(term) + groups_.of(term, load)];
  }
  return result;
}

bool enough_for_loads(std::span<const Loads> students) {
  double weight = 0;
  for (const Loads& loads : students)
    weight += loads.pattern.enrolled != 0 ? loads.weight : 0;
  return weight >= fewest_students;
}

std::optional<LoadTilt> fit_load_tilt(std::span<const Loads> students, std::span<const Loads> draws, Id periods,
                                      const LoadFitSettings& settings) {
  if (!enough_for_loads(students) || draws.empty()) return std::nullopt;
  const LoadProblem problem(students, draws, LoadGroups(students, draws, periods, settings.least, settings.counted));
  Vector at = Vector::Zero(problem.size()), best;
  double most = 0, best_bend = 0;
  const auto attempt = [&](double bend, double of_leavers) {
    const Matrix penalty = problem.penalty(bend, of_leavers);
    at = problem.climb(penalty, std::move(at));
    const double gain = problem.expected_gain(at, penalty);
    if (gain <= most) return;
    most = gain;
    best = at;
    best_bend = bend;
  };
  // Leavers are few, and what is smooth enough for all students would follow every one of them.
  for (const double bend : bends)
    attempt(bend, bends.front());
  if (best.size() == 0) return std::nullopt;
  at = best;
  for (const double of_leavers : std::span(bends).subspan(1))
    attempt(best_bend, of_leavers);
  for (Id term = 0; term < load_term_count(periods); ++term) {
    // The mean over the students is 0, so that nothing depends on a constant that cancels.
    const Index begin = problem.begin(term), groups = problem.groups().group_count(term);
    const auto behind = problem.students().segment(begin, groups);
    auto own = best.segment(begin, groups);
    if (behind.sum() > 0) own.array() -= behind.dot(own) / behind.sum();
    own = own.cwiseMax(-largest_log_factor).cwiseMin(largest_log_factor);
    for (Index g = 0; g < groups && settings.is_rounded; ++g)
      own[g] = rounded_to_error(own[g], 10 / std::sqrt(std::max(behind[g], 1.0)));  // its first digit, not its second
  }
  return LoadTilt(problem.by_load(best), draws);
}

}  // namespace desirepath::inline models
