// Sums of positive weights that are known by their logarithms, and what is estimated from such sums.
#pragma once

#include <cmath>
#include <span>

#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// Running sum of weights and of their squares, relative to the largest seen. Weights of zero (-inf) count.
class LogWeightSum {
 public:
  void add(double log_weight) {
    ++count_;
    if (log_weight == -infinity) return;
    if (log_weight > log_largest_) rescale(log_weight);
    const double weight = std::exp(log_weight - log_largest_);
    sum_ += weight;
    squares_ += weight * weight;
  }

  void add(const LogWeightSum& other) {
    count_ += other.count_;
    if (other.log_largest_ == -infinity) return;
    if (other.log_largest_ > log_largest_) rescale(other.log_largest_);
    const double scale = std::exp(other.log_largest_ - log_largest_);
    sum_ += scale * other.sum_;
    squares_ += scale * scale * other.squares_;
  }

  Index count() const { return count_; }
  double log_sum() const { return sum_ > 0 ? log_largest_ + std::log(sum_) : -infinity; }
  double log_mean() const { return log_sum() - std::log(static_cast<double>(count_)); }
  /// (sum w)^2 / sum w^2: how many equal weights would be as good; 0 when all are zero.
  double effective_count() const { return sum_ > 0 ? sum_ * sum_ / squares_ : 0; }

 private:
  void rescale(double log_largest) {
    const double scale = std::exp(log_largest_ - log_largest);
    sum_ *= scale;
    squares_ *= scale * scale;
    log_largest_ = log_largest;
  }

  Index count_ = 0;
  double log_largest_ = -infinity;
  double sum_ = 0;
  double squares_ = 0;
};

/// A log-probability estimated by several independent scrambles.
struct ScrambleMean {
  double log_mean = -infinity;
  /// Of log_mean, that is relative to the mean; infinite where the mean is zero or there is one scramble only.
  double standard_error = infinity;
};

inline ScrambleMean mean_of_scrambles(std::span<const double> log_means) {
  LogWeightSum sum;
  for (const double log_mean : log_means)
    sum.add(log_mean);
  ScrambleMean result;
  result.log_mean = sum.log_mean();
  const auto count = static_cast<double>(log_means.size());
  if (result.log_mean == -infinity || count < 2) return result;
  double squares = 0;
  for (const double log_mean : log_means) {
    const double deviation = std::expm1(log_mean - result.log_mean);
    squares += deviation * deviation;
  }
  result.standard_error = std::sqrt(squares / (count * (count - 1)));
  return result;
}

}  // namespace desirepath::inline probability
