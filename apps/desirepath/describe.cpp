#include <algorithm>

#include <CLI/CLI.hpp>

#include "program.h"
#include "raw_table.h"
#include "setting_options.h"

#include "desirepath/core/archive.h"
#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/file_set.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/cohort_description.h"

namespace desirepath::app {

void add_describe(Program& program) {
  Verb& verb =
      program.add({"describe",
                   "who and what is in a cohort (the paper's data figure)",
                   {"desirepath describe all.cohort", "desirepath describe enrollments.csv --figures figures --json",
                    "desirepath describe all.cohort --csv --table courses"},
                   /*prints_table=*/true});
  struct Options {
    std::string cohort, figures;
    SettingValues settings;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.add_output_folder("--figures", options->figures, "folder for the figures as SVG",
                         {{"enrollments.svg", figure_file}, {"courses-per-student.svg", figure_file}});
  add_settings(*verb.app, list_settings(declaration_of<Disclosure>()), options->settings);
  verb.add_force();
  auto table = add_raw_table_options(*verb.app);
  const std::vector<std::string> names(described_tables.begin(), described_tables.end());
  verb.app->get_option("--table")->description(
      concat("with --csv, which table: ", join(names, ", "),
             "; else that of a DuckDB file with several, or the sheet of a workbook"));
  verb.run = [&verb, options, table, names] {
    const auto asked = settings_from<Disclosure>(options->settings);
    // One name for two things: what is shown, and what is read. The first has few values.
    const auto given = table->given.find("table");
    std::string name = given == table->given.end() ? "" : setting_text(given->second);
    const bool known = std::ranges::find(names, name) != names.end();
    if (!name.empty() && !known && ArchiveReader::looks_like_archive(options->cohort)) {
      throw OptionError(concat("no table '", name, "'", did_you_mean(name, names), "; there are: ", join(names, ", ")));
    }
    if (!verb.console->csv || !known) name.clear();
    if (!name.empty()) table->given.erase("table");
    const Cohort cohort = open_cohort(options->cohort, *table, *verb.console);
    CohortDescription description = describe_cohort(cohort, asked.bound_to(cohort.min_cell()));
    if (!name.empty()) description.answer.choose(name);
    if (!options->figures.empty()) {
      FileSet files(options->figures, verb.console->overwrite());
      for (const Figure& figure : description.figures)
        files.add(figure.name + ".svg").write(standalone_svg(figure));
      files.commit();
      for (const Figure& figure : description.figures)
        verb.console->say(
            concat("wrote ", (std::filesystem::path(options->figures) / (figure.name + ".svg")).string()));
    }
    verb.console->show("describe", description.answer);
  };
}

}  // namespace desirepath::app
