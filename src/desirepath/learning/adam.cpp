#include "desirepath/learning/adam.h"

#include <cmath>

namespace desirepath::inline learning {

Adam::Adam(Index parameter_count, const AdamOptions& options)
    : options_(options), state_{Vector::Zero(parameter_count), Vector::Zero(parameter_count)} {}

Adam::Adam(AdamState state, const AdamOptions& options) : options_(options), state_(std::move(state)) {}

void Adam::ascend(const Vector& gradient, Vector& parameters) {
  Vector &mean = state_.mean, &square = state_.square;
  state_.mean_left *= options_.mean_decay;
  state_.square_left *= options_.square_decay;
  const double mean_scale = options_.rate / (1 - state_.mean_left), square_scale = 1 / (1 - state_.square_left);
  for (Index i = 0; i < gradient.size(); ++i) {
    mean[i] += (1 - options_.mean_decay) * (gradient[i] - mean[i]);
    square[i] += (1 - options_.square_decay) * (gradient[i] * gradient[i] - square[i]);
    parameters[i] += mean_scale * mean[i] / (std::sqrt(square_scale * square[i]) + options_.floor);
  }
}

}  // namespace desirepath::inline learning
