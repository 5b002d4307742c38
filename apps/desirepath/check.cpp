#include <CLI/CLI.hpp>

#include "program.h"
#include "raw_table.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/prepare.h"

namespace desirepath::app {

void add_check(Program& program) {
  Verb& verb = program.add(
      {"check",
       "what is in the file, what would be rejected and why; writes nothing",
       {"desirepath check enrollments.csv", "desirepath check 'terms/*.csv.gz' --map student=EMPLID --json"}});
  auto sources = std::make_shared<std::vector<std::string>>();
  verb.app->add_option("SOURCE", *sources, "CSV, TSV, gz, zst, Parquet or DuckDB files, or patterns")
      ->type_name("FILE")
      ->required();
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, sources, table] {
    Console& console = *verb.console;
    const InputCheck check = check_tables(*sources, table->options(console), console.progress_sink());
    console.end_progress();
    console.show("check", check);
    if (!check.failure.empty()) throw InputError(check.failure);
  };
}

}  // namespace desirepath::app
