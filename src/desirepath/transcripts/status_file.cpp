#include "desirepath/transcripts/status_file.h"

#include "desirepath/core/table.h"
#include "desirepath/core/text.h"

namespace desirepath::inline transcripts {

void write_statuses(const Cohort& cohort, const std::filesystem::path& path, Overwrite overwrite) {
  AtomicFile file(path, overwrite, FileAccess::owner);
  file.write("student,period,status,term\n");
  for (std::int64_t student = 0; student < cohort.student_count(); ++student) {
    const std::string id = csv_field(cohort.students()[static_cast<std::size_t>(student)]);
    for (Id period = 0; period < cohort.schema().period_count(); ++period) {
      const std::int32_t term = cohort.term(student, period);
      file.write(
          concat(id, ",", csv_field(cohort.schema().period(period)), ",", name_of(cohort.status(student, period)), ",",
                 term < 0 ? "" : csv_field(cohort.calendar().terms[static_cast<std::size_t>(term)].label), "\n"));
    }
  }
  file.commit();
}

}  // namespace desirepath::inline transcripts
