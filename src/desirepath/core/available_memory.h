// How much memory the machine would still give this process.
#pragma once

namespace desirepath::inline core {

/// Bytes; 0 when the system does not say.
double available_memory();

}  // namespace desirepath::inline core
