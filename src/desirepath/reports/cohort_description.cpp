#include "desirepath/reports/cohort_description.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"
#include "desirepath/reports/figures.h"

namespace desirepath::inline reports {

namespace {

void note_withheld(Answer& answer, const Cohort& cohort, const DisclosedCohort& disclosed) {
  const std::string few = concat("fewer than ", disclosed.min_cell, " students");
  if (disclosed.periods_withheld) answer.note("periods: numbers that would tell of ", few, " are withheld");
  if (disclosed.statuses_merged)
    answer.note("students who are not enrolled are counted together where a reason applies to ", few);
  if (cohort.status_basis() == StatusBasis::no_calendar) {
    answer.note(
        "the cohort has no calendar: whether a student who is not enrolled left, was away or is still to come is not "
        "known");
  }
  if (disclosed.courses_withheld > 0)
    answer.note(counted(disclosed.courses_withheld, "course is", "courses are"), " not listed: taken by ", few,
                ", or telling of such a course");
  if (std::ranges::any_of(disclosed.courses, [](const auto& entry) { return !entry.students; }))
    answer.note("courses without a number were taken by all but ", few);
  if (disclosed.stages_merged > 0)
    answer.note(counted(disclosed.stages_merged, "filter", "filters"), " that took ", few,
                " or rows told together with the next");
}

}  // namespace

CohortDescription describe_cohort(const Cohort& cohort, const Disclosure& disclosure) {
  const DisclosedCohort disclosed = disclose_cohort(cohort, disclosure);
  const std::vector<Figure> figures = {enrollment_areas(disclosed), course_histogram(disclosed)};
  const Id course_count = cohort.schema().course_count();
  const Calendar& calendar = cohort.calendar();
  const bool has_end = calendar.data_end >= 0;
  const std::string data_end = has_end ? calendar.terms[static_cast<std::size_t>(calendar.data_end)].label : "";
  const Table periods = disclosed.period_table(), courses = disclosed.course_table(cohort.schema()),
              filters = disclosed.filter_table();
  Answer answer;
  answer.set({{"students", disclosed.students}, {"courses", course_count}, {"enrollments", disclosed.enrollments}});
  const auto deviation = disclosed.sd_courses;
  answer.set("courses_per_student",
             {{"mean", disclosed.mean_courses},
              {"sd", deviation ? nlohmann::ordered_json(*deviation) : nlohmann::ordered_json()}});
  answer.set("periods", periods);
  answer.set("statuses", name_of_value(cohort.status_basis()));
  if (has_end) answer.set("data_end", data_end);
  answer.set("enrollments_by_time", figures[0].table);
  answer.set("students_by_courses", figures[1].table);
  answer.set("popular_courses", courses.first(50));
  answer.set("filters", filters);
  answer.set("min_cell", disclosed.min_cell);
  std::size_t number = 0;
  for (const Table& table : {figures[0].table, figures[1].table, periods, courses, filters})
    answer.add_table(std::string(described_tables.at(number++)), table);

  answer.say(counted(disclosed.students, "student", "students"), ", ", counted(course_count, "course", "courses"), ", ",
             counted(disclosed.enrollments, "enrollment", "enrollments"), "\n");
  if (filters.row_count() > 0) {
    answer.show(filters);
    answer.say("");
  }
  answer.show(periods);
  if (has_end) answer.say("The data end with ", data_end, ".");
  for (const Figure& figure : figures) {
    answer.say("\n", figure.title, ": ", figure.finding.text(), "\n(", figure.basis.text(), ")");
    answer.show(figure.table, "  ");
  }
  answer.say("\nMost taken:");
  answer.show(courses.first(20), "  ");
  note_withheld(answer, cohort, disclosed);
  return {std::move(answer), figures};
}

}  // namespace desirepath::inline reports
