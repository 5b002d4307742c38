#include "desirepath/transcripts/align.h"

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline transcripts {

namespace {

/// The schema with what the cohort's own course list says is required for a course.
Schema with_prerequisites_of(const Schema& schema, const Schema& own) {
  std::vector<Course> courses = schema.courses();
  for (Course& course : courses) {
    const auto found = own.find_course(course.name);
    if (found && !own.course(*found).prerequisites.empty()) course.prerequisites = own.course(*found).prerequisites;
  }
  return Schema(std::move(courses), schema.periods(), schema.traits());
}

}  // namespace

Aligned align_to(const Cohort& cohort, const Schema& schema, UnseenCourses unseen) {
  const Schema& own = cohort.schema();
  Aligned aligned{cohort, 0, 0};
  if (schema == own) return aligned;
  if (schema.has_same_bits(own)) {
    CohortParts parts = cohort.parts();
    parts.schema = with_prerequisites_of(schema, own);
    aligned.cohort = Cohort(std::move(parts));
    return aligned;
  }
  std::vector<Id> course_number;
  for (const Course& course : own.courses()) {
    const auto found = schema.find_course(course.name);
    course_number.push_back(found.value_or(-1));
  }
  std::vector<std::int64_t> takers(course_number.size(), 0);
  for (const Id bit : cohort.enrollments().columns())
    ++takers[static_cast<std::size_t>(own.course_of(bit))];
  std::vector<std::string> names, known;
  for (const Course& course : schema.courses())
    known.push_back(course.name);
  for (std::size_t c = 0; c < course_number.size(); ++c) {
    if (course_number[c] >= 0 || takers[c] == 0) continue;
    const std::string& name = own.course(static_cast<Id>(c)).name;
    if (unseen == UnseenCourses::refuse_by_name) names.push_back(concat("'", name, "'", did_you_mean(name, known)));
    ++aligned.ignored_courses;
    aligned.ignored_enrollments += takers[c];
  }
  if (unseen != UnseenCourses::ignore && aligned.ignored_courses > 0) {
    throw InputError(concat(
        "the model does not know ", counted(aligned.ignored_courses, "course", "courses"), " of the cohort (",
        counted(aligned.ignored_enrollments, "enrollment", "enrollments"), ")",
        names.empty() ? concat("; ", setting_name("verbose"), " names them, ") : concat(": ", join(names, ", "), "; "),
        setting_name("ignore-unseen"), " leaves them out"));
  }
  std::vector<Id> own_period(static_cast<std::size_t>(schema.period_count()), -1);
  for (Id t = 0; t < own.period_count(); ++t)
    own_period[static_cast<std::size_t>(schema.require_period(own.period(t)))] = t;

  CohortParts parts;
  parts.schema = with_prerequisites_of(schema, own);
  parts.students = cohort.students();
  parts.attributes = cohort.attributes();
  parts.provenance = cohort.provenance();
  parts.min_cell = cohort.min_cell();
  parts.status_basis = cohort.status_basis();
  parts.calendar = {cohort.calendar().terms, cohort.calendar().data_end, cohort.calendar().step, {}, {}};
  BinaryMatrixBuilder enrollments(schema.bit_count());
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      const Id from = own_period[static_cast<std::size_t>(t)];
      parts.status.push_back(from < 0 ? EnrollmentStatus::unknown : cohort.status(s, from));
      if (cohort.has_calendar())
        parts.calendar.term_of.push_back(from < 0 ? std::int16_t{-1} : static_cast<std::int16_t>(cohort.term(s, from)));
      if (from >= 0) {
        const std::span bits = cohort.bits(s, from);
        std::vector<std::pair<Id, std::int16_t>> dated;
        for (std::size_t i = 0; i < bits.size(); ++i) {
          const Id course = course_number[static_cast<std::size_t>(own.course_of(bits[i]))];
          if (course < 0) continue;
          enrollments.add(schema.bit(t, course));
          if (cohort.has_enrollment_terms())
            dated.emplace_back(schema.bit(t, course), cohort.enrollment_terms(s, from)[i]);
        }
        std::ranges::sort(dated);  // as the enrollments are
        for (const auto& [bit, term] : dated)
          parts.calendar.term_of_enrollment.push_back(term);
      }
      enrollments.finish_row();
    }
  }
  parts.enrollments = std::move(enrollments).build();
  aligned.cohort = Cohort(std::move(parts));
  return aligned;
}

}  // namespace desirepath::inline transcripts
