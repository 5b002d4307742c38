// How likely each student is to be enrolled in a period.
#pragma once

#include <span>
#include <tuple>
#include <vector>

#include "desirepath/models/model.h"

namespace desirepath::inline queries {

/// Whether the model can tell who leaves.
bool knows_leaving(const Model& model);
/// P(enrolled in the period | evidence): students by periods. Students known to be enrolled have 1, those who have left
/// 0. Throws OptionError where the model cannot tell who leaves.
RowMatrix enrollment_chances(const Model& model, const EvidenceBatch& evidence, std::span<const Id> periods,
                             const Executor& executor);

/// Student, period, and the chance to have left by then.
using Leaving = std::tuple<std::int64_t, Id, double>;
/// Of students of whom nothing is known from the period on; nothing where the model cannot tell who leaves.
std::vector<Leaving> find_leaving(const Model& model, const EvidenceBatch& evidence, const std::vector<Id>& periods,
                                  const Executor& executor);

}  // namespace desirepath::inline queries
