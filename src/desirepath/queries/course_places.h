// Where in a period courses are taken, as far as the terms of the source tell: in its first term, its second, ...
#pragma once

#include <vector>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

class CoursePlaces {
 public:
  explicit CoursePlaces(const Cohort& cohort);

  /// 1 where terms are no finer than periods; 4 at most, terms of one year side by side where it has more.
  Id count() const { return count_; }
  /// Where most of its enrollments are.
  Id usual(Id course) const { return usual_[static_cast<std::size_t>(course)]; }
  /// Of the courses of bits(student, period), one by one.
  std::vector<Id> of_enrollments(std::int64_t student, Id period) const;

 private:
  Cohort cohort_;
  Id count_ = 1;
  std::vector<Id> of_term_;  // of each term of the calendar
  std::vector<Id> usual_;    // of each course
};

}  // namespace desirepath::inline queries
