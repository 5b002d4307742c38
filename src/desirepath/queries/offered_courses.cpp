#include "desirepath/queries/offered_courses.h"

#include <algorithm>

namespace desirepath::inline queries {

namespace {

std::int32_t calendar_year(const Cohort& cohort, std::int64_t student, Id period) {
  return cohort.calendar().step == PeriodStep::term ? cohort.term(student, period)
                                                    : cohort.academic_year(student, period);
}

}  // namespace

OfferedCourses::OfferedCourses(const Cohort& cohort) : cohort_(cohort) {
  if (!cohort.has_calendar()) return;
  const Schema& schema = cohort.schema();
  std::int32_t last = -1;
  first_ = -1;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      const std::int32_t year = calendar_year(cohort, s, t);
      if (year < 0) continue;
      first_ = first_ < 0 ? year : std::min(first_, year);
      last = std::max(last, year);
    }
  }
  if (first_ < 0) return;
  years_ = static_cast<std::size_t>(last - first_) + 1;
  offered_.assign(static_cast<std::size_t>(schema.course_count()) * years_, 0);
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      const std::int32_t at = year(s, t);
      if (at < 0) continue;
      for (const Id bit : cohort.bits(s, t))
        offered_[static_cast<std::size_t>(schema.course_of(bit)) * years_ + static_cast<std::size_t>(at)] = 1;
    }
  }
}

std::int32_t OfferedCourses::year(std::int64_t student, Id period) const {
  if (years_ == 0) return -1;
  const std::int32_t year = calendar_year(cohort_, student, period);
  return year < 0 ? -1 : year - first_;
}

}  // namespace desirepath::inline queries
