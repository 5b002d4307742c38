#include "desirepath/reports/cohort_description.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/cohort_figures.h"

namespace desirepath::inline reports {

Table filter_table(const DisclosedCohort& disclosed) {
  Table table({{"after"}, {"rows"}, {"students"}, {"courses"}});
  for (const DisclosedCohort::Stage& stage : disclosed.stages)
    table.add_row({stage.after, stage.rows, stage.students, stage.courses});
  return table;
}

CohortDescription::CohortDescription(const Cohort& cohort, const Disclosure& disclosure)
    : CohortDescription(cohort, disclose_cohort(cohort, disclosure)) {}

CohortDescription::CohortDescription(const Cohort& cohort, DisclosedCohort disclosed)
    : cohort_(cohort),
      disclosed_(std::move(disclosed)),
      figures_({enrollment_areas(disclosed_), course_histogram(disclosed_)}) {}

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
  if (chosen_ == "courses") return course_table(disclosed_.courses.size());
  return chosen_ == "filters" ? filter_table(disclosed_) : figures_[0].table;
}

Table CohortDescription::period_table() const {
  std::vector<TableColumn> columns = {{"period"}, {"enrolled"}};
  for (const EnrollmentStatus status : disclosed_.statuses)
    columns.push_back({std::string(words_for(status))});
  if (disclosed_.statuses_merged)
    columns.push_back({disclosed_.statuses.empty() ? "not enrolled" : "otherwise not enrolled"});
  columns.push_back({"courses per student", 2});
  const std::size_t others = columns.size() - 3;
  Table table(std::move(columns));
  const auto cell = [](const auto& value) { return value ? Cell(*value) : Cell(); };
  for (const DisclosedCohort::Period& period : disclosed_.periods) {
    std::vector<Cell> row = {period.label, cell(period.enrolled)};
    for (std::size_t i = 0; i < others; ++i)
      row.push_back(period.others.empty() ? Cell() : Cell(period.others[i]));
    row.push_back(cell(period.mean_courses));
    table.add_row(std::move(row));
  }
  return table;
}

Table CohortDescription::course_table(std::size_t count) const {
  const Schema& schema = cohort_.schema();
  Table table({{"course"}, {"label"}, {"students"}, {"share", 3}});
  for (const DisclosedCohort::CourseCount& entry : disclosed_.courses) {
    if (table.row_count() >= count) break;
    std::vector<Cell> row = {schema.course(entry.course).name, schema.course(entry.course).label, Cell(), Cell()};
    if (entry.students) {
      row[2] = *entry.students;
      row[3] = static_cast<double>(*entry.students) / static_cast<double>(disclosed_.students);
    }
    table.add_row(std::move(row));
  }
  return table;
}

std::vector<std::string> CohortDescription::notes() const {
  std::vector<std::string> lines;
  const std::string few = concat("fewer than ", disclosed_.min_cell, " students");
  if (disclosed_.periods_withheld)
    lines.push_back(concat("periods: numbers that would tell of ", few, " are withheld"));
  if (disclosed_.statuses_merged)
    lines.push_back(concat("students who are not enrolled are counted together where a reason applies to ", few));
  if (cohort_.status_basis() == StatusBasis::no_calendar) {
    lines.emplace_back(
        "the cohort has no calendar: whether a student who is not enrolled left, was away or is still to come is not "
        "known");
  }
  if (disclosed_.courses_withheld > 0)
    lines.push_back(concat(counted(disclosed_.courses_withheld, "course is", "courses are"), " not listed: taken by ",
                           few, ", or telling of such a course"));
  if (std::ranges::any_of(disclosed_.courses, [](const auto& entry) { return !entry.students; }))
    lines.push_back(concat("courses without a number were taken by all but ", few));
  if (disclosed_.stages_merged > 0)
    lines.push_back(concat(counted(disclosed_.stages_merged, "filter", "filters"), " that took ", few,
                           " or rows told together with the next"));
  return lines;
}

nlohmann::ordered_json CohortDescription::to_json() const {
  nlohmann::ordered_json json;
  json["students"] = disclosed_.students;
  json["courses"] = cohort_.schema().course_count();
  json["enrollments"] = disclosed_.enrollments;
  json["courses_per_student"] = {
      {"mean", disclosed_.mean_courses},
      {"sd", disclosed_.sd_courses ? nlohmann::ordered_json(*disclosed_.sd_courses) : nlohmann::ordered_json()}};
  json["periods"] = period_table().to_json();
  json["statuses"] = name_of_value(cohort_.status_basis());
  if (const Calendar& calendar = cohort_.calendar(); calendar.data_end >= 0)
    json["data_end"] = calendar.terms[static_cast<std::size_t>(calendar.data_end)].label;
  json["enrollments_by_time"] = figures_[0].table.to_json();
  json["students_by_courses"] = figures_[1].table.to_json();
  json["popular_courses"] = course_table(50).to_json();
  json["filters"] = filter_table(disclosed_).to_json();
  json["min_cell"] = disclosed_.min_cell;
  return json;
}

void CohortDescription::print(std::ostream& out) const {
  out << counted(disclosed_.students, "student", "students") << ", "
      << counted(cohort_.schema().course_count(), "course", "courses") << ", "
      << counted(disclosed_.enrollments, "enrollment", "enrollments") << "\n\n";
  const Table filters = filter_table(disclosed_);
  if (filters.row_count() > 0) {
    filters.print_text(out);
    out << '\n';
  }
  period_table().print_text(out);
  if (const Calendar& calendar = cohort_.calendar(); calendar.data_end >= 0)
    out << "The data end with " << calendar.terms[static_cast<std::size_t>(calendar.data_end)].label << ".\n";
  for (const Figure& figure : figures_) {
    out << '\n' << figure.title << ": " << figure.finding.text() << '\n' << "(" << figure.basis.text() << ")\n";
    figure.table.print_text(out, "  ");
  }
  out << "\nMost taken:\n";
  course_table(20).print_text(out, "  ");
}

}  // namespace desirepath::inline reports
