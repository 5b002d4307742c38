// The paper's sample error (4.1): squared distance between the enrollment shares of samples and of held-out students.
#pragma once

#include <vector>

#include "desirepath/models/model.h"

namespace desirepath::inline queries {

/// Shares of students who take each course in any period, and each bit. Students absent in a period do not count for
/// its bits; a course counts for students present in at least one period.
struct EnrollmentShares {
  Vector course;
  Vector bit;
};
EnrollmentShares enrollment_shares(const Cohort& cohort);

/// Who was there in which periods, who had left; nothing of their courses.
EvidenceBatch presence_of(const Cohort& cohort);

/// The same of a model's samples, for students like these: there, and gone, when they are, nothing else known; each is
/// drawn `draws` times.
EnrollmentShares model_shares(const Model& model, const Cohort& like, int draws, const RandomStream& stream,
                              const Executor& executor);

struct SampleError {
  double by_course = 0;  // E of the paper: sum over courses
  double by_bit = 0;     // sum over (period, course)
};
SampleError squared_distance(const EnrollmentShares& a, const EnrollmentShares& b);

}  // namespace desirepath::inline queries
