// Adam (Kingma and Ba, 2015): steps along noisy gradients, each parameter at the scale of its own. Knows no model.
#pragma once

#include "desirepath/core/types.h"

namespace desirepath::inline learning {

struct AdamOptions {
  double rate = 0.01;  // a step's length in every parameter while the gradient keeps its sign
  double mean_decay = 0.9;
  double square_decay = 0.999;
  double floor = 1e-8;  // added to the root of the mean square
};

/// What Adam remembers of the gradients before.
struct AdamState {
  Vector mean, square;
  double mean_left = 1, square_left = 1;  // of the zeros they start from
};

class Adam {
 public:
  explicit Adam(Index parameter_count, const AdamOptions& options = {});
  /// Goes on from what another one remembered.
  explicit Adam(AdamState state, const AdamOptions& options = {});
  /// One step uphill.
  void ascend(const Vector& gradient, Vector& parameters);
  const AdamState& state() const { return state_; }

 private:
  AdamOptions options_;
  AdamState state_;
};

}  // namespace desirepath::inline learning
