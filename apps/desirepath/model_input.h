// Cohorts as a model sees them, from files.
#pragma once

#include <string>

#include "console.h"
#include "raw_table.h"

#include "desirepath/transcripts/align.h"

namespace desirepath::app {

/// A cohort (file or raw table) through another schema.
Cohort open_aligned_cohort(const std::string& path, const Schema& schema, UnseenCourses unseen,
                           const std::string& whose, const RawTableArguments& table, Console& console);

}  // namespace desirepath::app
