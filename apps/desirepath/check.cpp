#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "preparation_output.h"
#include "program.h"
#include "raw_table.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

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
    TableOptions options = table->options(*verb.console);
    options.validate();
    const double bound = options.max_bad;
    options.max_bad = 1;  // a check looks at everything
    PrepareReport report;
    std::string failure;
    std::optional<Prepared> prepared;
    try {
      prepared = prepare_cohort(*sources, options, verb.console->progress_sink(), &report);
    } catch (const InputError& error) {
      if (report.sources.empty()) throw;
      failure = error.what();
    }
    verb.console->end_progress();
    failure = report.too_many_rejected(bound).value_or(failure);
    if (verb.console->json) {
      auto json = preparation_json(report, prepared ? &prepared->cohort : nullptr);
      json["usable"] = failure.empty();
      if (!failure.empty()) json["reason"] = failure;
      verb.console->print_json("check", json);
    } else {
      print_preparation(report, std::cout);
      if (failure.empty()) {
        const Schema& schema = prepared->cohort.schema();
        std::cout << "\nready to prepare: " << counted(prepared->cohort.student_count(), "student", "students") << ", "
                  << counted(schema.course_count(), "course", "courses") << ", "
                  << counted(schema.period_count(), "period", "periods") << '\n';
      }
    }
    if (!failure.empty()) throw InputError(failure);
  };
}

}  // namespace desirepath::app
