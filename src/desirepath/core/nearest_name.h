// "Did you mean": the known name nearest to one that does not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace desirepath::inline core {

/// Letters inserted, removed, changed or swapped with their neighbour to get from one to the other.
int edit_distance(std::string_view a, std::string_view b);

/// The nearest of the known names (case does not count), or nothing where none is near enough to be meant.
std::optional<std::string> nearest_name(std::string_view unknown, std::span<const std::string> known);

/// " (did you mean 'X'?)", or "" where nothing is near.
std::string did_you_mean(std::string_view unknown, std::span<const std::string> known);

}  // namespace desirepath::inline core
