// The paper's Figure 3 and Table 1, of one's own students.
#pragma once

#include "desirepath/evaluation/model_evaluation.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

/// Sample error over K, a curve a model, bars of one standard deviation over the splits; a model without a K is a line.
Figure error_by_size(const Evaluation& evaluation);
/// Each model's best sample error and inference accuracy.
Figure best_of_models(const Evaluation& evaluation);

}  // namespace desirepath::inline reports
