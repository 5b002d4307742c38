#include "desirepath/models/load_tilt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include <Eigen/Cholesky>

#include "desirepath/core/text.h"

namespace desirepath::inline models {

namespace {

constexpr Id largest_load = 60;
constexpr std::size_t fewest_students = 50;  // with fewer, loads are as the model has them
constexpr std::uint64_t folds = 5;
constexpr std::array smoothness = {0.1, 1.0, 10.0, 100.0, 1000.0};
constexpr double shift_ridge = 1e-6;  // a constant added to all factors of a period changes nothing
constexpr int most_newton_steps = 50;

bool has(std::uint32_t set, Id place) {
  return (set >> place & 1U) != 0;
}

/// Students who are alike.
struct CountedLoads {
  Loads loads;
  double count = 0;
};
using LoadsByPattern = std::map<LoadPattern, std::vector<CountedLoads>>;

LoadsByPattern counted(std::span<const Loads> students, std::optional<std::uint64_t> without_fold,
                       std::optional<std::uint64_t> only_fold) {
  std::map<std::pair<LoadPattern, std::vector<Id>>, double> counts;
  for (std::size_t s = 0; s < students.size(); ++s) {
    if (without_fold && s % folds == *without_fold) continue;
    if (only_fold && s % folds != *only_fold) continue;
    counts[{students[s].pattern, students[s].courses}] += 1;
  }
  LoadsByPattern result;
  for (const auto& [key, count] : counts)
    result[key.first].push_back({{key.first, key.second}, count});
  return result;
}

}  // namespace

/// Finds log g by Newton steps on the log-likelihood of loads, less a penalty on how they bend.
class LoadTilt::Climb {
 public:
  Climb(const std::vector<Drawn>& draws, const std::vector<Index>& sizes) : draws_(draws), sizes_(sizes) {
    begin_.push_back(0);
    for (const Index size : sizes_)
      begin_.push_back(begin_.back() + size);
  }

  Vector run(const LoadsByPattern& students, double bend) const {
    Vector theta = Vector::Zero(begin_.back());
    const Matrix penalty = bend * bending() + shift_ridge * Matrix::Identity(theta.size(), theta.size());
    double value = objective(students, theta, penalty);
    for (int step = 0; step < most_newton_steps; ++step) {
      Vector gradient = -penalty * theta;
      Matrix curvature = penalty;
      add_likelihood(students, theta, gradient, curvature);
      const Vector direction = curvature.ldlt().solve(gradient);
      double length = 1;
      Vector next = theta + direction;
      double found = objective(students, next, penalty);
      while (!(found >= value) && length > 1e-6) {
        length /= 2;
        next = theta + length * direction;
        found = objective(students, next, penalty);
      }
      const bool is_done = !(found - value > 1e-9 * (1 + std::abs(value)));
      if (found >= value) {
        theta = std::move(next);
        value = found;
      }
      if (is_done) break;
    }
    return theta;
  }

  /// Log-likelihood of the loads beyond that of the model as it is, but for a constant.
  double log_likelihood(const LoadsByPattern& students, const Vector& theta) const {
    double sum = 0;
    for (const auto& [pattern, members] : students) {
      double count = 0;
      for (const CountedLoads& member : members) {
        sum += member.count * sum_of(pattern, member.loads.courses, theta);
        count += member.count;
      }
      const double mean = mean_weight(pattern, theta);
      if (mean > 0) sum -= count * std::log(mean);
    }
    return sum;
  }

 private:
  Index place(Id period, Id courses) const {
    const auto t = static_cast<std::size_t>(period);
    return begin_[t] + std::min<Index>(courses, sizes_[t] - 1);
  }
  double sum_of(const LoadPattern& pattern, const std::vector<Id>& courses, const Vector& theta) const {
    double sum = 0;
    for (std::size_t t = 0; t < courses.size(); ++t) {
      if (has(pattern.enrolled, static_cast<Id>(t))) sum += theta[place(static_cast<Id>(t), courses[t])];
    }
    return sum;
  }
  double mean_weight(const LoadPattern& pattern, const Vector& theta) const {
    double sum = 0, count = 0;
    for (const Drawn& draw : draws_) {
      if (!has(pattern.last, draw.last)) continue;
      sum += draw.count * std::exp(sum_of(pattern, draw.courses, theta));
      count += draw.count;
    }
    return count > 0 ? sum / count : 0;
  }
  double objective(const LoadsByPattern& students, const Vector& theta, const Matrix& penalty) const {
    return log_likelihood(students, theta) - 0.5 * theta.dot(penalty * theta);
  }
  /// Of second differences.
  Matrix bending() const {
    Matrix result = Matrix::Zero(begin_.back(), begin_.back());
    for (std::size_t t = 0; t < sizes_.size(); ++t) {
      for (Index n = 1; n + 1 < sizes_[t]; ++n) {
        Vector difference = Vector::Zero(result.rows());
        difference.segment<3>(begin_[t] + n - 1) = Eigen::Vector3d(1, -2, 1);
        result += difference * difference.transpose();
      }
    }
    return result;
  }
  void add_likelihood(const LoadsByPattern& students, const Vector& theta, Vector& gradient, Matrix& curvature) const {
    for (const auto& [pattern, members] : students) {
      double count = 0;
      for (const CountedLoads& member : members) {
        count += member.count;
        for (std::size_t t = 0; t < member.loads.courses.size(); ++t) {
          if (has(pattern.enrolled, static_cast<Id>(t)))
            gradient[place(static_cast<Id>(t), member.loads.courses[t])] += member.count;
        }
      }
      Vector mean = Vector::Zero(theta.size());
      Matrix second = Matrix::Zero(theta.size(), theta.size());
      double all = 0;
      for (const Drawn& draw : draws_) {
        if (!has(pattern.last, draw.last)) continue;
        const double weight = draw.count * std::exp(sum_of(pattern, draw.courses, theta));
        all += weight;
        std::vector<Index> places;
        for (std::size_t t = 0; t < draw.courses.size(); ++t) {
          if (has(pattern.enrolled, static_cast<Id>(t))) places.push_back(place(static_cast<Id>(t), draw.courses[t]));
        }
        for (const Index i : places) {
          mean[i] += weight;
          for (const Index j : places)
            second(i, j) += weight;
        }
      }
      if (!(all > 0)) continue;
      mean /= all;
      gradient -= count * mean;
      curvature += count * (second / all - mean * mean.transpose());
    }
  }

