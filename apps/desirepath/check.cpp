#include <CLI/CLI.hpp>

#include "program.h"
#include "raw_table.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/prepare.h"

namespace desirepath::app {

void add_check(Program& program) {
  Verb& verb = program.add(
      {"check",
       "what is in the file, what would be rejected and why; writes no cohort",
       {"desirepath check enrollments.csv", "desirepath check 'terms/*.csv.gz' --map student=EMPLID --json"}});
  struct Options {
    std::vector<std::string> sources;
    std::string rejects;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("SOURCE", options->sources, "CSV, TSV, gz, zst, Parquet, DuckDB or Excel files, or patterns")
      ->type_name("FILE")
      ->required();
  verb.add_output("--rejects", options->rejects,
                  "write where and why rows were bad: file,record,column,reason (no student data)", rejects_file);
  verb.add_force();
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    const Preparation check =
        check_tables(options->sources, table->options(), console.executor("check"), console.progress_sink());
    console.end_progress();
    if (!options->rejects.empty()) check.report.write_rejects(options->rejects, console.overwrite());
    console.show("check", check.answer());
    if (!check.failure.empty()) throw InputError(check.failure);
  };
}

}  // namespace desirepath::app
