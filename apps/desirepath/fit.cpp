#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fit_arguments.h"
#include "program.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/models/publication.h"

namespace desirepath::app {

void add_fit(Program& program) {
  Verb& verb =
      program.add({"fit",
                   "train a model",
                   {"desirepath fit all.cohort --out all.desirepath",
                    "desirepath fit enrollments.csv --model tan --states 6 --restarts 5 --out tan.desirepath --json"}});
  struct Options {
    std::string cohort, out;
    bool dry_run = false, require_convergence = false, publish = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.add_output("--out", options->out, "model file to write", model_file);
  verb.add_force();
  verb.app->add_flag("--dry-run", options->dry_run, "say what memory and time training would take, and stop");
  verb.app->add_flag("--require-convergence", options->require_convergence,
                     "exit with 4 when training did not converge");
  verb.app->add_flag(
      "--publish", options->publish,
      "write a model to hand out: states under 10 expected students merged, courses under 10 takers "
      "dropped, what few students of a state did pooled, parameters rounded to what their standard error bears");
  auto training = add_fit_options(verb, /*single=*/true);
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, training, table] {
    Console& console = *verb.console;
    if (options->out.empty() && !options->dry_run) throw OptionError("--out MODEL is required");
    FitOptions fit_options = training->options(console);
    if (options->publish) require_publishable(fit_options);
    Cohort cohort = open_cohort(options->cohort, *table, console, TableUse::train);
    training->fit_to(cohort, fit_options, console);
    const Id all_courses = cohort.schema().course_count();
    if (options->publish) {
      cohort = without_rare_courses(cohort, least_published(cohort), counted_students(cohort, fit_options));
    }
    const Executor executor = console.executor("fit");
    const TrainingContext context = training->context(console, executor, cohort, *table);
    const TrainingTask task{cohort, fit_options, context};
    const std::unique_ptr<Training> prepared = prepare_training(task);
    const FitEstimate estimate = prepared->estimate();
    if (options->dry_run) return console.show("fit-estimate", estimate.answer());
    console.say(concat("training needs about ", as_bytes_text(estimate.bytes), " of memory"));
    FitResult fit = prepared->run();
    std::optional<Publication> published;
    if (options->publish) {
      published = publish(fit, task);
      published->courses_dropped = all_courses - cohort.schema().course_count();
    }
    console.end_progress();
    save_model(*fit.model, published ? published_record(task, fit, *published) : training_record(task, fit),
               options->out, console.overwrite(), published ? FileAccess::usual : FileAccess::owner);
    std::error_code ignored;
    if (ArchiveReader::kind_of(context.checkpoint) == "checkpoint")  // the run's own, and it has served
      std::filesystem::remove(context.checkpoint, ignored);
    for (const std::string& warning : fit.warnings)
      console.warn(warning);
    Answer answer = fit.answer();
    if (published) answer.set("published", published->to_json());
    if (published) answer.say(published->text());
    answer.say("wrote ", options->out);
    console.tell("fit", answer);
    if (options->require_convergence && !fit.converged) {
      throw QualityError(concat("not converged after ", fit.iterations,
                                " iterations (the model is written); raise --iterations or --tolerance"));
    }
  };
}

}  // namespace desirepath::app
