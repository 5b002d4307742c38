#include "desirepath/queries/infer_totals.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"
#include "desirepath/queries/evidence_settings.h"

namespace desirepath::inline queries {

nlohmann::ordered_json TotalAnswer::to_json() const {
  nlohmann::ordered_json json = {{"students", students}, {"all_return", !knows_leaving}};
  json["returning"] = nlohmann::ordered_json::array();
  for (const Returning& its : returning) {
    nlohmann::ordered_json entry = {{"period", schema.period(its.period)}};
    if (its.from) entry["from"] = schema.period(*its.from);
    if (its.percent) entry["percent"] = *its.percent;
    if (its.enrolled) entry["expected_enrolled"] = *its.enrolled;
    json["returning"].push_back(std::move(entry));
  }
  if (years) {
    json["between_years"] = {{"spread", years->share}, {"forecasts", years->forecasts}};
    json["coming_year"] = coming > 0;
  }
  json["courses"] = table().to_json();
  json["withheld_courses"] = withheld;
  return json;
}

Table TotalAnswer::table() const {
  return table_of([](const Course& course) { return course.name; });
}

void TotalAnswer::print(std::ostream& out) const {
  for (const Returning& its : returning)
    out << returning_words(its) << '\n';
  out << '\n';
  table_of(full_name).print_text(out);
}

std::vector<std::string> TotalAnswer::notes() const {
  std::vector<std::string> lines = {concat(
      knows_leaving ? "" : "were all students to return, ",
      "low .. high holds the number of takers 19 times of 20. It allows for what students choose for themselves",
      refits > 0 ? concat(", for what the model would be with other students of the same years (", refits, " refits)")
      : trained > 0 ? ", and for the model having been learned from finitely many students"
                    : ", and takes the model as it is")};
  if (coming > 0) {
    lines.push_back(concat("it also allows for the change from year to year, judged by ",
                           with_separators(years->forecasts), " forecasts of earlier years of the training (spread ",
                           std::llround(100 * years->share), " % of the expected number)"));
  } else if (!years) {
    lines.emplace_back("it does not allow for the change from year to year: the model does not know of several years");
  } else {
    lines.emplace_back("the students asked about are of years the model was trained on, so no change is allowed for");
  }
  if (withheld > 0)
    lines.push_back(concat(counted(withheld, "course and period", "courses and periods"), " that ", disclosure.few(),
                           " students are expected to take, or not to take, are left out"));
  return lines;
}

std::string TotalAnswer::returning_words(const Returning& its) const {
  const std::string period = concat("period ", schema.period(its.period));
  const std::string before = its.percent ? concat(*its.percent, " % of earlier students enrolled in period ",
                                                  schema.period(*its.from), " were enrolled again")
                                         : "the data do not say how many did in earlier years";
  if (its.enrolled) {
    return concat("Of ", counted(students, "student", "students"), ", about ",
                  with_separators(std::llround(*its.enrolled)), " are expected not to have left by ", period,
                  its.percent ? concat("; ", before) : "", ".");
  }
  return concat("All ", counted(students, "student", "students"), " are assumed to be enrolled in ", period, "; ",
                before, its.percent ? concat(" (the column scaled: ", *its.percent, " % of expected)") : "", ".");
}

const TotalAnswer::Returning* TotalAnswer::returning_in(Id period) const {
  const auto found = std::ranges::find(returning, period, &Returning::period);
  return found == returning.end() ? nullptr : &*found;
}

Table TotalAnswer::table_of(const std::function<std::string(const Course&)>& name) const {
  Table all({{"period"}, {"course"}, {"expected", 1}, {"low", 1}, {"high", 1}, {"scaled", 1}});
  for (const Row& row : rows) {
    const Returning* its = returning_in(schema.period_of(row.bit));
    const bool is_scaled = its != nullptr && its->percent && !its->enrolled;
    all.add_row({schema.period(schema.period_of(row.bit)), name(schema.course(schema.course_of(row.bit))), row.expected,
                 row.low, row.high, is_scaled ? Cell(row.expected * *its->percent / 100) : Cell()});
  }
  return all;
}

}  // namespace desirepath::inline queries
