// What a user should know of how a fit began and ended.
#pragma once

#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// Counts the starts that reached the best likelihood; one alone may not be the best there is.
void warn_of_starts(FitResult& result);
void warn_of_the_end(FitResult& result);

}  // namespace desirepath::inline models
