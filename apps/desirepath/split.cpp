#include "desirepath/transcripts/split.h"

#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"
#include "raw_table.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::app {

void add_split(Program& program) {
  Verb& verb = program.add({"split",
                            "training, validation and hold-out by student",
                            {"desirepath split all.cohort --out parts",
                             "desirepath split all.cohort --out parts --by entry --validation 2 --hold-out 2"}});
  struct Options {
    std::string cohort, out, by;
    double validation = 0.15, hold_out = 0.15;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->required();
  verb.app->add_option("--out", options->out, "folder for training.cohort, validation.cohort and hold-out.cohort")
      ->required();
  verb.app->add_option("--validation", options->validation, "share of students; with --by, how many of its last values")
      ->capture_default_str();
  verb.app->add_option("--hold-out", options->hold_out, "share of students; with --by, how many of its last values")
      ->capture_default_str();
  verb.app
      ->add_option("--by", options->by,
                   "student attribute, or entry (the academic year of a student's first period), whose last values "
                   "are set aside, in place of shares")
      ->type_name("ATTRIBUTE");
  verb.app->add_flag("--force", options->force, "replace files that exist");
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    const Overwrite overwrite = options->force ? Overwrite::allow : Overwrite::refuse;
    const std::filesystem::path folder = options->out;
    const std::vector<std::string> names = {"training", "validation", "hold-out"};
    const auto check_targets = [&] {
      for (const std::string& name : names)
        check_target(folder / (name + ".cohort"), overwrite);
    };
    if (std::filesystem::exists(folder)) check_targets();
    const Cohort cohort = open_cohort(options->cohort, *table, *verb.console);
    Split split;
    if (options->by.empty()) {
      split = split_by_share(cohort, {options->validation, options->hold_out},
                             RandomStream(verb.console->seed).child("split"));
    } else {
      const auto whole = [](double value) {
        if (value < 0 || value != static_cast<double>(static_cast<std::size_t>(value)))
          throw OptionError("with --by, --validation and --hold-out are numbers of values");
        return static_cast<std::size_t>(value);
      };
      split = split_by_attribute(cohort, options->by, options->validation < 1 ? 1 : whole(options->validation),
                                 options->hold_out < 1 ? 1 : whole(options->hold_out));
    }
    make_folder(folder);
    check_targets();
    nlohmann::ordered_json json;
    const std::vector<const std::vector<std::int64_t>*> parts = {&split.training, &split.validation, &split.hold_out};
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::filesystem::path path = folder / (names[p] + ".cohort");
      cohort.select(*parts[p]).save(path, overwrite);
      json[names[p] == "hold-out" ? "hold_out" : names[p]] = {{"file", path.string()}, {"students", parts[p]->size()}};
      verb.console->say(concat("wrote ", path.string(), ": ",
                               counted(static_cast<std::int64_t>(parts[p]->size()), "student", "students")));
    }
    if (verb.console->json) verb.console->print_json("split", json);
  };
}

}  // namespace desirepath::app
