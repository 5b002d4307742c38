#include <CLI/CLI.hpp>

#include "fit_arguments.h"
#include "program.h"
#include "raw_table.h"
#include "setting_options.h"

#include "desirepath/evaluation/model_comparison.h"
#include "desirepath/evaluation/model_selection.h"

namespace desirepath::app {

void add_compare(Program& program) {
  Verb& verb = program.add({"compare",
                            "models and numbers of states on one split, with paired errors and one recommendation",
                            {"desirepath compare all.cohort --models nb,cmm+bernoulli --states 2,4,8",
                             "desirepath compare all.cohort --models nb,tan --states 4 --restarts 1 --csv"},
                            /*prints_table=*/true});
  struct Options {
    std::string cohort, models = "nb,cmm+bernoulli", states = "2,4,8";
    SettingValues settings;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.app->add_option("--models", options->models, "MODEL or MODEL+EMISSION, with commas between")
      ->capture_default_str();
  verb.app->add_option("--states", options->states, "2:20, 2:20:3 or 2,4,8; hct has its own size")
      ->capture_default_str();
  auto many = add_fit_sweep_options(verb);
  verb.add_force();
  std::vector<Setting> settings = all_fit_settings(standard_catalog());
  std::erase_if(settings, [](const Setting& setting) {
    return setting.name != "restarts" && setting.name != "iterations" && setting.name != "tolerance" &&
           setting.name != "pseudocount" && setting.name != "weights";
  });
  add_settings(*verb.app, settings, options->settings);
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, many, table] {
    Console& console = *verb.console;
    ComparisonTask task =
        comparison_task(options->models, parse_state_range(options->states), options->settings, console.seed);
    task.held_out_share = many->held_out;
    task.file = many->file();
    const Cohort cohort = open_cohort(options->cohort, *table, console, TableUse::train);
    const Executor executor = console.executor("compare");
    if (many->dry_run) return console.show("fit-estimate", estimate_comparison(cohort, task, executor).answer());
    const TrainingContext context{executor, console.progress_sink()};
    const Comparison comparison = many->run([&] { return compare_models(cohort, task, context); });
    console.end_progress();
    many->remove_checkpoint();
    console.show("compare", comparison.answer());
  };
}

}  // namespace desirepath::app
