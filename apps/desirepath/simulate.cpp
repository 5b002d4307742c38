#include <CLI/CLI.hpp>

#include "program.h"
#include "setting_options.h"

#include "desirepath/simulation/synthetic_university.h"

namespace desirepath::app {

void add_simulate(Program& program) {
  Verb& verb =
      program.add({"simulate",
                   "a synthetic university: enrollments.csv, courses.csv, and the truth about them in truth.json",
                   {"desirepath simulate --out university",
                    "desirepath simulate --out small --students 500 --courses 60 --periods 3 --seed 7",
                    "desirepath simulate --out years --edition 3 --years 10 --students 4000 --student-truth"}});
  struct Options {
    std::string out;
    SettingValues settings;
  };
  auto options = std::make_shared<Options>();
  verb.add_output_folder("--out", options->out, "folder to write into",
                         {{"enrollments.csv", synthetic_enrollments},
                          {"courses.csv", synthetic_courses},
                          {"students.csv", synthetic_students},
                          {"status.csv", synthetic_status},
                          {"truth.json", json_file}})
      ->required();
  add_settings(*verb.app, list_settings(declaration_of<SyntheticOptions>()), options->settings);
  verb.add_force();
  verb.run = [&verb, options] {
    Console& console = *verb.console;
    auto synthetic = settings_from<SyntheticOptions>(options->settings);
    synthetic.seed = console.seed;
    const SyntheticFiles written = write_synthetic_university(synthetic, options->out, console.overwrite(),
                                                              console.executor("simulate"), console.progress_sink());
    console.end_progress();
    console.tell("simulate", written.answer());
  };
}

}  // namespace desirepath::app
