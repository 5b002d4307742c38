// How much memory the machine would still give this process.
#pragma once

#include <filesystem>

namespace desirepath::inline core {

/// Bytes; 0 when the system does not say. Its files are read below the root.
double available_memory(const std::filesystem::path& root = "/");

/// Bytes of addresses the process may still take (ulimit -v); infinite where nothing limits them.
double addresses_left();

}  // namespace desirepath::inline core
