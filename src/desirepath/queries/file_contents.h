// What a file of this program holds: a cohort, a model or a checkpoint.
#pragma once

#include "desirepath/core/answer.h"
#include "desirepath/core/archive.h"

namespace desirepath::inline queries {

/// Throws ArchiveError.
Answer describe_contents(const ArchiveReader& archive);

}  // namespace desirepath::inline queries
