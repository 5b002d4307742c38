// Cells that say yes or no.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

enum class CellMark { missing, no, yes, other };

/// cell: trimmed, empty where a word for a missing value stands.
inline CellMark mark_of(std::string_view cell) {
  static constexpr std::array<std::string_view, 5> no = {"0", "no", "n", "false", "0.0"};
  static constexpr std::array<std::string_view, 6> yes = {"1", "yes", "y", "true", "x", "1.0"};
  if (cell.empty()) return CellMark::missing;
  const std::string lower = lower_case(cell);
  if (std::ranges::find(no, lower) != no.end()) return CellMark::no;
  return std::ranges::find(yes, lower) != yes.end() ? CellMark::yes : CellMark::other;
}

}  // namespace desirepath::inline ingest
