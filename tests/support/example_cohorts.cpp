#include "support/example_cohorts.h"

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
      const Presence status = left ? Presence::left : unknown ? Presence::unknown : Presence::present;
      parts.presence.push_back(status);
      for (Id c = 0; c < options.courses; ++c) {
        const bool taken = stream.bernoulli(options.taken);
        if (taken && status == Presence::present) enrollments.add(parts.schema.bit(t, c));
      }
      enrollments.finish_row();
      left = left || stream.bernoulli(options.left);
    }
  }
  parts.enrollments = std::move(enrollments).build();
  return Cohort(std::move(parts));
}

}  // namespace desirepath::test
