#include "desirepath/core/nearest_name.h"

#include <algorithm>
#include <vector>

#include "desirepath/core/text.h"

namespace desirepath::inline core {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<int> before_last(columns), last(columns), current(columns);
  for (std::size_t j = 0; j < columns; ++j)
    last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < columns; ++j) {
      const int changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, current);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_name(std::string_view unknown, std::span<const std::string> known) {
  const std::string wanted = lower_case(unknown);
  const int farthest = std::max<int>(1, static_cast<int>(unknown.size()) / 3);
  std::optional<std::string> nearest;
  int best = farthest + 1;
  for (const std::string& name : known) {
    const int distance = edit_distance(wanted, lower_case(name));
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view unknown, std::span<const std::string> known) {
  const auto nearest = nearest_name(unknown, known);
  return nearest ? " (did you mean '" + *nearest + "'?)" : "";
}

}  // namespace desirepath::inline core
