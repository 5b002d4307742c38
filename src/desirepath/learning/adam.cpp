#include "desirepath/learning/adam.h"

#include <cmath>

namespace desirepath::inline learning {

Adam::Adam(Index parameter_count, const AdamOptions& options)
    : options_(options), mean_(Vector::Zero(parameter_count)), square_(Vector::Zero(parameter_count)) {}

void Adam::ascend(const Vector& gradient, Vector& parameters) {
  mean_left_ *= options_.mean_decay;
  square_left_ *= options_.square_decay;
  const double mean_scale = options_.rate / (1 - mean_left_), square_scale = 1 / (1 - square_left_);
  for (Index i = 0; i < gradient.size(); ++i) {
    mean_[i] += (1 - options_.mean_decay) * (gradient[i] - mean_[i]);
    square_[i] += (1 - options_.square_decay) * (gradient[i] * gradient[i] - square_[i]);
    parameters[i] += mean_scale * mean_[i] / (std::sqrt(square_scale * square_[i]) + options_.floor);
  }
}

}  // namespace desirepath::inline learning
