#include "desirepath/probability/factor_batch.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline probability {

namespace {

constexpr std::int64_t block_students = 256;
/// The log-probability is good to about the square of this, far below what expectation propagation itself leaves.
constexpr double scoring_tolerance = 1e-2;

/// body(ep, student) for every student, in fixed blocks with working memory of their own.
template <class Body>
void for_each_student(const ThresholdedFactors& factors, const StudentSigns& students, const ParallelFor& parallel_for,
                      Body body) {
  students.check(factors.course_count());
  const std::int64_t blocks = (students.student_count() + block_students - 1) / block_students;
  parallel_for(blocks, [&](std::int64_t block) {
    FactorEp ep(factors, scoring_tolerance);
    const std::int64_t end = std::min((block + 1) * block_students, students.student_count());
    for (std::int64_t student = block * block_students; student < end; ++student)
      body(ep, student);
  });
}

}  // namespace

void StudentSigns::check(Index course_count) const {
  if (taken.column_count() != course_count) {
    throw InputError(concat("students have ", taken.column_count(), " courses, the model ", course_count));
  }
  if (unknown == nullptr) return;
  if (unknown->column_count() != course_count || unknown->row_count() != taken.row_count()) {
    throw InputError(concat("unknown courses are of ", unknown->row_count(), " students and ", unknown->column_count(),
                            " courses, those taken of ", taken.row_count(), " and ", taken.column_count()));
  }
  for (std::int64_t number = 0; number < student_count(); ++number)
    check_signs(student(number), course_count);
}

Vector log_probabilities_by_ep(const ThresholdedFactors& factors, const StudentSigns& students,
                               const ParallelFor& parallel_for) {
  Vector log_probabilities(students.student_count());
  for_each_student(factors, students, parallel_for, [&](FactorEp& ep, std::int64_t student) {
    const double plain = ep.solve(students.student(student)).log_probability;
    log_probabilities[student] = std::min(0.0, plain + ep.correction());
  });
  return log_probabilities;
}

std::vector<FactorEstimate> log_probabilities_by_sampling(const ThresholdedFactors& factors,
                                                          const StudentSigns& students,
                                                          const FactorSamplerOptions& options,
                                                          const RandomStream& stream, const ParallelFor& parallel_for) {
  const FactorSampler sampler(factors, options, stream);
  std::vector<FactorEstimate> estimates(static_cast<std::size_t>(students.student_count()));
  for_each_student(factors, students, parallel_for, [&](FactorEp& ep, std::int64_t student) {
    const KnownSigns signs = students.student(student);
    FactorEstimate found = sampler.estimate(signs, ep.solve(signs));
    if (found.log_probability > 0) {
      found.standard_error = std::max(found.standard_error, found.log_probability);
      found.log_probability = 0;
    }
    estimates[static_cast<std::size_t>(student)] = found;
  });
  return estimates;
}

}  // namespace desirepath::inline probability
