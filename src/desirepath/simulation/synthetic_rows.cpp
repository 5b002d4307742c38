#include "desirepath/simulation/synthetic_rows.h"

#include <algorithm>
#include <utility>

#include "desirepath/core/table.h"
#include "desirepath/core/text.h"

namespace desirepath::inline simulation {

void append_texts(std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    text += part;
}

std::string word_for(bool value) {
  return value ? "yes" : "no";
}

std::string subject_name(const SyntheticCatalog& catalog, Id subject) {
  return subject < 0 ? "" : catalog.subject(subject).name;
}

std::optional<Range> next_students(const SyntheticOptions& options, std::int64_t& next) {
  constexpr std::int64_t students_per_task = 512;
  if (next > options.students) return std::nullopt;
  const std::int64_t first = std::exchange(next, std::min(next + students_per_task, options.students + 1));
  return Range{first, next};
}

namespace {

constexpr std::string_view enrollment_columns =
    "student,period,term,course,grade,units,subject,school,major,second_major,entry_major,cohort,admission,status,"
    "residence,first_generation";
constexpr std::string_view calendar_enrollment_columns = ",degree,degree_term";
constexpr std::string_view course_columns =
    "course,label,subject,school,concentration,prerequisites,level,units,first_year,last_year\n";

std::vector<std::string> course_fields(const SyntheticCatalog& catalog) {
  std::vector<std::string> fields;
  for (const SyntheticCourse& course : catalog.courses) {
    fields.push_back(concat(",", course.units, ",", csv_field(catalog.subject(course.subject).name), ",",
                            csv_field(catalog.school_of_subject(course.subject)), ","));
  }
  return fields;
}

/// "BA" or "BSc" by the school of the major, and the term in which it was given.
std::string degree_fields(const SyntheticCatalog& catalog, const SyntheticStudent& student) {
  if (student.finished_after == 0) return ",,";
  const std::string& school = catalog.school_of_subject(student.major);
  const bool is_science = school != "Humanities" && school != "Social Sciences";
  const SyntheticTerm term = student.finished_in_autumn ? SyntheticTerm::autumn : SyntheticTerm::spring;
  return concat(is_science ? ",BSc," : ",BA,",
                SyntheticUniversity::term_label(student.cohort + student.finished_after - 1, term));
}

}  // namespace

EnrollmentRows::EnrollmentRows(const SyntheticUniversity& university)
    : university_(university), fields_of_course_(course_fields(university.catalog())) {}

std::string EnrollmentRows::columns() const {
  return concat(enrollment_columns, university_.options().has_calendar() ? calendar_enrollment_columns : "");
}

void EnrollmentRows::append(std::string& text, const SyntheticStudent& student) const {
  const SyntheticCatalog& catalog = university_.catalog();
  const bool has_calendar = university_.options().has_calendar();
  const std::string id = SyntheticUniversity::student_id(student.number);
  std::string of_student;
  append_texts(of_student,
               {",", subject_name(catalog, student.second_major), ",", subject_name(catalog, student.entry_major), ",",
                std::to_string(student.cohort), ",", student.entry_period > 1 ? "transfer" : "first-year", ",",
                student.part_time ? "part-time" : "full-time", ",", student.commuter ? "commuter" : "campus", ",",
                word_for(student.first_generation), has_calendar ? degree_fields(catalog, student) : "", "\n"});
  for (const SyntheticEnrollment& enrollment : student.enrollments) {
    const int year = student.cohort + enrollment.period - 1;
    const char period = static_cast<char>('0' + enrollment.period);
    append_texts(
        text, {id, ",", std::string_view(&period, 1), ",", SyntheticUniversity::term_label(year, enrollment.term), ",",
               catalog.name_in(enrollment.course, year), ",", to_string(enrollment.grade),
               fields_of_course_[static_cast<std::size_t>(enrollment.course)],
               subject_name(catalog, has_calendar ? enrollment.major : student.major), of_student});
  }
}

namespace {

/// Of a course that is not renamed; empty: open.
std::string first_year_of(const SyntheticUniversity& university, Id course) {
  const auto& calendar = university.catalog().calendar;
  const int year = calendar ? calendar->courses[static_cast<std::size_t>(course)].first_year : 0;
  return year > 0 ? std::to_string(university.options().first_year + year) : "";
}
std::string last_year_of(const SyntheticUniversity& university, Id course) {
  const auto& calendar = university.catalog().calendar;
  const int year = calendar ? calendar->courses[static_cast<std::size_t>(course)].last_year : -1;
  return year >= 0 ? std::to_string(university.options().first_year + year) : "";
}

}  // namespace

std::string course_table(const SyntheticUniversity& university) {
  const SyntheticCatalog& catalog = university.catalog();
  std::string text(course_columns);
  for (Id id = 0; id < static_cast<Id>(catalog.courses.size()); ++id) {
    const SyntheticCourse& course = catalog.course(id);
    const SyntheticSubject& subject = catalog.subject(course.subject);
    std::vector<std::string> prerequisites;
    for (const Id prerequisite : course.prerequisites)
      prerequisites.push_back(catalog.course(prerequisite).name);
    const std::string concentration =
        course.concentration < 0 ? "" : subject.concentrations[static_cast<std::size_t>(course.concentration)].name;
    const std::string fields =
        concat(csv_field(course.label), ",", csv_field(subject.name), ",",
               csv_field(catalog.school_of_subject(course.subject)), ",", csv_field(concentration), ",",
               csv_field(join(prerequisites, ";")), ",", 100 * course.level, ",", course.units);
    if (catalog.renamed && catalog.renamed->course == id) {
      const int first_year = catalog.renamed->first_year;
      append_texts(text, {catalog.renamed->old_name, ",", fields, ",,", std::to_string(first_year - 1), "\n"});
      append_texts(text, {course.name, ",", fields, ",", std::to_string(first_year), ",\n"});
      continue;
    }
    append_texts(
        text, {course.name, ",", fields, ",", first_year_of(university, id), ",", last_year_of(university, id), "\n"});
  }
  return text;
}

}  // namespace desirepath::inline simulation
