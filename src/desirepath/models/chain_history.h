// Chains whose states know what a student had before (carry-over): rows with history, and answers about the time to
// come.
//
// Given the path of the states, the courses of such a chain are independent of each other, but a course in one period
// is not independent of the same course earlier. Where all periods up to some period are known, the rows are, and the
// chain is one like any other; what follows is answered by carrying the probability of not having had a course from
// period to period beside the state. A period that is not known between known ones would tie all courses to all
// states of later periods: no exact answer is in reach, and such evidence is refused.
#pragma once

#include <vector>

#include "desirepath/models/chain_parameters.h"

namespace desirepath::inline models {

/// The same students with three bits a course and period (CourseMarks). Throws InputError where a period is known in
/// part, or is not known and a later one is.
EvidenceBatch with_history(const EvidenceBatch& evidence);

/// How a student goes on after the last period that is known, its states given the evidence.
class HistoryAhead {
 public:
  HistoryAhead(const ChainParameters& parameters, const StepLayout& layout, Id courses);

  /// p(course taken | evidence): steps by courses; what is known is 0 or 1.
  RowMatrix course_shares(const EvidenceBatch& evidence, std::int64_t student, const ChainPosterior& posterior) const;
  /// p(course taken in a step | state there), nothing known: courses by states (without "left").
  RowMatrix state_profile(Id step) const;
  /// What is taken in each step, ascending, as courses; unknown steps are drawn along the path of states.
  std::vector<std::vector<Id>> draw(const EvidenceBatch& evidence, std::int64_t student, const std::vector<Id>& path,
                                    const RandomStream& stream) const;

 private:
  const RowMatrix& first(Id step) const;
  const RowMatrix& again(Id step) const;
  /// Weights of being in a state without having had a course, carried over a transition: courses by states.
  RowMatrix carried(const RowMatrix& not_had, Id step, const Matrix& transition) const;

  const ChainParameters& parameters_;
  const StepLayout& layout_;
  Id courses_;
  Index emitting_;
};

}  // namespace desirepath::inline models
