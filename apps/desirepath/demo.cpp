#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

#include "desirepath/core/text.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/ingest/synthetic_university.h"
#include "desirepath/models/fit.h"
#include "desirepath/models/model_file.h"
#include "desirepath/queries/state_profiles.h"
#include "desirepath/reports/cohort_figures.h"
#include "desirepath/reports/html_page.h"
#include "desirepath/reports/suppression.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::app {

namespace {

/// The filters of the paper on the synthetic file: no summer, no part-time students.
TableOptions demo_options(const std::filesystem::path& folder, int threads) {
  TableOptions options;
  options.courses_file = folder / "courses.csv";
  options.summer = SummerRule::drop;
  options.part_time = PartTimeRule::drop_students;
  options.full_time_courses = 5;
  options.threads = threads;
  return options;
}

Table stage_table(const PrepareReport& report) {
  Table table({{"after"}, {"rows"}, {"students"}, {"courses"}});
  for (const Stage& stage : report.stages)
    table.add_row({stage.filter, stage.rows, stage.students, stage.courses});
  return table;
}

/// The kinds of students in every year, and the courses that mark them. States of fewer than min_cell students stay
/// out.
PageSection states_section(const Model& model, std::int64_t students, std::int64_t min_cell) {
  const Schema& schema = model.schema();
  PageSection section{
      "The kinds of students",
      "A contextual mixture sorts the students of every year into kinds by what they take, and learns how "
      "they flow from year to year. Courses mark a kind where its students take them far more often than "
      "others do.",
      {},
      {}};
  std::vector<Table> tables(static_cast<std::size_t>(schema.period_count()),
                            Table({{"kind"}, {"share of students"}, {"marked by"}}));
  std::int64_t hidden = 0;
  for (const StateProfile& profile : profile_states(model, 5)) {
    if (profile.marking.empty()) continue;
    if (profile.share * static_cast<double>(students) < static_cast<double>(min_cell)) {
      ++hidden;
      continue;
    }
    std::string marking;
    for (const StateCourse& entry : profile.marking) {
      const Course& course = schema.course(entry.course);
      marking += concat(marking.empty() ? "" : ", ", course.label.empty() ? course.name : course.label, " (",
                        fixed(100 * entry.probability, 0), " %)");
    }
    tables[static_cast<std::size_t>(profile.step)].add_row(
        {concat(profile.state + 1), concat(fixed(100 * profile.share, 1), " %"), marking});
  }
  for (Id t = 0; t < schema.period_count(); ++t)
    section.tables.emplace_back(concat("Year ", schema.period(t)), std::move(tables[static_cast<std::size_t>(t)]));
  if (hidden > 0)
    section.text += concat(" ", counted(hidden, "kind", "kinds"), " of fewer than ", min_cell, " students not shown.");
  return section;
}

Page demo_page(const Cohort& cohort, const PrepareReport& report, const Model& model) {
  const CohortSummary summary = summarise(cohort);
  Page page;
  page.title = "A university, as its students walk it";
  page.subtitle = "A tour of desirepath on a synthetic university: every student on this page is made up.";
  page.headline = {{with_separators(summary.students), "students"},
                   {with_separators(cohort.schema().course_count()), "courses"},
                   {with_separators(summary.enrollments), "enrollments"},
                   {std::to_string(cohort.schema().period_count()), "years each"}};
  page.sections.push_back({"The data",
                           "Summer terms and part-time students are left out, as in the paper. What each filter took "
                           "is counted; nothing is dropped silently.",
                           {enrollment_areas(summary, default_min_cell), course_histogram(summary, default_min_cell)},
                           {{"What is left after each filter", stage_table(report)}}});
  page.sections.push_back(states_section(model, summary.students, default_min_cell));
  page.footer = "Figures never rest on fewer than 10 students; smaller groups are merged.";
  return page;
}

}  // namespace

void add_demo(Program& program) {
  Verb& verb = program.add({"demo",
                            "the whole tour on a built-in synthetic university; ends with a page to open",
                            {"desirepath demo", "desirepath demo --out tour --seed 7"}});
  struct Options {
    std::string out = "desirepath-demo";
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("--out", options->out, "folder to write into")->capture_default_str();
  verb.app->add_flag("--force", options->force, "replace files that exist");
  verb.run = [&verb, options] {
    const std::filesystem::path folder = options->out;
    const Overwrite overwrite = options->force ? Overwrite::allow : Overwrite::refuse;
    Console& console = *verb.console;
    make_folder(folder);
    const std::filesystem::path page = folder / "report.html";
    for (const char* name : {"enrollments.csv", "university.cohort", "university.desirepath", "report.html"})
      check_target(folder / name, overwrite);

    console.say("1. simulate: a university of 30,000 students over 18 years");
    SyntheticOptions synthetic;
    synthetic.seed = console.seed;
    synthetic.threads = console.thread_count();
    write_synthetic_university(synthetic, folder, overwrite, console.progress_sink());
    console.end_progress();

    console.say("2. prepare: clean, filter, cut into years");
    const Prepared prepared = prepare_cohort({(folder / "enrollments.csv").string()},
                                             demo_options(folder, console.thread_count()), console.progress_sink());
    console.end_progress();
    prepared.cohort.save(folder / "university.cohort", overwrite);

    console.say("3. fit: the kinds of students in every year");
    FitOptions fit;
    fit.choice = parse_model_choice("cmm+bernoulli");
    fit.states = 8;
    fit.seed = console.seed;
    const Compute compute(console.thread_count(), console.interrupt_flag());
    const FitResult fitted = fit_model(prepared.cohort, fit, compute, console.progress_sink());
    console.end_progress();
    save_model(*fitted.model, fitted.training_json(fit, prepared.cohort), folder / "university.desirepath", overwrite);

    console.say("4. describe: who they are and what they take");
    write_text_file(page, render_html(demo_page(prepared.cohort, prepared.report, *fitted.model)), overwrite);
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
