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

LoadGroups::LoadGroups(std::span<const Loads> students, std::span<const double> counted, Id periods, double least) {
  std::vector<std::vector<double>> counts(static_cast<std::size_t>(load_term_count(periods)),
                                          std::vector<double>(1, 0));
  for (std::size_t s = 0; s < students.size(); ++s) {
    for_each_load(students[s].pattern.enrolled, last_period_of(students[s].pattern), students[s].courses, [&](Id term, Id courses) {
      std::vector<double>& count = counts[static_cast<std::size_t>(term)];
      const auto load = static_cast<std::size_t>(courses);
      if (load >= count.size()) count.resize(load + 1, 0);
      count[load] += counted[s];
    });
  }
  for (const std::vector<double>& count : counts) {
    std::vector<Index>& groups = group_of_.emplace_back();
    double here = 0, left = std::accumulate(count.begin(), count.end(), 0.0);
    Index group = 0;
    for (const double own : count) {
      // Sums of weights are rounded: what is meant to be `least` may come out a little less.
      constexpr double slack = 1e-9;
      if (here >= least - slack && left >= least - slack) {
        ++group;
        here = 0;
      }
      groups.push_back(group);
      here += own;
      left -= own;
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

Matrix LoadProblem::penalty(double bend) const {
  Matrix result = shift_ridge * Matrix::Identity(size(), size());
  for (Id term = 0; term < groups_.term_count(); ++term) {
    for (Index g = begin(term) + 1; g + 1 < begin(term) + groups_.group_count(term); ++g) {
      const Eigen::Vector3d difference(1, -2, 1);
      result.block<3, 3>(g - 1, g - 1) += bend * difference * difference.transpose();
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
  std::vector<double> weights;
  for (const Loads& loads : students)
    weights.push_back(loads.weight);
  const std::span<const double> counted =
      settings.counted.empty() ? std::span<const double>(weights) : settings.counted;
  const LoadProblem problem(students, draws, LoadGroups(students, counted, periods, settings.least));
  Vector at = Vector::Zero(problem.size()), best;
  double most = 0;
  for (const double bend : bends) {
    const Matrix penalty = problem.penalty(bend);
    at = problem.climb(penalty, std::move(at));
    const double gain = problem.expected_gain(at, penalty);
    if (gain <= most) continue;
    most = gain;
    best = at;
  }
  if (best.size() == 0) return std::nullopt;
  for (Id term = 0; term < load_term_count(periods); ++term) {
    // The mean over the students is 0, so that nothing depends on a constant that cancels.
    const Index begin = problem.begin(term), groups = problem.groups().group_count(term);
    const auto behind = problem.students().segment(begin, groups);
    auto own = best.segment(begin, groups);
    if (behind.sum() > 0) own.array() -= behind.dot(own) / behind.sum();
    for (Index g = 0; g < groups && settings.is_rounded; ++g)
      own[g] = rounded_to_error(own[g], 10 / std::sqrt(std::max(behind[g], 1.0)));  // its first digit, not its second
  }
  return LoadTilt(problem.by_load(best), draws);
}

}  // namespace desirepath::inline models
