// Whether a student was enrolled in a period, and why not where the student was not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace desirepath::inline transcripts {

/// Decided from all rows of the source, before any filter. Cohort files hold these numbers.
enum class EnrollmentStatus : std::uint8_t {
  unknown = 0,       // the source has no calendar, or a filter emptied the period
  enrolled = 1,      // rows exist
  left = 2,          // no rows and none later, and the period ended within the data
  finished = 3,      // the same for a student who graduated
  before_entry = 4,  // no rows yet: the first come later
  away = 5,          // no rows, between two periods with rows
  not_yet = 6        // no rows and none later, but the period ends after the data end
};
inline constexpr std::array all_statuses = {
    EnrollmentStatus::unknown,      EnrollmentStatus::enrolled, EnrollmentStatus::left,   EnrollmentStatus::finished,
    EnrollmentStatus::before_entry, EnrollmentStatus::away,     EnrollmentStatus::not_yet};

/// Left or finished: the student was there before and is known not to be there any more.
constexpr bool has_departed(EnrollmentStatus status) {
  return status == EnrollmentStatus::left || status == EnrollmentStatus::finished;
}

/// "before_entry", as files and JSON have it.
constexpr std::string_view name_of(EnrollmentStatus status) {
  constexpr std::array<std::string_view, all_statuses.size()> names = {"unknown",      "enrolled", "left",   "finished",
                                                                       "before_entry", "away",     "not_yet"};
  return names[static_cast<std::size_t>(status)];
}
/// "before entry", for people.
constexpr std::string_view words_for(EnrollmentStatus status) {
  return status == EnrollmentStatus::before_entry ? "before entry"
         : status == EnrollmentStatus::not_yet    ? "not yet"
                                                  : name_of(status);
}

/// Number of students with each status.
class StatusCounts {
 public:
  std::int64_t& operator[](EnrollmentStatus status) { return counts_[static_cast<std::size_t>(status)]; }
  std::int64_t operator[](EnrollmentStatus status) const { return counts_[static_cast<std::size_t>(status)]; }
  std::int64_t enrolled() const { return (*this)[EnrollmentStatus::enrolled]; }
  std::int64_t departed() const { return (*this)[EnrollmentStatus::left] + (*this)[EnrollmentStatus::finished]; }
  bool operator==(const StatusCounts&) const = default;

 private:
  std::array<std::int64_t, all_statuses.size()> counts_{};
};

}  // namespace desirepath::inline transcripts
