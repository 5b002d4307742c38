// Log-probabilities of many students under one thresholded factor model.
#pragma once

#include <vector>

#include "desirepath/core/binary_matrix.h"
#include "desirepath/probability/factor_sampler.h"
#include "desirepath/probability/parallel_for.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline probability {

/// Students by courses: those taken, and those unknown, which are left out. Courses in neither are not taken.
struct StudentSigns {
  const BinaryMatrix& taken;
  const BinaryMatrix* unknown = nullptr;  // none: every course is known

  std::int64_t student_count() const { return taken.row_count(); }
  KnownSigns student(std::int64_t number) const {
    return {taken.row(number), unknown == nullptr ? std::span<const Id>() : unknown->row(number)};
  }
  /// Throws InputError unless both matrices have these courses, as many students, and no course in common.
  void check(Index course_count) const;
};

/// One a student, by expectation propagation with its correction: deterministic, off by some 0.002 nats (four factors,
/// 400 courses; 30 microseconds a student on one core).
Vector log_probabilities_by_ep(const ThresholdedFactors& factors, const StudentSigns& students,
                               const ParallelFor& parallel_for = serial_for);

/// One a student, by importance sampling. All students share the quasi-random points, so their errors are alike: the
/// error of a mean over students is not smaller than that of one.
std::vector<FactorEstimate> log_probabilities_by_sampling(const ThresholdedFactors& factors,
                                                          const StudentSigns& students,
                                                          const FactorSamplerOptions& options,
                                                          const RandomStream& stream,
                                                          const ParallelFor& parallel_for = serial_for);

}  // namespace desirepath::inline probability
