#include "support/example_cohorts.h"

#include "desirepath/core/table.h"

namespace desirepath::test {

Schema small_schema(Id courses, Id periods) {
  std::vector<Course> list;
  for (Id c = 1; c <= courses; ++c)
    list.push_back({"c" + std::to_string(c), "", "", "", "", {}, {}});
  std::vector<std::string> labels;
  for (Id t = 1; t <= periods; ++t)
    labels.push_back(std::to_string(t));
  return {std::move(list), std::move(labels)};
}

Cohort random_cohort(const RandomCohortOptions& options, RandomStream stream) {
  CohortParts parts;
  parts.schema = small_schema(options.courses, options.periods);
  BinaryMatrixBuilder enrollments(parts.schema.bit_count());
  for (std::int64_t s = 0; s < options.students; ++s) {
    parts.students.push_back("s" + std::to_string(s));
    bool left = false;
    for (Id t = 0; t < options.periods; ++t) {
      const bool unknown = stream.bernoulli(options.unknown);
      const EnrollmentStatus status = left      ? EnrollmentStatus::left
                                      : unknown ? EnrollmentStatus::unknown
                                                : EnrollmentStatus::enrolled;
      parts.status.push_back(status);
      for (Id c = 0; c < options.courses; ++c) {
        const bool taken = stream.bernoulli(options.taken);
        if (taken && status == EnrollmentStatus::enrolled) enrollments.add(parts.schema.bit(t, c));
      }
      enrollments.finish_row();
      left = left || stream.bernoulli(options.left);
    }
  }
  parts.enrollments = std::move(enrollments).build();
  return Cohort(std::move(parts));
}

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
      if (!cohort.enrolled(student, period)) continue;
      const std::string begin = id + "," + csv_field(schema.period(period)) + ",";
      const auto bits = cohort.bits(student, period);
      if (bits.empty()) out << begin << groups << '\n';
      for (const Id bit : bits)
        out << begin << csv_field(schema.course(schema.course_of(bit)).name) << groups << '\n';
    }
  }
}

}  // namespace desirepath::test
