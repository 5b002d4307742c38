// Tables of students whose margins are told: which cells may be.
#pragma once

#include <optional>
#include <vector>

#include "desirepath/disclosure/disclosure.h"

namespace desirepath::inline disclosure {

using CountTable = std::vector<std::vector<double>>;  // rows of one length
using HiddenTable = std::vector<Hidden>;

/// The cells that may not be told where the totals of all rows and columns are: the small ones, and as many others as
/// keep, for each small one, both nobody and `least` or more possible. Nothing where no choice of cells can: rows or
/// columns must be merged first. `possible`: 0 for cells in which, as everybody knows, nobody can be; all can without
/// it.
std::optional<HiddenTable> hide_in_table(const CountTable& counts, const Disclosure& disclosure,
                                         const HiddenTable& possible = {});

}  // namespace desirepath::inline disclosure
