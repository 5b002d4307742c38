#include "fit_arguments.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "setting_options.h"

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/source.h"
#include "desirepath/models/default_model.h"

namespace desirepath::app {

namespace {

template <class Number>
Number number_at(const SmallTable& table, std::size_t row, std::size_t column) {
  if (const auto number = number_in<Number>(table.rows[row][column])) return *number;
  throw InputError({table.file, table.records[row], static_cast<std::int64_t>(column) + 1},
                   concat(table.columns[column], " is not a number"));
}

std::vector<LabelRow> read_labels(const std::string& file) {
  const SmallTable table = read_small_table(file);
  const std::size_t student = table.require("student"), period = table.require("period"),
                    state = table.require("state");
  auto weight = table.find("weight");
  if (!weight) weight = table.find("probability");  // as `states --csv` writes them
  std::vector<LabelRow> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r][state] == "left") continue;  // who has left is in no state
    rows.push_back({table.rows[r][student], table.rows[r][period], number_at<Id>(table, r, state),
                    weight ? number_at<double>(table, r, *weight) : 1, table.records[r]});
  }
  return rows;
}

std::vector<TransitionRow> read_transitions(const std::string& file) {
  const SmallTable table = read_small_table(file);
  const std::size_t period = table.require("period"), from = table.require("from"), to = table.require("to"),
                    probability = table.require("probability");
  std::vector<TransitionRow> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    rows.push_back({table.rows[r][period], number_at<Id>(table, r, from), number_at<Id>(table, r, to),
                    number_at<double>(table, r, probability), table.records[r]});
  }
  return rows;
}

}  // namespace

std::shared_ptr<FitArguments> add_fit_options(Verb& verb, bool single) {
  CLI::App& app = *verb.app;
  auto a = std::make_shared<FitArguments>();
  const Catalog& catalog = standard_catalog();
  std::vector<std::string> models, families;
  for (const ModelEntry& entry : catalog.models)
    models.push_back(concat(entry.name, " (", entry.what, ")"));
  for (const EmissionFamily& family : catalog.emissions)
    families.push_back(family.name);
  const std::string model = "Model", training = "Training";
  app.add_option("--model", a->model, join(models, "; "))->default_str(std::string(default_choice))->group(model);
  app.footer(concat(which_model(), "\n\n", app.get_footer()));
  app.add_option("--emission", a->emission, concat(join(families, "|"), "; default by model"))->group(model);
  std::vector<Setting> settings = all_fit_settings(catalog);
  for (const Setting& info : settings) {
    // A word or a file: told apart when they are read.
    const bool word_or_file = info.name == "start" || info.name == "validation";
    if (!word_or_file || (info.name == "validation" && !single)) continue;
    app.add_option("--" + info.name, info.name == "start" ? a->start : a->validation, info.what)
        ->type_name(info.name == "start" ? join(info.choices, "|") + "|FILE" : info.takes)
        ->default_str(setting_text(info.standard))
        ->group(training);
  }
  // A selection ranges over the sizes itself.
  const auto is_size = [&](const Setting& info) {
    return std::ranges::find(catalog.models, info.name, &ModelEntry::size_setting) != catalog.models.end();
  };
  std::erase_if(settings, [&](const Setting& info) {
    return info.name == "start" || info.name == "validation" || (!single && is_size(info));
  });
  add_settings(app, settings, a->settings, model);
  app.add_option("--transitions", a->transitions,
                 "fixed transitions: period,from,to,probability (states from 0; 0 = forbidden; no period = all)")
      ->type_name("FILE")
      ->group(model);
  app.add_option("--warm", a->warm, "start from this model")->type_name("FILE")->group(training);
  if (!single) return a;
  a->may_checkpoint = true;
  app.add_option("--match", a->match, "number the states like this model's")->type_name("FILE")->group(training);
  verb.add_output("--checkpoint", a->checkpoint, "file to keep the state of training in", checkpoint_file)
      ->group(training);
  verb.outputs.back().continues = &a->resume;
  app.add_option("--checkpoint-every", a->checkpoint_every, "seconds between checkpoints")
      ->capture_default_str()
      ->group(training);
  app.add_flag("--resume", a->resume, "continue from --checkpoint where it exists")->group(training);
  return a;
}

