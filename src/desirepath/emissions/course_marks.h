// The bits of a row that tells what was taken before: a course was taken for the first time, had before, taken again.
#pragma once

#include "desirepath/core/types.h"

namespace desirepath::inline emissions {

/// Bits of a course in a row with history.
struct CourseMarks {
  Id courses = 0;
  Id first(Id course) const { return course; }
  Id had(Id course) const { return courses + course; }
  Id again(Id course) const { return 2 * courses + course; }
  Id count() const { return 3 * courses; }
};

}  // namespace desirepath::inline emissions
