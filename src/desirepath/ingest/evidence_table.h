// The evidence table `student,period,course,taken` as a file.
#pragma once

#include "desirepath/ingest/source.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline ingest {

/// taken: 1, 0 or empty (unknown); `student,period,*,0` closes a period.
EvidenceBatch evidence_from_table(const Schema& schema, const SmallTable& table);

}  // namespace desirepath::inline ingest
