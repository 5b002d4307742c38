// A cohort written as the long table it can be read from again.
#pragma once

#include <ostream>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

/// CSV `student,period,course` and a column an attribute; a row with an empty course marks presence alone.
void write_long_table(const Cohort& cohort, std::ostream& out);

}  // namespace desirepath::inline transcripts
