// What long work tells of itself while it runs. The library calls a sink; front ends decide what is shown.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace desirepath::inline core {

struct ProgressEvent {
  std::string phase;                                            // "read", "em", "restart 2/5"
  double fraction = 0;                                          // 0 .. 1 of the phase, as far as known
  std::int64_t iteration = -1;                                  // -1: the phase has none
  double objective = std::numeric_limits<double>::quiet_NaN();  // per student; NaN: the phase has none
  double change = std::numeric_limits<double>::quiet_NaN();     // of the objective since the last iteration
};

using ProgressSink = std::function<void(const ProgressEvent&)>;

}  // namespace desirepath::inline core
