#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"
#include "raw_table.h"
#include "setting_options.h"

#include "desirepath/core/text.h"
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
    std::string cohort, models = "nb,cmm+bernoulli", states = "2,4,8", checkpoint;
    double share = 0.2;
    bool dry_run = false, resume = false;
    SettingValues settings;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.app->add_option("--models", options->models, "MODEL or MODEL+EMISSION, with commas between")
      ->capture_default_str();
  verb.app->add_option("--states", options->states, "2:20, 2:20:3 or 2,4,8; hct has its own size")
      ->capture_default_str();
  verb.app->add_option("--held-out", options->share, "share of the students set aside")->capture_default_str();
  verb.app->add_flag("--dry-run", options->dry_run, "say what memory and time it would take, and stop");
  verb.add_output("--checkpoint", options->checkpoint, "file to keep finished fits in: one that is stopped loses one",
                  checkpoint_file);
  verb.outputs.back().continues = &options->resume;
  verb.app->add_flag("--resume", options->resume, "continue from --checkpoint where it exists");
  verb.add_force();
  std::vector<Setting> settings = all_fit_settings(standard_catalog());
  std::erase_if(settings, [](const Setting& setting) {
    return setting.name != "restarts" && setting.name != "iterations" && setting.name != "tolerance" &&
           setting.name != "pseudocount";
  });
  add_settings(*verb.app, settings, options->settings);
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    ComparisonTask task =
        comparison_task(options->models, parse_state_range(options->states), options->settings, console.seed);
    task.held_out_share = options->share;
    task.checkpoint = options->checkpoint;
    task.resume = options->resume;
    const Cohort cohort = open_cohort(options->cohort, *table, console, TableUse::train);
    const Compute compute(console.thread_count(), console.interrupt_flag());
    if (options->dry_run) {
      const FitEstimate estimate = estimate_comparison(cohort, task, compute);
      if (console.json) return console.print_json("fit-estimate", estimate.to_json());
      std::cout << counted(std::ssize(task.fits), "fit", "fits") << "; memory about " << as_bytes_text(estimate.bytes)
                << " for the largest; an iteration of all their restarts roughly "
                << as_duration(estimate.seconds_per_iteration) << '\n';
      return;
    }
    const TrainingContext context{compute, console.progress_sink()};
    const Comparison comparison = compare_models(cohort, task, context);
    console.end_progress();
    std::error_code ignored;
    if (!options->checkpoint.empty()) std::filesystem::remove(options->checkpoint, ignored);
    console.show("compare", comparison);
  };
}

}  // namespace desirepath::app
