#include "desirepath/transcripts/long_table.h"

#include "desirepath/core/table.h"

namespace desirepath::inline transcripts {

void write_long_table(const Cohort& cohort, std::ostream& out) {
  const Schema& schema = cohort.schema();
  out << "student,period,course";
  for (const Attribute& attribute : cohort.attributes())
    out << ',' << csv_field(attribute.name);
  out << '\n';
  for (std::int64_t student = 0; student < cohort.student_count(); ++student) {
    std::string groups;
    for (const Attribute& attribute : cohort.attributes()) {
      const Id code = attribute.codes[static_cast<std::size_t>(student)];
      groups += ',';
      if (code >= 0) groups += csv_field(attribute.values[static_cast<std::size_t>(code)]);
    }
    const std::string id = csv_field(cohort.students()[static_cast<std::size_t>(student)]);
    for (Id period = 0; period < schema.period_count(); ++period) {
      if (!cohort.is_present(student, period)) continue;
      const std::string begin = id + "," + csv_field(schema.period(period)) + ",";
      const auto bits = cohort.bits(student, period);
      if (bits.empty()) out << begin << groups << '\n';
      for (const Id bit : bits)
        out << begin << csv_field(schema.course(schema.course_of(bit)).name) << groups << '\n';
    }
  }
}

}  // namespace desirepath::inline transcripts
