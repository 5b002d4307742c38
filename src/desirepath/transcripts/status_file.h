// Who was enrolled when, student by student.
#pragma once

#include <filesystem>

#include "desirepath/core/atomic_file.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

/// CSV `student,period,status,term` of every student and period, for the owner alone.
void write_statuses(const Cohort& cohort, const std::filesystem::path& path, Overwrite overwrite);

}  // namespace desirepath::inline transcripts
