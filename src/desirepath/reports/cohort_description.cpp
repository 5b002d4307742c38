#include "desirepath/reports/cohort_description.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/cohort_figures.h"

namespace desirepath::inline reports {

namespace {

nlohmann::ordered_json stages_of(const Cohort& cohort) {
  const auto provenance = nlohmann::ordered_json::parse(cohort.provenance(), nullptr, false);
  return provenance.is_object() ? provenance.value("stages", nlohmann::ordered_json::array())
                                : nlohmann::ordered_json::array();
}

}  // namespace

Table filter_table(const Cohort& cohort) {
  Table table({{"after"}, {"rows"}, {"students"}, {"courses"}});
  for (const auto& stage : stages_of(cohort)) {
    table.add_row({stage.value("after", ""), stage.value("rows", std::int64_t{0}),
                   stage.value("students", std::int64_t{0}), stage.value("courses", std::int64_t{0})});
  }
  return table;
}

CohortDescription::CohortDescription(const Cohort& cohort, std::int64_t min_cell)
    : cohort_(cohort),
      min_cell_(min_cell),
      summary_(summarise(cohort)),
      figures_({enrollment_areas(summary_, min_cell), course_histogram(summary_, min_cell)}) {}

std::span<const std::string_view> CohortDescription::table_names() {
  static constexpr std::array<std::string_view, 5> names = {"enrollments", "courses-per-student", "periods", "courses",
                                                            "filters"};
  return names;
}

void CohortDescription::choose_table(std::string_view name) {
  const auto known = std::ranges::find(table_names(), name);
  if (known == table_names().end()) throw OptionError(concat("no table '", name, "'"));
  chosen_ = *known;
}

Table CohortDescription::table() const {
  if (chosen_ == "courses-per-student") return figures_[1].table;
  if (chosen_ == "periods") return period_table();
  if (chosen_ == "courses") return course_table(summary_.popular.size());
  return chosen_ == "filters" ? filter_table(cohort_) : figures_[0].table;
}

Table CohortDescription::period_table() const {
  Table table({{"period"}, {"present"}, {"unknown"}, {"left"}, {"courses per student", 2}});
  for (const auto& period : summary_.periods)
    table.add_row({period.label, period.present, period.unknown, period.left, period.mean_courses});
  return table;
}

Table CohortDescription::course_table(std::size_t count) const {
  const Schema& schema = cohort_.schema();
  Table table({{"course"}, {"label"}, {"students"}, {"share", 3}});
  for (const auto& entry : summary_.popular) {
    if (table.row_count() >= count || entry.students < min_cell_) break;
    table.add_row({schema.course(entry.course).name, schema.course(entry.course).label, entry.students,
                   static_cast<double>(entry.students) / static_cast<double>(summary_.students)});
  }
  return table;
}

nlohmann::ordered_json CohortDescription::to_json() const {
  nlohmann::ordered_json json;
  json["students"] = summary_.students;
  json["courses"] = cohort_.schema().course_count();
  json["enrollments"] = summary_.enrollments;
  json["courses_per_student"] = {{"mean", summary_.mean_courses}, {"sd", summary_.sd_courses}};
  json["periods"] = period_table().to_json();
  json["enrollments_by_time"] = figures_[0].table.to_json();
  json["students_by_courses"] = figures_[1].table.to_json();
  json["popular_courses"] = course_table(50).to_json();
  json["filters"] = stages_of(cohort_);
  json["min_cell"] = min_cell_;
  return json;
}

void CohortDescription::print(std::ostream& out) const {
  out << counted(summary_.students, "student", "students") << ", "
      << counted(cohort_.schema().course_count(), "course", "courses") << ", "
      << counted(summary_.enrollments, "enrollment", "enrollments") << "\n\n";
  const Table filters = filter_table(cohort_);
  if (filters.row_count() > 0) {
    filters.print_text(out);
    out << '\n';
  }
  period_table().print_text(out);
  for (const Figure& figure : figures_) {
    out << '\n' << figure.title << ": " << figure.finding << '\n' << "(" << figure.basis << ")\n";
    figure.table.print_text(out, "  ");
  }
  out << "\nMost taken:\n";
  course_table(20).print_text(out, "  ");
}

}  // namespace desirepath::inline reports
