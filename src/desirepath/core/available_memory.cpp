#include "desirepath/core/available_memory.h"

#include <fstream>
#include <string>

namespace desirepath::inline core {

double available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("MemAvailable:")) return std::stod(line.substr(13)) * 1024;
  }
  return 0;
}

}  // namespace desirepath::inline core
