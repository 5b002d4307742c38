#include "desirepath/transcripts/split.h"

#include <CLI/CLI.hpp>

#include "program.h"
#include "raw_table.h"
#include "setting_options.h"

namespace desirepath::app {

void add_split(Program& program) {
  Verb& verb = program.add({"split",
                            "training, validation and hold-out by student",
                            {"desirepath split all.cohort --out parts",
                             "desirepath split all.cohort --out parts --by entry --validation 2 --hold-out 2"}});
  struct Options {
    std::string cohort, out;
    SettingValues settings;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.add_output_folder(
          "--out", options->out, "folder for training.cohort, validation.cohort and hold-out.cohort",
          {{"training.cohort", cohort_file}, {"validation.cohort", cohort_file}, {"hold-out.cohort", cohort_file}})
      ->required();
  add_settings(*verb.app, list_settings(declaration_of<SplitOptions>()), options->settings);
  verb.add_force();
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    const auto splitting = settings_from<SplitOptions>(options->settings);
    const Cohort cohort = open_cohort(options->cohort, *table, console);
    const Split split = split_students(cohort, splitting, RandomStream(console.seed).child("split"));
    console.tell("split", write_split(cohort, split, options->out, console.overwrite(), console.interrupt_flag()));
  };
}

}  // namespace desirepath::app
