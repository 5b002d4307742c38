// What is compared between students drawn from a model and students held out: shares, pairs, how many courses, repeats.
#pragma once

#include "desirepath/queries/sample_error.h"

namespace desirepath::inline evaluation {

struct SampleStatistics {
  EnrollmentShares shares;
  Matrix pairs;    // p(both taken, in any period) of the courses asked for; the diagonal is their shares
  Vector courses;  // share of the students with 0, 1, 2 ... enrollments, the last: that many and more
  double mean_courses = 0;
  double repeats = 0;  // of the enrollments: those in a course the student had in an earlier period
};

struct SampleDistance {
  SampleError error;
  double pairs = 0;    // sum over pairs of squared differences
  double courses = 0;  // total variation between the distributions of the number of courses: 0 .. 1
};
SampleDistance distance(const SampleStatistics& a, const SampleStatistics& b);

/// The courses most students take.
std::vector<Id> common_courses(const Cohort& cohort, std::size_t count);

SampleStatistics statistics_of(const Cohort& cohort, std::span<const Id> paired);
/// Of at least `draws` students drawn from the model, present when those of `like` are.
SampleStatistics statistics_of(const Model& model, const Cohort& like, std::int64_t draws, std::span<const Id> paired,
                               const RandomStream& stream, const Executor& executor);

}  // namespace desirepath::inline evaluation
