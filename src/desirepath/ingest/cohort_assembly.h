// The cohort from rows whose fate is decided.
#pragma once

#include <string>

#include "desirepath/ingest/row_rules.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline ingest {

/// Empty, or why no cohort can be made: no student or no course is left.
std::string nothing_left(const RowCollection& collection, const SiftedRows& sifted, const TableOptions& options);

/// All but the provenance. Something must be left.
CohortParts assemble_cohort(const RowCollection& collection, const SiftedRows& sifted, const TableOptions& options);

}  // namespace desirepath::inline ingest
