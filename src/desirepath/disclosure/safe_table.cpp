#include "desirepath/disclosure/safe_table.h"

#include "desirepath/disclosure/safe_network.h"

namespace desirepath::inline disclosure {

std::optional<HiddenTable> hide_in_table(const CountTable& counts, const Disclosure& disclosure) {
  // Students flow from rows to columns, and how many leave and reach each is told.
  const std::size_t rows = counts.size(), columns = rows > 0 ? counts.front().size() : 0;
  std::vector<StudentFlow> flows;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c)
      flows.push_back({r, rows + c, counts[r][c]});
  }
  const std::optional<Hidden> hidden = hide_in_network(rows + columns, flows, disclosure);
  if (!hidden) return std::nullopt;
  HiddenTable table;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = hidden->begin() + static_cast<std::ptrdiff_t>(r * columns);
    table.emplace_back(first, first + static_cast<std::ptrdiff_t>(columns));
  }
  return table;
}

}  // namespace desirepath::inline disclosure
