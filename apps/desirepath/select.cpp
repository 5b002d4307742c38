#include <CLI/CLI.hpp>

#include "fit_arguments.h"
#include "program.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/model_selection.h"
#include "desirepath/reports/figures.h"

namespace desirepath::app {

void add_select(Program& program) {
  Verb& verb = program.add({"select",
                            "K by BIC, AIC, ICL and held-out likelihood",
                            {"desirepath select all.cohort --model nb --states 2:20",
                             "desirepath select all.cohort --model cmm --states 2,4,8 --figure k.svg --csv",
                             "desirepath select all.cohort --model hct --tree-states 8,16,32"},
                            /*prints_table=*/true});
  struct Options {
    std::string cohort, figure;
    std::optional<std::string> states, tree_states;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.app->add_option("--states", options->states, "2:20, 2:20:3 or 2,4,8 (2:12); of a vae: the numbers of its code");
  verb.app->add_option("--tree-states", options->tree_states, "of hct, whose size this is: 8,16,32");
  auto many = add_fit_sweep_options(verb);
  verb.add_output("--figure", options->figure, "write the curves as SVG", figure_file);
  verb.add_force();
  auto training = add_fit_options(verb, /*single=*/false);
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, many, training, table] {
    Console& console = *verb.console;
    FitOptions fit_options = training->options(console);
    const bool by_trees = fit_options.choice().model->size_setting == "tree-states";
    if (by_trees && options->states)
      throw OptionError(concat("the size of ", fit_options.choice().model->name, " is ", setting_name("tree-states")));
    if (!by_trees && options->tree_states)
      fit_options.set("tree-states", std::int64_t{parse_state_range(*options->tree_states).front()});
    const std::vector<Id> states =
        parse_state_range(by_trees ? options->tree_states.value_or("8,16,32") : options->states.value_or("2:12"));
    const Cohort cohort = open_cohort(options->cohort, *table, console, TableUse::train);
    const Executor executor = console.executor("select");
    const TrainingContext context = training->context(console, executor, cohort, *table);
    if (many->dry_run)
      return console.show("fit-estimate",
                          estimate_selection(cohort, fit_options, states, many->held_out, context).answer());
    const Selection selection =
        many->run([&] { return select_states(cohort, fit_options, states, many->held_out, context, many->file()); });
    console.end_progress();
    many->remove_checkpoint();
    if (!options->figure.empty()) {
      write_text_file(options->figure, standalone_svg(selection_figure(selection)), console.overwrite());
      console.say(concat("wrote ", options->figure));
    }
    console.show("select", selection.answer());
  };
}

}  // namespace desirepath::app
