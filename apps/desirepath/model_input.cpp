#include "model_input.h"

#include "desirepath/core/text.h"

namespace desirepath::app {

Cohort open_aligned_cohort(const std::string& path, const Schema& schema, UnseenCourses unseen,
                           const std::string& whose, const RawTableArguments& table, Console& console) {
  Aligned aligned = align_to(open_cohort(path, table, console), schema, unseen);
  if (aligned.ignored_courses > 0) {
    console.warn(concat(counted(aligned.ignored_enrollments, "enrollment", "enrollments"), " in ",
                        counted(aligned.ignored_courses, "course", "courses"), " ", whose, " are left out"));
  }
  return std::move(aligned.cohort);
}

}  // namespace desirepath::app
