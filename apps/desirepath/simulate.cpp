#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

#include "desirepath/core/text.h"
#include "desirepath/ingest/synthetic_university.h"

namespace desirepath::app {

void add_simulate(Program& program) {
  Verb& verb =
      program.add({"simulate",
                   "a synthetic university: enrollments.csv, courses.csv, and the truth about them in truth.json",
                   {"desirepath simulate --out university",
                    "desirepath simulate --out small --students 500 --courses 60 --periods 3 --seed 7"}});
  struct Options {
    std::string out;
    SyntheticOptions synthetic;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("--out", options->out, "folder to write into")->required();
  verb.app->add_option("--students", options->synthetic.students, "1 to 10,000,000")->capture_default_str();
  verb.app->add_option("--courses", options->synthetic.courses, "20 to 5,000")->capture_default_str();
  verb.app->add_option("--periods", options->synthetic.periods, "years a student stays, 1 to 8")->capture_default_str();
  verb.app->add_flag("--student-truth", options->synthetic.student_truth,
                     "also students.csv: what was planted in each student");
  verb.app->add_flag("--force", options->force, "replace files that exist");
  verb.run = [&verb, options] {
    SyntheticOptions synthetic = options->synthetic;
    synthetic.seed = verb.console->seed;
    synthetic.threads = verb.console->thread_count();
    const SyntheticSummary summary = write_synthetic_university(
        synthetic, options->out, options->force ? Overwrite::allow : Overwrite::refuse, verb.console->progress_sink());
    verb.console->end_progress();
    if (verb.console->json) {
      nlohmann::ordered_json json;
      json["folder"] = options->out;
      json["students"] = summary.students;
      json["enrollments"] = summary.enrollments;
      verb.console->print_json("simulate", json);
      return;
    }
    verb.console->say(
        concat("wrote ", options->out, "/enrollments.csv: ", counted(summary.students, "student", "students"), ", ",
               counted(summary.enrollments, "enrollment", "enrollments"), "; courses.csv and truth.json beside it"));
  };
}

}  // namespace desirepath::app
