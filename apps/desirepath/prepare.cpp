#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "preparation_output.h"
#include "program.h"
#include "raw_table.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::app {

void add_prepare(Program& program) {
  Verb& verb = program.add(
      {"prepare",
       "clean, filter, cut into periods: one file for all later commands",
       {"desirepath prepare enrollments.csv --courses courses.csv --out all.cohort",
        "desirepath prepare extract.csv --map student=EMPLID --map \"course=SUBJECT || ' ' || CATALOG_NBR\" "
        "--periods years-since-entry --out all.cohort"}});
  struct Options {
    std::vector<std::string> sources;
    std::string out, rejects;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("SOURCE", options->sources, "CSV, TSV, gz, zst, Parquet or DuckDB files, or patterns")
      ->type_name("FILE")
      ->required();
  verb.app->add_option("--out", options->out, "cohort file to write")->type_name("FILE")->required();
  verb.app
      ->add_option("--rejects", options->rejects,
                   "write where and why rows were bad: file,record,column,reason (no student data)")
      ->type_name("FILE");
  verb.app->add_flag("--force", options->force, "replace files that exist");
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    const Overwrite overwrite = options->force ? Overwrite::allow : Overwrite::refuse;
    check_target(options->out, overwrite);
    if (!options->rejects.empty()) check_target(options->rejects, overwrite);
    for (const std::string& source : options->sources) {
      for (const std::string& target : {options->out, options->rejects}) {
        std::error_code ignored;
        if (std::filesystem::equivalent(source, target, ignored))
          throw OptionError(concat(target, " is the input itself; write to another file"));
      }
    }
    if (options->out == options->rejects) throw OptionError("--out and --rejects name the same file");
    PrepareReport report;
    const auto write_rejects = [&] {
      std::vector<std::string> files;
      for (const auto& source : report.sources)
        files.push_back(source.file);
      if (!options->rejects.empty() && !files.empty()) report.rejects.write(options->rejects, files, overwrite);
    };
    const auto prepare = [&] {
      try {
        return prepare_cohort(options->sources, table->options(*verb.console), verb.console->progress_sink(), &report);
      } catch (const InputError&) {
        write_rejects();  // they say what to mend
        throw;
      }
    };
    const Prepared prepared = prepare();
    write_rejects();
    prepared.cohort.save(options->out, overwrite);
    verb.console->end_progress();
    if (verb.console->json) {
      verb.console->print_json("prepare", preparation_json(report, &prepared.cohort));
      return;
    }
    if (!verb.console->quiet) print_preparation(report, std::cerr);
    const Schema& schema = prepared.cohort.schema();
    verb.console->say(concat(
        "\nwrote ", options->out, ": ", counted(prepared.cohort.student_count(), "student", "students"), ", ",
        counted(schema.course_count(), "course", "courses"), ", ", counted(schema.period_count(), "period", "periods"),
        ", ", counted(prepared.cohort.enrollments().one_count(), "enrollment", "enrollments")));
  };
}

}  // namespace desirepath::app
