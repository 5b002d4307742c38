#include <filesystem>
#include <numeric>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "page_output.h"
#include "program.h"

#include "desirepath/core/text.h"
#include "desirepath/evaluation/evaluation_file.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/ingest/student_selection.h"
#include "desirepath/models/model_file.h"
#include "desirepath/models/publication.h"
#include "desirepath/queries/student_groups.h"
#include "desirepath/reports/report.h"
#include "desirepath/reports/report_words.h"
#include "desirepath/simulation/synthetic_university.h"

namespace desirepath::app {

namespace {

constexpr std::int64_t answers_students = 12'000, evaluation_students = 1500, trees = 2, tree_states = 16, states = 6;
constexpr const char *major = "Computer Science", *models = "nb,tan,gmm,vae";
const std::vector<Id> sizes = {2, 4, 8};

/// The filters of the paper on the synthetic file: no summer, no part-time students.
TableOptions demo_options(const std::filesystem::path& folder) {
  TableOptions options;
  options.courses_file = folder / "courses.csv";
  options.summer = RowRule::drop;
  options.part_time = PartTimeRule::drop_students;
  options.full_time_courses = 5;
  return options;
}

Cohort some_students(const Cohort& cohort, std::int64_t count, const RandomStream& stream) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(cohort.student_count()));
  std::iota(all.begin(), all.end(), 0);
  return cohort.select(draw_students(std::move(all), count, stream));
}

class Tour {
 public:
  Tour(Console& console, std::filesystem::path folder)
      : console_(console), folder_(std::move(folder)), executor_(console.executor("demo")) {}

  Cohort prepare(std::int64_t students) {
    console_.say(concat("1. simulate: a university of ", with_separators(students), " students over 18 years"));
    SyntheticOptions synthetic;
    synthetic.students = students;
    synthetic.seed = console_.seed;
    write_synthetic_university(synthetic, folder_, console_.overwrite(), executor_, console_.progress_sink());
    console_.end_progress();
    console_.say("2. prepare: clean, filter, cut into years");
    Prepared prepared = prepare_cohort({(folder_ / "enrollments.csv").string()}, demo_options(folder_), executor_,
                                       console_.progress_sink());
    console_.end_progress();
    prepared.cohort.save(folder_ / "university.cohort", console_.overwrite());
    return std::move(prepared.cohort);
  }
  StoredModel fit(const Cohort& students, FitOptions options, const std::string& name) {
    options.seed = console_.seed;
    const TrainingContext context{executor_, console_.progress_sink()};
    FitResult fitted = fit_model(students, options, context);
    console_.end_progress();
    TrainingRecord record = training_record({students, options, context}, fitted);
    save_model(*fitted.model, record, folder_ / name, console_.overwrite());
    return {std::move(fitted.model), std::move(record)};
  }
  Evaluation evaluate(const Cohort& cohort) {
    constexpr std::int64_t draws = 5000;
    EvaluationTask task = evaluation_task(models, sizes, {{"restarts", std::int64_t{1}}}, console_.seed, 1);
    task.draws = draws;
    task.full_scored = 25;
    Evaluation evaluation = evaluate_models(some_students(cohort, evaluation_students, stream("evaluation")), task,
                                            {executor_, console_.progress_sink()});
    console_.end_progress();
    write_text_file(folder_ / "evaluation.json", evaluation_text(evaluation), console_.overwrite());
    return evaluation;
  }
  RandomStream stream(const char* name) const { return RandomStream(console_.seed).child("demo").child(name); }
  const Executor& executor() const { return executor_; }

 private:
  Console& console_;
  std::filesystem::path folder_;
  Executor executor_;
};

/// Courses that one in twelve takes, and ten students at least.
std::int64_t least_takers(const Cohort& of_major) {
  return std::max(static_cast<std::int64_t>(least_students), of_major.student_count() / 12);
}

std::vector<Paragraph> remarks(const Cohort& of_major, std::int64_t students) {
  std::vector<std::string> numbers;
  for (const Id size : sizes)
    numbers.push_back(std::to_string(size));
  return {
      sentence_of(words::demo_states, {"cmm+bernoulli", with_separators(of_major.student_count()), major,
                                       std::to_string(states), std::to_string(least_takers(of_major))}),
      sentence_of(words::demo_answers, {std::to_string(trees), std::to_string(tree_states),
                                        with_separators(std::min(students, answers_students))}),
      sentence_of(words::demo_evaluation, {join(split(models, ','), ", "), join(numbers, ", "),
                                           with_separators(std::min(of_major.student_count(), evaluation_students))}),
      sentence_of(words::demo_intervals)};
}

void run_tour(Console& console, const std::filesystem::path& folder, std::int64_t students) {
  make_folder(folder);
  Tour tour(console, folder);
  const Cohort cohort = tour.prepare(students);
  console.say(concat("3. fit: the kinds of students of ", major, " in every year"));
  const Cohort whole_major = select_students(cohort, concat("major = '", major, "'"));
  const Cohort of_major = without_rare_courses(whole_major, least_takers(whole_major));
  of_major.save(folder / "computer_science.cohort", console.overwrite());
  const StoredModel kinds = tour.fit(of_major, FitOptions("cmm+bernoulli").set("states", states), "states.desirepath");
  console.say("4. fit: hidden trees of the whole university, to answer questions");
  FitOptions tree("hct");
  tree.set("trees", trees).set("tree-states", tree_states).set("iterations", std::int64_t{40});
  const StoredModel answers =
      tour.fit(some_students(cohort, answers_students, tour.stream("answers")), tree, "answers.desirepath");
  console.say("5. evaluate: the paper's models side by side");
  const Evaluation evaluation = tour.evaluate(of_major);
  console.say("6. report: what a dean should know");
  ReportSettings settings;
  settings.title = words::demo_title;
  settings.by = "residence";
  const AskedModel asked{answers, cohort};
  const Page page = make_report({cohort,
                                 {kinds, of_major},
                                 &asked,
                                 &evaluation,
                                 remarks(of_major, cohort.student_count()),
                                 sentence_of(words::demo_subtitle),
                                 console.seed,
                                 tour.executor(),
                                 console.progress_sink()},
                                settings);
  console.end_progress();
  write_page(page, folder / "report.html", {}, console, "demo");
  if (!console.json)
    console.say(concat("\nOpen ", std::filesystem::absolute(folder / "report.html").lexically_normal().string()));
}

}  // namespace

void add_demo(Program& program) {
  Verb& verb = program.add({"demo",
                            "the whole tour on a built-in synthetic university; ends with a page to open",
                            {"desirepath demo", "desirepath demo --students 2000 --out tour --seed 7"}});
  struct Options {
    std::string out = "desirepath-demo";
    std::int64_t students = 30'000;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("--students", options->students, "students of the university")
      ->check(CLI::Range(2000, 1'000'000))
      ->capture_default_str();
  verb.add_output_folder("--out", options->out, "folder to write into",
                         {{"enrollments.csv", synthetic_enrollments},
                          {"courses.csv", synthetic_courses},
                          {"truth.json", json_file},
                          {"university.cohort", cohort_file},
                          {"computer_science.cohort", cohort_file},
                          {"states.desirepath", model_file},
                          {"answers.desirepath", model_file},
                          {"evaluation.json", json_file},
                          {"report.html", page_file}})
      ->capture_default_str();
  verb.add_force();
  verb.run = [&verb, options] { run_tour(*verb.console, options->out, options->students); };
}

}  // namespace desirepath::app