  const std::vector<Drawn>& draws_;
  const std::vector<Index>& sizes_;
  std::vector<Index> begin_;
};

LoadTilt::LoadTilt(std::vector<Vector> log_factors, const std::vector<Loads>& draws)
    : log_factors_(std::move(log_factors)) {
  std::map<std::pair<Id, std::vector<Id>>, double> counts;
  for (const Loads& draw : draws)
    counts[{static_cast<Id>(std::countr_zero(draw.pattern.last)), draw.courses}] += 1;
  for (const auto& [key, count] : counts)
    draws_.push_back({key.first, key.second, count});
}

std::optional<LoadTilt> LoadTilt::fit(std::span<const Loads> students, const std::vector<Loads>& draws, Id periods) {
  if (students.size() < fewest_students) return std::nullopt;
  std::vector<Id> most(static_cast<std::size_t>(periods), 0);
  for (const std::span<const Loads> all : {students, std::span(draws)}) {
    for (const Loads& loads : all) {
      for (std::size_t t = 0; t < most.size(); ++t)
        most[t] = std::max(most[t], std::min(loads.courses[t], largest_load));
    }
  }
  std::vector<Index> sizes;
  for (const Id load : most)
    sizes.push_back(load + 1);
  LoadTilt tilt({}, draws);
  const Climb climb(tilt.draws_, sizes);
  double best_bend = 0, best_gain = 0;
  for (const double bend : smoothness) {
    double gain = 0;
    for (std::uint64_t fold = 0; fold < folds; ++fold) {
      const Vector theta = climb.run(counted(students, fold, std::nullopt), bend);
      const LoadsByPattern left_out = counted(students, std::nullopt, fold);
      gain += climb.log_likelihood(left_out, theta) - climb.log_likelihood(left_out, Vector::Zero(theta.size()));
    }
    if (gain > best_gain) {
      best_gain = gain;
      best_bend = bend;
    }
  }
  if (!(best_bend > 0)) return std::nullopt;
  const Vector theta = climb.run(counted(students, std::nullopt, std::nullopt), best_bend);
  Index first = 0;
  for (const Index size : sizes) {
    tilt.log_factors_.emplace_back(theta.segment(first, size));
    first += size;
  }
  return tilt;
}

double LoadTilt::log_normaliser(const LoadPattern& pattern) const {
  double sum = 0, count = 0;
  for (const Drawn& draw : draws_) {
    if (!has(pattern.last, draw.last)) continue;
    double log_weight = 0;
    for (Id t = 0; t < period_count(); ++t) {
      if (has(pattern.enrolled, t)) log_weight += log_factor(t, draw.courses[static_cast<std::size_t>(t)]);
    }
    sum += draw.count * std::exp(log_weight);
    count += draw.count;
  }
  return count > 0 ? std::log(sum / count) : 0;
}

double LoadTilt::log_weight(const Loads& loads) const {
  double sum = 0;
  for (Id t = 0; t < period_count(); ++t) {
    if (has(loads.pattern.enrolled, t)) sum += log_factor(t, loads.courses[static_cast<std::size_t>(t)]);
  }
  return sum - log_normaliser(loads.pattern);
}

double LoadTilt::log_bound(std::uint32_t periods) const {
  double sum = 0;
  for (Id t = 0; t < period_count(); ++t) {
    if (has(periods, t)) sum += log_factors_[static_cast<std::size_t>(t)].maxCoeff();
  }
  return sum;
}

}  // namespace desirepath::inline models
