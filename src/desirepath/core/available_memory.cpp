#include "desirepath/core/available_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <sys/resource.h>

#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// The number behind a key at the beginning of a line; without a key the file's first.
std::optional<double> number_from(const std::filesystem::path& path, std::string_view key = "") {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    const std::string_view rest = trimmed(std::string_view(line).substr(key.size()));
    return number_in<double>(rest.substr(0, rest.find(' ')));
  }
  return std::nullopt;
}

/// Of a limit on the process, less what it has taken by a line of its status.
double left_of(__rlimit_resource resource, std::string_view key) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return no_limit;
  const double used = number_from("/proc/self/status", key).value_or(0) * 1024;
  return std::max(1.0, static_cast<double>(limit.rlim_cur) - used);
}

/// Of the control group the process is in and those above it; what is only cached is not in the way.
double left_of_groups(const std::filesystem::path& root) {
  double left = no_limit;
  const auto ask = [&](const std::filesystem::path& folder, const char* most, const char* used, const char* cached) {
    const auto limit = number_from(folder / most);
    if (!limit) return;
    const double taken =
        number_from(folder / used).value_or(0) - number_from(folder / "memory.stat", cached).value_or(0);
    left = std::min(left, std::max(1.0, *limit - taken));
  };
  std::ifstream groups(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const bool unified = line.starts_with("0::");
    const std::size_t at = line.rfind(':');
    if (at == std::string::npos || (!unified && line.find(":memory:") == std::string::npos)) continue;
    const std::filesystem::path top = root / (unified ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    std::filesystem::path inside = std::filesystem::path(line.substr(at + 1)).relative_path();
    for (;; inside = inside.parent_path()) {
      if (unified)
        ask(top / inside, "memory.max", "memory.current", "inactive_file");
      else
        ask(top / inside, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
      if (inside.empty()) break;
    }
  }
  return left;
}

}  // namespace

double addresses_left() {
  return left_of(RLIMIT_AS, "VmSize:");
}

double available_memory(const std::filesystem::path& root) {
  const double free = number_from(root / "proc/meminfo", "MemAvailable:").value_or(0) * 1024;
  const double left =
      std::min({free > 0 ? free : no_limit, addresses_left(), left_of(RLIMIT_DATA, "VmData:"), left_of_groups(root)});
  return left == no_limit ? 0 : left;
}

}  // namespace desirepath::inline core
