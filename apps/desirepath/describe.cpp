#include <CLI/CLI.hpp>

#include "program.h"
#include "raw_table.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/cohort_description.h"
#include "desirepath/reports/suppression.h"

namespace desirepath::app {

void add_describe(Program& program) {
  Verb& verb =
      program.add({"describe",
                   "who and what is in a cohort (the paper's data figure)",
                   {"desirepath describe all.cohort", "desirepath describe enrollments.csv --figures figures --json"},
                   /*prints_table=*/true});
  struct Options {
    std::string cohort, figures;
    std::int64_t min_cell = default_min_cell;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.add_output_folder("--figures", options->figures, "folder for the figures as SVG",
                         {{"enrollments.svg", figure_file}, {"courses-per-student.svg", figure_file}});
  verb.app->add_option("--min-cell", options->min_cell, "no figure rests on fewer students (under 5 is refused)")
      ->capture_default_str();
  verb.add_force();
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    check_min_cell(options->min_cell);
    const Cohort cohort = open_cohort(options->cohort, *table, *verb.console);
    const CohortDescription description(cohort, options->min_cell);
    if (!options->figures.empty()) {
      make_folder(options->figures);
      for (const Figure& figure : description.figures()) {
        const auto path = std::filesystem::path(options->figures) / (figure.name + ".svg");
        write_text_file(path, figure.svg, verb.console->overwrite());
        verb.console->say(concat("wrote ", path.string()));
      }
    }
    verb.console->show("describe", description);
  };
}

}  // namespace desirepath::app
