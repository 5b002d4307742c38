// The synthetic university as a cohort, with no file in between.
#pragma once

#include "desirepath/compute/executor.h"
#include "desirepath/core/progress.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/simulation/synthetic_options.h"

namespace desirepath::inline simulation {

/// What `prepare` makes of the files that write_synthetic_university() writes, with the list of courses: the same
/// students, the same fingerprint. table.courses_file stays empty.
Prepared synthetic_cohort(const SyntheticOptions& options, const TableOptions& table, const Executor& executor,
                          const ProgressSink& progress = {});

}  // namespace desirepath::inline simulation
