#include "desirepath/ingest/prepare.h"

#include <CLI/CLI.hpp>

#include "program.h"
#include "raw_table.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/transcripts/status_file.h"

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
    std::string out, rejects, statuses;
    std::int64_t min_cell = Disclosure::usual;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("SOURCE", options->sources, "CSV, TSV, gz, zst, Parquet, DuckDB or Excel files, or patterns")
      ->type_name("FILE")
      ->required();
  verb.add_output("--out", options->out, "cohort file to write", cohort_file)->required();
  verb.add_output("--rejects", options->rejects,
                  "write where and why rows were bad: file,record,column,reason (no student data)", rejects_file);
  verb.add_output("--statuses", options->statuses,
                  "write whether each student was enrolled in each period: student,period,status,term (student-level)",
                  statuses_file);
  verb.app
      ->add_option("--min-cell", options->min_cell,
                   concat("what is shown of this cohort rests on at least this many students, in every later answer "
                          "(under ",
                          Disclosure::fewest, " is refused)"))
      ->capture_default_str();
  verb.add_force();
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    const Disclosure disclosure(options->min_cell);
    Preparation made =
        prepare_tables(options->sources, table->options(), console.executor("prepare"), console.progress_sink());
    console.end_progress();
    if (!options->rejects.empty())
      made.report.write_rejects(options->rejects, console.overwrite());  // they say what to mend
    if (!made.cohort) throw InputError(made.failure);
    made.cohort = made.cohort->with_min_cell(disclosure.least());
    made.cohort->save(options->out, console.overwrite());
    if (!options->statuses.empty()) write_statuses(*made.cohort, options->statuses, console.overwrite());
    made.file = options->out;
    console.tell("prepare", made.answer());
  };
}

}  // namespace desirepath::app
