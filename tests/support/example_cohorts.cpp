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

void CohortMaker::add_student(std::string name) {
  names_.push_back(name.empty() ? "s" + std::to_string(names_.size()) : std::move(name));
  status_.emplace_back(static_cast<std::size_t>(schema_.period_count()), EnrollmentStatus::enrolled);
  taken_.emplace_back();
}

Cohort CohortMaker::build() const {
  CohortParts parts;
  parts.schema = schema_;
  parts.students = names_;
  BinaryMatrixBuilder enrollments(schema_.bit_count());
  for (std::size_t s = 0; s < names_.size(); ++s) {
    auto bit = taken_[s].begin();
    for (Id t = 0; t < schema_.period_count(); ++t) {
      const EnrollmentStatus here = status_[s][static_cast<std::size_t>(t)];
      parts.status.push_back(here);
      for (; bit != taken_[s].end() && schema_.period_of(*bit) == t; ++bit) {
        if (here == EnrollmentStatus::enrolled) enrollments.add(*bit);
      }
      enrollments.finish_row();
    }
  }
  parts.enrollments = std::move(enrollments).build();
  return Cohort(std::move(parts));
}

Cohort cohort_of(const Schema& schema, const std::vector<std::vector<std::string>>& students) {
  CohortMaker made(schema);
  for (const std::vector<std::string>& periods : students) {
    made.add_student();
    for (Id t = 0; t < schema.period_count(); ++t) {
      const std::string& row = periods.at(static_cast<std::size_t>(t));
      if (row == "-" || row == "left") {
        made.set(t, row == "-" ? EnrollmentStatus::unknown : EnrollmentStatus::left);
        continue;
      }
      for (Id c = 0; c < schema.course_count(); ++c) {
        if (row.at(static_cast<std::size_t>(c)) == '1') made.take(t, c);
      }
    }
  }
  return made.build();
}

Cohort cohort_of_bits(const Schema& schema, const std::vector<std::vector<Id>>& students) {
  CohortMaker made(schema);
  for (const std::vector<Id>& bits : students) {
    made.add_student();
    for (const Id bit : bits)
      made.take(bit);
  }
  return made.build();
}

Cohort random_cohort(const RandomCohortOptions& options, RandomStream stream) {
  CohortMaker made(options.courses, options.periods);
  for (std::int64_t s = 0; s < options.students; ++s) {
    made.add_student();
    bool left = false;
    for (Id t = 0; t < options.periods; ++t) {
      const bool unknown = stream.bernoulli(options.unknown);
      made.set(t, left ? EnrollmentStatus::left : unknown ? EnrollmentStatus::unknown : EnrollmentStatus::enrolled);
      for (Id c = 0; c < options.courses; ++c) {
        if (stream.bernoulli(options.taken)) made.take(t, c);
      }
      left = left || stream.bernoulli(options.left);
    }
  }
  return made.build();
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
