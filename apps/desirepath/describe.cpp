#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"
#include "raw_table.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/cohort_figures.h"
#include "desirepath/reports/suppression.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::app {

namespace {

Table period_table(const CohortSummary& summary) {
  Table table({{"period"}, {"present"}, {"unknown"}, {"left"}, {"courses per student", 2}});
  for (const auto& period : summary.periods) {
    table.add_row({period.label, period.present, period.unknown, period.left, period.mean_courses});
  }
  return table;
}

Table course_table(const CohortSummary& summary, const Schema& schema, std::size_t count, std::int64_t min_cell) {
  Table table({{"course"}, {"label"}, {"students"}, {"share", 3}});
  for (const auto& entry : summary.popular) {
    if (table.row_count() >= count || entry.students < min_cell) break;
    table.add_row({schema.course(entry.course).name, schema.course(entry.course).label, entry.students,
                   static_cast<double>(entry.students) / static_cast<double>(summary.students)});
  }
  return table;
}

}  // namespace

void add_describe(Program& program) {
  Verb& verb =
      program.add({"describe",
                   "who and what is in a cohort (the paper's data figure)",
                   {"desirepath describe all.cohort", "desirepath describe enrollments.csv --figures figures --json"},
                   /*prints_table=*/true});
  struct Options {
    std::string cohort, figures;
    std::int64_t min_cell = default_min_cell;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->required();
  verb.app->add_option("--figures", options->figures, "folder for the figures as SVG");
  verb.app->add_option("--min-cell", options->min_cell, "no figure rests on fewer students (under 5 is refused)")
      ->capture_default_str();
  verb.app->add_flag("--force", options->force, "replace files that exist");
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    check_min_cell(options->min_cell);
    const Cohort cohort = open_cohort(options->cohort, *table, *verb.console);
    const CohortSummary summary = summarise(cohort);
    const Figure areas = enrollment_areas(summary, options->min_cell);
    const Figure histogram = course_histogram(summary, options->min_cell);
    if (!options->figures.empty()) {
      make_folder(options->figures);
      for (const Figure* figure : {&areas, &histogram}) {
        const auto path = std::filesystem::path(options->figures) / (figure->name + ".svg");
        write_text_file(path, figure->svg, options->force ? Overwrite::allow : Overwrite::refuse);
        verb.console->say(concat("wrote ", path.string()));
      }
    }
    const auto provenance = nlohmann::ordered_json::parse(cohort.provenance(), nullptr, false);
    if (verb.console->csv) {
      areas.table.print_csv(std::cout);
      return;
    }
    if (verb.console->json) {
      nlohmann::ordered_json json;
      json["students"] = summary.students;
      json["courses"] = cohort.schema().course_count();
      json["enrollments"] = summary.enrollments;
      json["courses_per_student"] = {{"mean", summary.mean_courses}, {"sd", summary.sd_courses}};
      json["periods"] = period_table(summary).to_json();
      json["enrollments_by_time"] = areas.table.to_json();
      json["students_by_courses"] = histogram.table.to_json();
      json["popular_courses"] = course_table(summary, cohort.schema(), 50, options->min_cell).to_json();
      json["filters"] = provenance.value("stages", nlohmann::ordered_json::array());
      json["min_cell"] = options->min_cell;
      verb.console->print_json("describe", json);
      return;
    }
    std::cout << counted(summary.students, "student", "students") << ", "
              << counted(cohort.schema().course_count(), "course", "courses") << ", "
              << counted(summary.enrollments, "enrollment", "enrollments") << "\n\n";
    if (provenance.contains("stages")) {
      Table stages({{"after"}, {"rows"}, {"students"}, {"courses"}});
      for (const auto& stage : provenance["stages"]) {
        stages.add_row({stage.value("after", ""), stage.value("rows", std::int64_t{0}),
                        stage.value("students", std::int64_t{0}), stage.value("courses", std::int64_t{0})});
      }
      stages.print_text(std::cout);
      std::cout << '\n';
    }
    period_table(summary).print_text(std::cout);
    for (const Figure* figure : {&areas, &histogram}) {
      std::cout << '\n' << figure->title << ": " << figure->finding << '\n' << "(" << figure->basis << ")\n";
      figure->table.print_text(std::cout, "  ");
    }
    std::cout << "\nMost taken:\n";
    course_table(summary, cohort.schema(), 20, options->min_cell).print_text(std::cout, "  ");
  };
}

}  // namespace desirepath::app
