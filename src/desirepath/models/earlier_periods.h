// What is known of students before a period: all earlier ones, and of the period itself that they were enrolled.
#pragma once

#include <span>

#include "desirepath/models/model.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline models {

/// Rows in the order of `students`, who are enrolled in the period. That alone is said of it, to models of leaving.
EvidenceBatch known_before(const Model& model, const EvidenceBatch& record, std::span<const std::int64_t> students,
                           Id period);

}  // namespace desirepath::inline models
