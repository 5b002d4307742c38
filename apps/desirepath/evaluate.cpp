#include <array>
#include <filesystem>
#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"
#include "raw_table.h"
#include "setting_options.h"

#include "desirepath/core/error.h"
#include "desirepath/core/file_set.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/evaluation_file.h"
#include "desirepath/evaluation/model_evaluation.h"
#include "desirepath/evaluation/model_selection.h"
#include "desirepath/reports/figures.h"
#include "desirepath/simulation/synthetic_cohort.h"

namespace desirepath::app {

namespace {

struct EvaluateOptions {
  std::string cohort, models = "nb,tan,gmm,vae,hct", states = "2,4,8", out;
  int seeds = 3;
  std::int64_t draws = 20'000;
  double memory = 0;
  bool resume = false;
  std::string synthetic = "6000x120";
  SettingValues settings;
};

Cohort simulated_cohort(const EvaluateOptions& options, Console& console) {
  const std::vector<std::string> dimensions = split(options.synthetic, 'x');
  const auto students = number_in<std::int64_t>(dimensions.front());
  const auto courses = number_in<int>(dimensions.back());
  if (dimensions.size() != 2 || !students || !courses)
    throw OptionError("--synthetic: write it as STUDENTSxCOURSES, such as 6000x120");
  SyntheticOptions synthetic;
  synthetic.students = *students;
  synthetic.courses = *courses;
  synthetic.seed = console.seed;
  check_settings(synthetic);
  return synthetic_cohort(synthetic, {}, console.executor("simulate")).cohort;
}

void write_results(const Evaluation& evaluation, const std::filesystem::path& folder) {
  FileSet files(folder, Overwrite::allow);
  files.add("evaluation.json").write(evaluation_text(evaluation));
  files.add("timings.json").write(timings_text(evaluation));
  std::ostringstream fits;
  evaluation.repeatable().fits_table().print_csv(fits);
  files.add("evaluation.csv").write(fits.str());
  for (const Figure& figure : {error_by_size(evaluation), best_of_models(evaluation)})
    files.add(figure.name + ".svg").write(figure.svg);
  files.commit();
}

}  // namespace

void add_evaluate(Program& program) {
  Verb& verb = program.add(
      {"evaluate",
       "the paper's comparison: sample error, inference accuracy, held-out likelihood, over K and splits",
       {"desirepath evaluate all.cohort --models nb,tan --states 2,4 --seeds 2 --restarts 1 --out evaluation",
        "desirepath evaluate --synthetic 400x30 --models nb,vae --states 2 --seeds 1 --epochs 5 --csv"},
       /*prints_table=*/true});
  auto options = std::make_shared<EvaluateOptions>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table; none: a synthetic university")
      ->type_name("FILE");
  verb.app->add_option("--models", options->models, "MODEL or MODEL+EMISSION, with commas between")
      ->capture_default_str();
  verb.app
      ->add_option("--states", options->states,
                   "2:20, 2:20:3 or 2,4,8: states, or numbers of a vae's code; hct has its own size")
      ->capture_default_str();
  verb.app->add_option("--seeds", options->seeds, "splits of the students, each with its fits")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb.app->add_option("--draws", options->draws, "students drawn from each model, at least")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  verb.app->add_option("--memory", options->memory, "GiB that fits side by side may take (0: most of what is free)")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  verb.app
      ->add_option("--synthetic", options->synthetic,
                   "students by courses of the synthetic university, where no COHORT is given")
      ->type_name("NxM")
      ->capture_default_str();
  verb.add_output_folder("--out", options->out,
                         "folder for a results file a fit, tables as JSON and CSV, figures as SVG",
                         {{"evaluation.json", json_file},
                          {"timings.json", json_file},
                          {"evaluation.csv", {"a table of fits", {}, "model,size,seed,"}},
                          {"error_by_k.svg", figure_file},
                          {"table_1.svg", figure_file}});
  verb.outputs.back().continues = &options->resume;
  verb.app->add_flag("--resume", options->resume, "take fits whose results are in --out already as they are");
  verb.add_force();
  static constexpr std::array passed = {"restarts",  "iterations", "tolerance",  "pseudocount",
                                        "calibrate", "covariance", "hidden",     "epochs",
                                        "patience",  "trees",      "tree-states"};
  std::vector<Setting> settings = all_fit_settings(standard_catalog());
  std::erase_if(settings,
                [](const Setting& setting) { return std::ranges::find(passed, setting.name) == passed.end(); });
  add_settings(*verb.app, settings, options->settings);
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    EvaluationTask task = evaluation_task(options->models, parse_state_range(options->states), options->settings,
                                          console.seed, options->seeds);
    task.draws = options->draws;
    task.memory = options->memory * 1024 * 1024 * 1024;
    if (!options->out.empty()) {
      make_folder(options->out);
      task.folder = options->out;
      task.earlier = options->resume ? EarlierFits::take_up
                     : console.force ? EarlierFits::replace
                                     : EarlierFits::refuse;
    }
    const Cohort cohort = options->cohort.empty() ? simulated_cohort(*options, console)
                                                  : open_cohort(options->cohort, *table, console, TableUse::train);
    const Executor executor = console.executor("evaluate");
    const TrainingContext context{executor, console.progress_sink()};
    const Evaluation evaluation = evaluate_models(cohort, task, context);
    console.end_progress();
    if (!options->out.empty()) write_results(evaluation, options->out);
    console.show("evaluate", evaluation.answer());
  };
}

}  // namespace desirepath::app
