// In which years of the calendar each course was offered: those in which anybody took it.
#pragma once

#include <cstdint>
#include <vector>

#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

class OfferedCourses {
 public:
  explicit OfferedCourses(const Cohort& cohort);

  /// The year of a student's period, or its term where periods are terms, as a number from 0; -1 where the calendar
  /// does not say.
  std::int32_t year(std::int64_t student, Id period) const;
  /// In a year that is not known, every course is.
  bool operator()(Id course, std::int32_t year) const {
    return year < 0 || offered_[static_cast<std::size_t>(course) * years_ + static_cast<std::size_t>(year)] != 0;
  }

 private:
  Cohort cohort_;
  std::int32_t first_ = 0;
  std::size_t years_ = 0;
  std::vector<std::uint8_t> offered_;  // courses by years
};

}  // namespace desirepath::inline queries
