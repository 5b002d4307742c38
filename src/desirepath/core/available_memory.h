// How much memory the machine would still give this process.
#pragma once

#include <filesystem>

namespace desirepath::inline core {

/// Bytes; 0 when the system does not say. Its files are read below the root.
double available_memory(const std::filesystem::path& root = "/");

}  // namespace desirepath::inline core
