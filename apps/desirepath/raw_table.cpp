#include "raw_table.h"

#include <CLI/CLI.hpp>

#include "setting_options.h"

#include "desirepath/core/archive.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/ingest/student_selection.h"

namespace desirepath::app {

std::shared_ptr<RawTableArguments> add_raw_table_options(CLI::App& app) {
  auto arguments = std::make_shared<RawTableArguments>();
  const std::vector<Setting> settings = list_settings(declaration_of<TableOptions>());
  app.add_option("--mapping", arguments->mapping, "TOML file with any of the options below; the command line wins")
      ->type_name("FILE")
      ->group(settings.front().group);
  add_settings(app, settings, arguments->given);
  return arguments;
}

TableOptions RawTableArguments::options() const {
  TableOptions options = mapping.empty() ? TableOptions() : read_mapping_file(mapping);
  auto mapped = options.map;
  read_settings([&](SettingVisitor& visit) { options.declare(visit); }, given);
  options.map.merge(mapped);  // column by column, those of the command line first
  return options;
}

namespace {

Cohort open_cohort_file(const std::string& path, const RawTableArguments& arguments, const Console& console) {
  const auto warn = [&](std::string_view name) {
    console.warn(
        concat(setting_name(name), " is for raw tables and changes nothing in ", path, ", which is prepared already"));
  };
  if (!arguments.mapping.empty()) warn("mapping");
  for (const auto& [name, value] : arguments.given) {
    if (name != "where") warn(name);
  }
  Cohort cohort = Cohort::load(path);
  if (cohort.status_basis() == StatusBasis::earlier_version) {
    console.say(concat(path,
                       " is of an earlier version and does not say who left, was away or is still to come as the "
                       "calendar has it; 'desirepath prepare' makes it again from the table"));
  }
  const auto where = arguments.given.find("where");
  const std::string condition = where == arguments.given.end() ? "" : setting_text(where->second);
  if (condition.empty()) return cohort;
  Cohort selected = select_students(cohort, condition);
  // A refusal that follows must not be answered here.
  const Disclosure disclosure = Disclosure().bound_to(cohort.min_cell());
  const auto all = static_cast<double>(cohort.student_count()), chosen = static_cast<double>(selected.student_count());
  console.say(concat(setting_name("where"), " selects ",
                     disclosure.allows(chosen, all) ? with_separators(selected.student_count())
                     : disclosure.allows(chosen)    ? concat("all but ", disclosure.few())
                                                    : disclosure.few(),
                     " of ", disclosure.allows(all) ? with_separators(cohort.student_count()) : disclosure.few(),
                     " students"));
  return selected;
}

}  // namespace

Cohort open_cohort(const std::string& path, const RawTableArguments& arguments, Console& console, TableUse use) {
  if (ArchiveReader::looks_like_archive(path)) return open_cohort_file(path, arguments, console);
  TableOptions options = arguments.options();
  const bool by_default = !options.min_takers;
  options.min_takers = use == TableUse::train ? options.least_takers() : options.min_takers.value_or(1);
  Prepared prepared = prepare_cohort({path}, options, console.executor("prepare"), console.progress_sink());
  console.end_progress();
  if (prepared.report.rows_rejected() > 0) {
    console.warn(concat(counted(prepared.report.rows_rejected(), "row", "rows"), " of ",
                        with_separators(prepared.report.rows_in), " rejected; 'desirepath check' says why"));
  }
  for (const std::string& note : prepared.report.notes)
    console.say(note);
  const std::vector<Stage>& stages = prepared.report.stages;
  for (std::size_t i = 1; by_default && i < stages.size(); ++i) {
    if (stages[i].rule.find("takers") == std::string::npos) continue;
    console.say(concat(counted(stages[i - 1].courses - stages[i].courses, "course", "courses"), " under ",
                       *options.min_takers, " takers dropped (", counted(stages[i].taken, "enrollment", "enrollments"),
                       "); ", setting_name("min-takers"), " 1 keeps them"));
  }
  return std::move(prepared.cohort);
}

Cohort align_cohort(const Cohort& cohort, const Schema& schema, UnseenCourses unseen, const std::string& whose,
                    const Console& console) {
  Aligned aligned = align_to(cohort, schema, unseen);
  if (aligned.ignored_courses > 0) {
    console.warn(concat(counted(aligned.ignored_enrollments, "enrollment", "enrollments"), " in ",
                        counted(aligned.ignored_courses, "course", "courses"), " ", whose, " are left out"));
  }
  return std::move(aligned.cohort);
}

Cohort open_aligned_cohort(const std::string& path, const Schema& schema, UnseenCourses unseen,
                           const std::string& whose, const RawTableArguments& arguments, Console& console) {
  return align_cohort(open_cohort(path, arguments, console), schema, unseen, whose, console);
}

}  // namespace desirepath::app