bool FitArguments::start_is_word() const {
  const std::vector<Setting> known = all_fit_settings(standard_catalog());
  const auto setting = std::ranges::find(known, "start", &Setting::name);
  return std::ranges::find(setting->choices, start) != setting->choices.end();
}

FitOptions FitArguments::options(const Console& console) const {
  const std::string name = by_default() ? std::string(default_choice) : model.empty() ? "cmm" : model;
  const std::string choice = emission.empty() ? name : concat(split(name, '+').front(), "+", emission);
  FitOptions options(choice);
  options.seed = console.seed;
  options.set(settings);
  if (start_is_word()) options.set("start", start);
  if (const auto share = number_in<double>(validation)) options.set("validation", *share);
  return options;
}

void FitArguments::fit_to(const Cohort& cohort, FitOptions& options, const Console& console) {
  if (!warm.empty()) {
    warm_model_ = load_model(warm);
    keep_tried(warm_model_.training, options);
  }
  if (!by_default() || options.values().contains("states")) return;
  const Id states = default_states(cohort.student_count());
  options.set("states", std::int64_t{states});
  console.say(concat("no ", setting_name("model"), " named: ", options.choice().name(), " with ", states,
                     " states; 'desirepath select' measures other numbers"));
}

TrainingContext FitArguments::context(Console& console, const Executor& executor, const Cohort& cohort,
                                      const RawTableArguments& table) {
  TrainingContext context{executor, console.progress_sink()};
  context.checkpoint = checkpoint;
  context.may_checkpoint = may_checkpoint;
  context.checkpoint_interval = checkpoint_every;
  context.resume = resume;
  if (!start.empty() && !start_is_word()) {
    context.labels_file = start;
    context.labels = read_labels(start);
  }
  if (!warm.empty()) {
    if (!warm_model_.model) warm_model_ = load_model(warm);
    context.warm = warm_model_.model.get();
  }
  if (!match.empty()) {
    match_model_ = load_model(match);
    context.match = match_model_.model.get();
  }
  if (!transitions.empty()) {
    context.transitions_file = transitions;
    context.transitions = read_transitions(transitions);
  }
  if (!validation.empty() && !number_in<double>(validation)) {
    validation_cohort_ = open_aligned_cohort(validation, cohort.schema(), UnseenCourses::ignore,
                                             "the training cohort does not have", table, console);
    context.validation = &*validation_cohort_;
  }
  return context;
}

FitsFile FitSweepArguments::file() const {
  if (resume && checkpoint.empty())
    throw OptionError(concat(setting_name("resume"), " needs ", setting_name("checkpoint"), " FILE"));
  return {checkpoint, resume};
}

void FitSweepArguments::remove_checkpoint() const {
  std::error_code ignored;
  if (ArchiveReader::kind_of(checkpoint) == "checkpoint") std::filesystem::remove(checkpoint, ignored);
}

std::string FitSweepArguments::how_to_go_on() const {
  const std::string name = setting_name("checkpoint");
  if (checkpoint.empty()) return concat("interrupted; no fit is kept (", name, " FILE keeps them)");
  std::error_code ignored;
  if (!std::filesystem::exists(checkpoint, ignored)) return "interrupted before the first fit was done";
  return concat("interrupted; continue with ", setting_name("resume"), " ", name, " ", checkpoint);
}

std::shared_ptr<FitSweepArguments> add_fit_sweep_options(Verb& verb) {
  auto a = std::make_shared<FitSweepArguments>();
  verb.app->add_option("--held-out", a->held_out, "share of the students set aside")->capture_default_str();
  verb.app->add_flag("--dry-run", a->dry_run, "say what memory and time it would take, and stop");
  verb.add_output("--checkpoint", a->checkpoint, "file to keep finished fits in: a run that is stopped loses one",
                  checkpoint_file);
  verb.outputs.back().continues = &a->resume;
  verb.app->add_flag("--resume", a->resume, "continue from --checkpoint where it exists");
  return a;
}

}  // namespace desirepath::app
