#include "desirepath/reports/report.h"

#include <CLI/CLI.hpp>

#include "page_output.h"
#include "program.h"
#include "raw_table.h"
#include "setting_options.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/evaluation_file.h"

namespace desirepath::app {

void add_report(Program& program) {
  Verb& verb = program.add(
      {"report",
       "one self-contained page with every figure, to hand to the dean",
       {"desirepath report all.desirepath all.cohort --answers answers.desirepath --by residence --out report.html",
        "desirepath report all.desirepath all.cohort --sections summary,states,flows --title \"Our students\" --out "
        "states.html --figures figures"}});
  struct Options {
    std::string model, cohort, states_cohort, answers, evaluation, out, figures;
    bool ignore_unseen = false;
    SettingValues settings;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("MODEL", options->model, "a .desirepath file: states and flows")->type_name("FILE")->required();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->type_name("FILE")->required();
  verb.app
      ->add_option("--answers", options->answers,
                   "model for prerequisites, plans, delays, typicality and calibration (MODEL, where it has no states)")
      ->type_name("FILE");
  verb.app
      ->add_option("--states-cohort", options->states_cohort,
                   "the students of MODEL, where they are not those of COHORT: a model of one major")
      ->type_name("FILE");
  verb.app->add_option("--evaluation", options->evaluation, "evaluation.json of 'evaluate': error by K")
      ->type_name("FILE");
  verb.add_output("--out", options->out, "page to write", page_file)->required();
  std::vector<std::pair<std::string, FileKind>> pictures;
  for (const std::string& name : report_figures())
    pictures.emplace_back(concat(name, ".svg"), figure_file);
  verb.add_output_folder("--figures", options->figures, "folder for each figure as SVG", pictures);
  verb.add_force();
  verb.app->add_flag("--ignore-unseen", options->ignore_unseen, "leave out courses a model does not know");
  add_settings(*verb.app, list_settings(declaration_of<ReportSettings>()), options->settings);
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    auto settings = settings_from<ReportSettings>(options->settings);
    const UnseenCourses unseen = options->ignore_unseen ? UnseenCourses::ignore
                                 : console.verbose      ? UnseenCourses::refuse_by_name
                                                        : UnseenCourses::refuse;
    const StoredModel stored = load_model(options->model);
    const std::optional<StoredModel> answers =
        options->answers.empty() ? std::nullopt : std::optional(load_model(options->answers));
    const std::optional<Evaluation> evaluation =
        options->evaluation.empty() ? std::nullopt : std::optional(read_evaluation(options->evaluation));
    const Cohort cohort = open_cohort(options->cohort, *table, console);
    const Cohort of_states =
        options->states_cohort.empty() ? cohort : open_cohort(options->states_cohort, *table, console);
    settings.disclosure = settings.disclosure.bound_to(cohort.min_cell());
    if (of_states.min_cell() && of_states.min_cell() != settings.disclosure.least()) {
      throw OptionError(concat("--states-cohort and COHORT were prepared with --min-cell ", *of_states.min_cell(),
                               " and ", settings.disclosure.least(), ": prepare both with the same one"));
    }
    const auto seen_by = [&](const Cohort& students, const StoredModel& model) {
      return align_cohort(students, model.model->schema(), unseen, "a model does not know", console);
    };
    const Cohort states_students = seen_by(of_states, stored);
    const Cohort answers_students = answers ? seen_by(cohort, *answers) : states_students;
    const Executor executor = console.executor("report");
    const AskedModel asked{answers ? *answers : stored, answers_students};
    const Page page = make_report({cohort,
                                   {stored, states_students},
                                   answers ? &asked : nullptr,
                                   evaluation ? &*evaluation : nullptr,
                                   {},
                                   {},
                                   console.seed,
                                   executor,
                                   console.progress_sink()},
                                  settings);
    console.end_progress();
    write_page(page, options->out, options->figures, console, "report");
  };
}

}  // namespace desirepath::app
