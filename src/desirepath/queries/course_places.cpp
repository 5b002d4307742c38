#include "desirepath/queries/course_places.h"

#include <algorithm>

namespace desirepath::inline queries {

CoursePlaces::CoursePlaces(const Cohort& cohort)
    : cohort_(cohort), usual_(static_cast<std::size_t>(cohort.schema().course_count()), 0) {
  constexpr Id most_places = 4;
  if (!cohort.has_enrollment_terms()) return;
  const auto& terms = cohort.calendar().terms;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool goes_on = i > 0 && terms[i].academic_year == terms[i - 1].academic_year;
    of_term_.push_back(goes_on ? of_term_.back() + 1 : 0);
    count_ = std::max(count_, of_term_.back() + 1);
  }
  if (count_ > most_places) {
    for (Id& place : of_term_)
      place = place * most_places / count_;
    count_ = most_places;
  }
  const Schema& schema = cohort.schema();
  const auto places = static_cast<std::size_t>(count_);
  std::vector<std::int64_t> taken(usual_.size() * places, 0);
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      const std::vector<Id> own = of_enrollments(s, t);
      for (std::size_t i = 0; i < own.size(); ++i)
        ++taken[static_cast<std::size_t>(schema.course_of(cohort.bits(s, t)[i])) * places +
                static_cast<std::size_t>(own[i])];
    }
  }
  for (std::size_t c = 0; c < usual_.size(); ++c) {
    const auto first = taken.begin() + static_cast<std::ptrdiff_t>(c * places);
    usual_[c] = static_cast<Id>(std::max_element(first, first + static_cast<std::ptrdiff_t>(places)) - first);
  }
}

std::vector<Id> CoursePlaces::of_enrollments(std::int64_t student, Id period) const {
  std::vector<Id> places(cohort_.bits(student, period).size(), 0);
  if (of_term_.empty()) return places;
  const std::span terms = cohort_.enrollment_terms(student, period);
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = terms[i] < 0 ? 0 : of_term_[static_cast<std::size_t>(terms[i])];
  return places;
}

}  // namespace desirepath::inline queries
