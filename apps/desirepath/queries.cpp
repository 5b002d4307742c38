// Every query of the catalog as a command.
#include <algorithm>
#include <filesystem>

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

/// The setting names a file among its conditions NAME=VALUE: that is left out of it. Empty: none.
std::string take_evidence_file(SettingValues& settings) {
  const auto given = settings.find("given");
  if (given == settings.end()) return {};
  auto& items = std::get<std::vector<std::string>>(given->second);
  const auto is_file = [](const std::string& item) {
    return item.find('=') == std::string::npos || std::filesystem::exists(item);
  };
  const auto file = std::ranges::find_if(items, is_file);
  if (file == items.end()) return {};
  std::string name = *file;
  items.erase(file);
  if (std::ranges::any_of(items, is_file)) throw OptionError("--given: only one table says what is known");
  if (items.empty()) settings.erase(given);
  return name;
}

void add_query(Program& program, const Query& query) {
  Verb& verb = program.add({query.name, query.what, query.examples, /*prints_table=*/true});
  struct Options {
    std::string model, cohort, names;
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
    const std::string file = query.takes_evidence ? take_evidence_file(options->settings) : "";
    if (!file.empty()) {
      if (cohort) throw OptionError("--given FILE and a COHORT both say what is known: give one of them");
      given = evidence_from_table(stored.model->schema(), read_small_table(file));
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
