#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

#include "desirepath/core/text.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/ingest/synthetic_university.h"
#include "desirepath/models/model_file.h"
#include "desirepath/models/training.h"
#include "desirepath/reports/demo_page.h"

namespace desirepath::app {

namespace {

/// The filters of the paper on the synthetic file: no summer, no part-time students.
TableOptions demo_options(const std::filesystem::path& folder, int threads) {
  TableOptions options;
  options.courses_file = folder / "courses.csv";
  options.summer = RowRule::drop;
  options.part_time = PartTimeRule::drop_students;
  options.full_time_courses = 5;
  options.threads = threads;
  return options;
}

}  // namespace

void add_demo(Program& program) {
  Verb& verb = program.add({"demo",
                            "the whole tour on a built-in synthetic university; ends with a page to open",
                            {"desirepath demo", "desirepath demo --out tour --seed 7"}});
  auto out = std::make_shared<std::string>("desirepath-demo");
  verb.add_output_folder("--out", *out, "folder to write into",
                         {{"enrollments.csv", synthetic_enrollments},
                          {"courses.csv", synthetic_courses},
                          {"truth.json", json_file},
                          {"university.cohort", cohort_file},
                          {"university.desirepath", model_file},
                          {"report.html", page_file}})
      ->capture_default_str();
  verb.add_force();
  verb.run = [&verb, out] {
    const std::filesystem::path folder = *out;
    Console& console = *verb.console;
    make_folder(folder);
    const std::filesystem::path page = folder / "report.html";

    console.say("1. simulate: a university of 30,000 students over 18 years");
    SyntheticOptions synthetic;
    synthetic.seed = console.seed;
    synthetic.threads = console.thread_count();
    write_synthetic_university(synthetic, folder, console.overwrite(), console.progress_sink());
    console.end_progress();

    console.say("2. prepare: clean, filter, cut into years");
    const Prepared prepared = prepare_cohort({(folder / "enrollments.csv").string()},
                                             demo_options(folder, console.thread_count()), console.progress_sink());
    console.end_progress();
    prepared.cohort.save(folder / "university.cohort", console.overwrite());

    console.say("3. fit: the kinds of students in every year");
    FitOptions fit("cmm+bernoulli");
    fit.seed = console.seed;
    const Compute compute = console.compute("demo");
    const TrainingContext context{compute, console.progress_sink()};
    const FitResult fitted = fit_model(prepared.cohort, fit, context);
    console.end_progress();
    save_model(*fitted.model, training_record({prepared.cohort, fit, context}, fitted),
               folder / "university.desirepath", console.overwrite());

    console.say("4. describe: who they are and what they take");
    write_text_file(page, render_html(demo_page(prepared.cohort, *fitted.model)), console.overwrite());
    if (console.json) {
      console.print_json("demo", {{"report", page.string()},
                                  {"cohort", (folder / "university.cohort").string()},
                                  {"model", (folder / "university.desirepath").string()}});
    } else {
      console.say(concat("\nOpen ", std::filesystem::absolute(page).lexically_normal().string()));
    }
  };
}

}  // namespace desirepath::app
