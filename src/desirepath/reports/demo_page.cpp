#include "desirepath/reports/demo_page.h"

#include "desirepath/core/text.h"
#include "desirepath/queries/states.h"
#include "desirepath/reports/cohort_description.h"
#include "desirepath/reports/cohort_figures.h"

namespace desirepath::inline reports {

namespace {

/// The kinds of students in every year, and the courses that mark them. States of few students stay
/// out.
PageSection states_section(const Model& model, std::int64_t students, const Disclosure& disclosure) {
  const Schema& schema = model.schema();
  PageSection section{
      "The kinds of students",
      "A contextual mixture sorts the students of every year into kinds by what they take, and learns how "
      "they flow from year to year. Courses mark a kind where its students take them far more often than "
      "others do.",
      {},
      {}};
  std::vector<Table> tables(static_cast<std::size_t>(schema.period_count()),
                            Table({{"kind"}, {"state"}, {"share of students"}, {"marked by"}}));
  std::int64_t hidden = 0;
  for (const StateProfile& profile : profile_states(model, 5)) {
    if (profile.marking.empty()) continue;
    if (!disclosure.rests(profile.share * static_cast<double>(students))) {
      ++hidden;
      continue;
    }
    std::string marking;
    for (const StateCourse& entry : profile.marking) {
      const Course& course = schema.course(entry.course);
      marking += concat(marking.empty() ? "" : ", ", course.label.empty() ? course.name : course.label, " (",
                        fixed(100 * entry.probability, 0), " %)");
    }
    tables[static_cast<std::size_t>(profile.step)].add_row({state_name(profile, schema), std::int64_t{profile.state},
                                                            concat(fixed(100 * profile.share, 1), " %"), marking});
  }
  for (Id t = 0; t < schema.period_count(); ++t)
    section.tables.emplace_back(concat("Year ", schema.period(t)), std::move(tables[static_cast<std::size_t>(t)]));
  if (hidden > 0)
    section.text += concat(" ", counted(hidden, "kind", "kinds"), " of ", disclosure.few(), " students not shown.");
  return section;
}

}  // namespace

Page demo_page(const Cohort& cohort, const Model& model) {
  const Disclosure disclosure;
  const ToldCohort told = tell(cohort, disclosure);
  Page page;
  page.title = "A university, as its students walk it";
  page.subtitle = "A tour of desirepath on a synthetic university: every student on this page is made up.";
  page.headline = {{with_separators(told.students), "students"},
                   {with_separators(cohort.schema().course_count()), "courses"},
                   {with_separators(told.enrollments), "enrollments"},
                   {std::to_string(cohort.schema().period_count()), "years each"}};
  page.sections.push_back({"The data",
                           "Summer terms and part-time students are left out, as in the paper. What each filter took "
                           "is counted; nothing is dropped silently.",
                           {enrollment_areas(told), course_histogram(told)},
                           {{"What is left after each filter", filter_table(told)}}});
  page.sections.push_back(states_section(model, told.students, disclosure));
  page.footer = "Figures never rest on fewer than 10 students; smaller groups are merged.";
  return page;
}

}  // namespace desirepath::inline reports
