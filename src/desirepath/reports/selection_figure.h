// Criteria over the number of states, as curves.
#pragma once

#include "desirepath/evaluation/model_selection.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

Figure selection_figure(const Selection& selection);

}  // namespace desirepath::inline reports
