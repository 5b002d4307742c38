// The one-to-one assignment of least total cost (Hungarian method).
#pragma once

#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// cost is square; result[row] is the column given to it.
std::vector<Id> cheapest_assignment(const Matrix& cost);

}  // namespace desirepath::inline probability
