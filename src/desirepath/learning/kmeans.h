// k-means++ on sparse rows: where EM starts from.
#pragma once

#include <span>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/step_rows.h"

namespace desirepath::inline learning {

/// A cluster for each row. Distances count the known bits only. Seeds and centres are found on at most `sample` rows;
/// then all rows go to their nearest centre.
std::vector<Id> kmeans_labels(const StepRows& rows, std::span<const double> weights, Id clusters, RandomStream stream,
                              const Executor& executor, std::int64_t sample = 20'000);

}  // namespace desirepath::inline learning
