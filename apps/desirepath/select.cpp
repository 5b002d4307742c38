#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fit_arguments.h"
#include "program.h"
#include "raw_table.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/model_selection.h"
#include "desirepath/reports/selection_figure.h"

namespace desirepath::app {

void add_select(Program& program) {
  Verb& verb = program.add({"select",
                            "K by BIC, AIC, ICL and held-out likelihood",
                            {"desirepath select all.cohort --model nb --states 2:20",
                             "desirepath select all.cohort --model cmm --states 2,4,8 --figure k.svg --csv"},
                            /*prints_table=*/true});
  struct Options {
    std::string cohort, states = "2:12", figure;
    double share = 0.2;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->required();
  verb.app->add_option("--states", options->states, "2:20, 2:20:3 or 2,4,8")->capture_default_str();
  verb.app->add_option("--held-out", options->share, "share of the students set aside")->capture_default_str();
  verb.app->add_option("--figure", options->figure, "write the curves as SVG");
  verb.app->add_flag("--force", options->force, "replace a file that exists");
  auto training = add_fit_options(*verb.app, /*single=*/false);
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, training, table] {
    Console& console = *verb.console;
    const Overwrite overwrite = options->force ? Overwrite::allow : Overwrite::refuse;
    if (!options->figure.empty()) check_target(options->figure, overwrite);
    const std::vector<Id> states = parse_state_range(options->states);
    const Cohort cohort = open_cohort(options->cohort, *table, console);
    const FitOptions fit_options = training->to_options(console, cohort, *table);
    const Compute compute(console.thread_count(), console.interrupt_flag());
    const Selection selection =
        select_states(cohort, fit_options, states, options->share, compute, console.progress_sink());
    console.end_progress();
    for (const SelectionRow& row : selection.rows) {
      if (row.impossible == 0) continue;
      console.warn(concat("with ", row.states, " states ",
                          counted(row.impossible, "held-out student is", "held-out students are"),
                          " impossible (probability 0): no held-out likelihood; give --pseudocount above 0"));
    }
    const Figure figure = selection_figure(selection, training->model);
    if (!options->figure.empty()) {
      write_text_file(options->figure, figure.svg, overwrite);
      console.say(concat("wrote ", options->figure));
    }
    if (console.csv) {
      figure.table.print_csv(std::cout);
    } else if (console.json) {
      console.print_json("select",
                         {{"model", training->model},
                          {"likelihood_kind", std::string(name_of(selection.kind))},
                          {"training_students", selection.training_students},
                          {"validation_students", selection.validation_students},
                          {"best",
                           {{"bic", selection.best_bic},
                            {"aic", selection.best_aic},
                            {"icl", selection.best_icl},
                            {"held_out", selection.best_held_out > 0 ? nlohmann::ordered_json(selection.best_held_out)
                                                                     : nlohmann::ordered_json()}}},
                          {"rows", figure.table.to_json()}});
    } else {
      figure.table.print_text(std::cout);
      std::cout << '\n' << figure.finding << '\n';
    }
  };
}

}  // namespace desirepath::app
