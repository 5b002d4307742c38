// Numbers as tables write them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

/// A finite number with a decimal point or comma.
inline std::optional<double> decimal_in(std::string_view text) {
  std::string plain(text);
  std::ranges::replace(plain, ',', '.');
  const auto value = number_in<double>(plain);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// One or two digits behind a comma: "7,5" and never "1,234", which may be a thousand.
inline bool has_decimal_comma(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || comma == 0) return false;
  const std::string_view behind = text.substr(comma + 1);
  return (behind.size() == 1 || behind.size() == 2) && decimal_in(text).has_value();
}

}  // namespace desirepath::inline ingest
