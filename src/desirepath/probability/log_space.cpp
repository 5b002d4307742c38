#include "desirepath/probability/log_space.h"

#include <algorithm>

namespace desirepath::inline probability {

double log_sum_exp(std::span<const double> logs) {
  double largest = -infinity;
  for (const double value : logs)
    largest = std::max(largest, value);
  if (largest == -infinity) return -infinity;
  double sum = 0;
  for (const double value : logs)
    sum += std::exp(value - largest);
  return largest + std::log(sum);
}

double normalise_logs(std::span<double> logs) {
  double largest = -infinity;
  for (const double value : logs)
    largest = std::max(largest, value);
  if (largest == -infinity) {
    std::ranges::fill(logs, 0.0);
    return -infinity;
  }
  double sum = 0;
  for (double& value : logs) {
    value = std::exp(value - largest);
    sum += value;
  }
  const double scale = 1 / sum;
  for (double& value : logs)
    value *= scale;
  return largest + std::log(sum);
}

}  // namespace desirepath::inline probability
