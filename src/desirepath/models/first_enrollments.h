// When a course is taken for the first time: what marginals of single bits do not tell, since they count retakes.
#pragma once

#include <optional>
#include <span>

#include "desirepath/models/model.h"

namespace desirepath::inline models {

/// p(the course is first taken in this period | evidence) over the periods in which the student is known to be
/// enrolled, 0 in the others: students by (course, period). The courses asked for are unknown in those periods. Nothing
/// where the model has no faster way than its marginals given that the course was not taken before.
std::optional<RowMatrix> first_enrollments(const Model& model, const EvidenceBatch& evidence,
                                           std::span<const Id> courses, const Executor& executor);

}  // namespace desirepath::inline models
