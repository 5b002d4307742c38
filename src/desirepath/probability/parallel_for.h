// How this module runs independent pieces of work: through a callable, so that whoever calls decides on threads.
#pragma once

#include <cstdint>
#include <functional>

namespace desirepath::inline probability {

/// Runs body(0) .. body(count - 1), in any order and perhaps at once, and returns when all are done. The pieces never
/// depend on how many run at once, so neither does any result.
using ParallelFor = std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;

inline void serial_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  for (std::int64_t piece = 0; piece < count; ++piece)
    body(piece);
}

}  // namespace desirepath::inline probability
