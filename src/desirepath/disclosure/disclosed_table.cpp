#include "desirepath/disclosure/disclosed_table.h"

#include "desirepath/disclosure/disclosed_network.h"

namespace desirepath::inline disclosure {

std::optional<HiddenTable> hide_in_table(const CountTable& counts, const Disclosure& disclosure,
                                         const HiddenTable& possible) {
  // Students flow from rows to columns, and how many leave and reach each is told.
  const std::size_t rows = counts.size(), columns = rows > 0 ? counts.front().size() : 0;
  std::vector<StudentFlow> flows;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      if (possible.empty() || possible[r][c] != 0) flows.push_back({r, rows + c, counts[r][c]});
    }
  }
  const std::optional<Hidden> hidden = hide_in_network(rows + columns, flows, disclosure);
  if (!hidden) return std::nullopt;
  HiddenTable table(rows, Hidden(columns, 0));
  for (std::size_t f = 0; f < flows.size(); ++f)
    table[flows[f].from][flows[f].to - rows] = (*hidden)[f];
  return table;
}

}  // namespace desirepath::inline disclosure
