// Every query of the catalog as a command.
#include <algorithm>

#include <CLI/CLI.hpp>

#include "program.h"
#include "raw_table.h"
#include "setting_options.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/evidence_table.h"
#include "desirepath/queries/query.h"

namespace desirepath::app {

namespace {

/// Names of states from a table period,state,name, as --name gives them one by one; those win.
void add_names(const std::string& file, SettingValues& settings) {
  const SmallTable table = read_small_table(file);
  const std::size_t period = table.require("period"), state = table.require("state"), name = table.require("name");
  std::map<std::string, std::string> names;
  if (const auto given = settings.find("name"); given != settings.end())
    names = std::get<std::map<std::string, std::string>>(given->second);
  for (const std::vector<std::string>& row : table.rows)
    names.emplace(concat(row[period], ":", row[state]), row[name]);
  settings["name"] = std::move(names);
}

void add_query(Program& program, const Query& query) {
  Verb& verb = program.add({query.name, query.what, query.examples, /*prints_table=*/true});
  struct Options {
    std::string model, cohort, given, names;
    bool ignore_unseen = false;
    SettingValues settings;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("MODEL", options->model, "a .desirepath file")->type_name("FILE")->required();
  std::shared_ptr<RawTableArguments> table;
  if (query.cohort != CohortUse::none) {
    CLI::Option* cohort = verb.app->add_option("COHORT", options->cohort, query.cohort_help)->type_name("FILE");
    if (query.cohort == CohortUse::required) cohort->required();
  }
  if (query.takes_evidence) {
    verb.app
        ->add_option("--given", options->given,
                     "table student,period,course,taken of what is known (taken 1 or 0; course * with 0: nothing else "
                     "in that period)")
        ->type_name("FILE");
  }
  const std::vector<Setting> settings = list_settings(query.settings);
  add_settings(*verb.app, settings, options->settings);
  if (std::ranges::find(settings, "name", &Setting::name) != settings.end()) {
    verb.app->add_option("--names", options->names, "table period,state,name of what states are called")
        ->type_name("FILE");
  }
  if (query.cohort != CohortUse::none) {
    verb.app->add_flag("--ignore-unseen", options->ignore_unseen, "leave out courses the model does not know");
    table = add_raw_table_options(*verb.app);
  }
  verb.run = [&verb, &query, options, table] {
    Console& console = *verb.console;
    const StoredModel stored = load_model(options->model);
    std::optional<Cohort> cohort;
    if (!options->cohort.empty()) {
      const UnseenCourses unseen = options->ignore_unseen ? UnseenCourses::ignore
                                   : console.verbose      ? UnseenCourses::refuse_by_name
                                                          : UnseenCourses::refuse;
      cohort = open_aligned_cohort(options->cohort, stored.model->schema(), unseen, "the model does not know", *table,
                                   console);
    }
    if (!options->names.empty()) add_names(options->names, options->settings);
    std::optional<EvidenceBatch> given;
    if (!options->given.empty()) {
      if (cohort) throw OptionError("--given and a COHORT both say what is known: give one of them");
      given = evidence_from_table(stored.model->schema(), read_small_table(options->given));
    }
    const Executor executor = console.executor(query.name);
    const Answer answer = query.ask({stored, cohort ? &*cohort : nullptr, given ? &*given : nullptr, options->settings,
                                     console.csv && cohort, !console.csv && !console.json, RandomStream(console.seed),
                                     executor, console.progress_sink()});
    console.end_progress();
    console.show(query.name, answer);
  };
}

}  // namespace

void add_queries(Program& program) {
  for (const Query& query : query_catalog())
    add_query(program, query);
}

}  // namespace desirepath::app
