#include "desirepath/queries/return_rate.h"

#include <cmath>

namespace desirepath::inline queries {

std::optional<int> percent_enrolled_again(const Cohort& cohort, Id from, Id to, const Disclosure& disclosure) {
  double again = 0, settled = 0;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    if (!cohort.enrolled(s, from)) continue;
    const EnrollmentStatus then = cohort.status(s, to);
    if (then == EnrollmentStatus::unknown || then == EnrollmentStatus::not_yet) continue;
    ++settled;
    again += then == EnrollmentStatus::enrolled ? 1 : 0;
  }
  if (!disclosure.rests(again) || !disclosure.rests(settled - again)) return std::nullopt;
  return static_cast<int>(std::lround(100 * again / settled));
}

}  // namespace desirepath::inline queries
