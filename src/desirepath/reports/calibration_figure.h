// Whether probabilities come true: predicted against observed shares.
#pragma once

#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

/// Bins as they may be told, empty ones are passed over. `model`: who answered; `students`: who were asked about.
Figure calibration_figure(const std::vector<CalibrationBin>& bins, const std::string& model, std::int64_t students);

}  // namespace desirepath::inline reports
