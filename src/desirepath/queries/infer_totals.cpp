#include "desirepath/queries/infer_totals.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"

namespace desirepath::inline queries {

Answer InferredTotals::answer() const {
  Answer answer;
  answer.set({{"students", students}, {"all_return", !knows_leaving}});
  answer.add("returning", {returning,
                           {{"period", &Returning::period},
                            {"from", &Returning::from, {.may_lack = true}},
                            {"percent", &Returning::percent, {.unit = "%", .may_lack = true}},
                            {"expected_enrolled", &Returning::enrolled, {.unit = "students", .may_lack = true}}}});
  if (years) {
    answer.set(
        {{"between_years", {{"spread", years->share}, {"forecasts", years->forecasts}}}, {"coming_year", coming > 0}});
  }
  const Look takers{.unit = "students", .decimals = 1};
  const Table courses(rows, {{"period", &Row::period},
                             {"course", &Row::course},
                             {"expected", &Row::expected, takers},
                             {"low", &Row::low, takers},
                             {"high", &Row::high, takers},
                             {"scaled", &Row::scaled, takers}});
  answer.add("courses", courses);
  answer.choose("courses");
  answer.set("withheld_courses", withheld);
  for (const Returning& its : returning)
    answer.say(returning_words(its));
  answer.say("");
  answer.show(courses);
  add_notes(answer);
  return answer;
}

void InferredTotals::add_notes(Answer& answer) const {
  answer.note(
      knows_leaving ? "" : "were all students to return, ",
      "low .. high holds the number of takers 19 times of 20. It allows for what students choose for themselves",
      refits > 0 ? concat(", for what the model would be with other students of the same years (", refits, " refits)")
      : trained > 0 ? ", and for the model having been learned from finitely many students"
                    : ", and takes the model as it is");
  if (coming > 0) {
    answer.note("it also allows for the change from year to year, judged by ", with_separators(years->forecasts),
                " forecasts of earlier years of the training (spread ", std::llround(100 * years->share),
                " % of the expected number)");
  } else if (!years) {
    answer.note("it does not allow for the change from year to year: the model does not know of several years");
  } else {
    answer.note("the students asked about are of years the model was trained on, so no change is allowed for");
  }
  if (withheld > 0)
    answer.note(counted(withheld, "course and period", "courses and periods"), " that ", disclosure.few(),
                " students are expected to take, or not to take, are left out");
}

std::string InferredTotals::returning_words(const Returning& its) const {
  const std::string period = concat("period ", its.period);
  const std::string before = its.percent ? concat(*its.percent, " % of earlier students enrolled in period ", *its.from,
                                                  " were enrolled again")
                                         : "the data do not say how many did in earlier years";
  if (its.enrolled) {
    return concat("Of ", counted(students, "student", "students"), ", about ",
                  with_separators(std::llround(*its.enrolled)), " are expected not to have left by ", period,
                  its.percent ? concat("; ", before) : "", ".");
  }
  return concat("All ", counted(students, "student", "students"), " are assumed to be enrolled in ", period, "; ",
                before, its.percent ? concat(" (the column scaled: ", *its.percent, " % of expected)") : "", ".");
}

std::optional<int> percent_enrolled_again(const Cohort& cohort, Id from, Id to, const Disclosure& disclosure) {
  double again = 0, settled = 0;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    if (!cohort.enrolled(s, from)) continue;
    const EnrollmentStatus then = cohort.status(s, to);
    if (then == EnrollmentStatus::unknown || then == EnrollmentStatus::not_yet) continue;
    ++settled;
    again += then == EnrollmentStatus::enrolled ? 1 : 0;
  }
  if (!disclosure.rests(again) || !disclosure.rests(settled - again)) return std::nullopt;
  return static_cast<int>(std::lround(100 * again / settled));
}

}  // namespace desirepath::inline queries
