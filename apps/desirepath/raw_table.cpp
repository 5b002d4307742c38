#include "raw_table.h"

#include <CLI/CLI.hpp>

#include "desirepath/core/archive.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/presets.h"

namespace desirepath::app {

std::shared_ptr<RawTableArguments> add_raw_table_options(CLI::App& app) {
  auto a = std::make_shared<RawTableArguments>();
  const auto list = [](const std::vector<std::string>& names) { return join(names, "|"); };
  const std::string reading = "Reading a raw table", rules = "Periods, rows and students of a raw table";
  app.add_option("--mapping", a->mapping_file, "TOML file with any of the options below; the command line wins")
      ->group(reading);
  app.add_option("--map", a->map, "COLUMN=EXPRESSION: a column name or an SQL expression; repeatable")
      ->group(reading)
      ->allow_extra_args(false);
  app.add_option("--where", a->where, "SQL condition on the file's columns")->group(reading);
  std::vector<std::string> formats;
  for (const Preset& preset : presets())
    formats.push_back(concat(preset.name, " (", preset.what, ")"));
  app.add_option("--format", a->format, "form of the file, else told by its columns: " + join(formats, ", "))
      ->group(reading);
  app.add_option("--encoding", a->encoding, "else detected")->group(reading);
  app.add_option("--delimiter", a->delimiter, "one character or 'tab', else sniffed")->group(reading);
  app.add_option("--table", a->table, "table of a DuckDB file")->group(reading);
  app.add_option("--courses", a->courses,
                 "course list: course,label,subject,school,concentration,prerequisites,...; listed courses exist even "
                 "if nobody took them")
      ->group(reading);
  app.add_option("--aliases", a->aliases, "renamed and cross-listed courses: alias,course")->group(reading);
  app.add_option("--max-bad", a->max_bad, "share of bad rows that stops the run (0.01)")->group(reading);

  app.add_option("--periods", a->periods, list(rule_names<PeriodRule>()))->group(rules);
  app.add_option("--terms", a->terms, "house term codes: code,year[,order][,summer] or code,term")->group(rules);
  app.add_option("--summer-terms", a->summer_terms, "codes behind the year that mean summer")
      ->delimiter(',')
      ->group(rules);
  app.add_option("--keep-periods", a->keep_periods,
                 "number of periods (all where given; 4 years or 8 terms since entry)")
      ->group(rules);
  app.add_option("--later", a->later, list(rule_names<LaterRule>()) + ": rows behind the last period (drop)")
      ->group(rules);
  app.add_option("--absent", a->absent,
                 list(rule_names<AbsentRule>()) + ": what a missing later period means (unknown)")
      ->group(rules);
  app.add_option("--summer", a->summer, list(rule_names<SummerRule>()) + ": summer terms (keep)")->group(rules);
  app.add_option("--withdrawn", a->withdrawn,
                 list(rule_names<WithdrawnRule>()) + ": rows with a withdrawal grade (keep)")
      ->group(rules);
  app.add_option("--withdrawn-grades", a->withdrawn_grades, "grades that mean withdrawn")->delimiter(',')->group(rules);
  app.add_flag("--passed-only", a->passed_only, "drop rows with a failing grade")->group(rules);
  app.add_option("--failing-grades", a->failing_grades, "grades that mean failed")->delimiter(',')->group(rules);
  app.add_option("--repeats", a->repeats, list(rule_names<RepeatRule>()) + ": a course in several periods (keep)")
      ->group(rules);
  app.add_option("--part-time", a->part_time, list(rule_names<PartTimeRule>()) + " (keep)")->group(rules);
  app.add_option("--full-time-courses", a->full_time_courses, "a period with fewer courses is part-time")->group(rules);
  app.add_option("--full-time-units", a->full_time_units, "a period with fewer units is part-time")->group(rules);
  app.add_option("--min-periods", a->min_periods, "keep students present in at least this many periods (1)")
      ->group(rules);
  app.add_option("--min-takers", a->min_takers, "drop courses with fewer students (10 in prepare, else 1)")
      ->group(rules);
  return a;
}

TableOptions RawTableArguments::to_options(int default_min_takers, const Console& console) const {
  TableOptions options;
  options.min_takers = default_min_takers;
  options.threads = console.thread_count();
  if (!mapping_file.empty()) merge_mapping_file(mapping_file, options);
  for (const std::string& entry : map) {
    const std::size_t at = entry.find('=');
    if (at == std::string::npos || at == 0)
      throw OptionError(concat("--map ", entry, ": write it as COLUMN=EXPRESSION"));
    options.map[std::string(trimmed(entry.substr(0, at)))] = std::string(trimmed(entry.substr(at + 1)));
  }
  const auto set = [](std::string& target, const std::string& value) {
    if (!value.empty()) target = value;
  };
  const auto set_path = [](std::filesystem::path& target, const std::string& value) {
    if (!value.empty()) target = value;
  };
  const auto set_rule = [](auto& target, const std::string& value, const char* option) {
    using Rule = std::remove_reference_t<decltype(target)>;
    if (value.empty()) return;
    const auto rule = parse_rule<Rule>(value);
    if (!rule) throw OptionError(concat(option, " must be one of ", join(rule_names<Rule>(), ", ")));
    target = *rule;
  };
  set(options.where, where);
  set(options.format, format);
  set(options.encoding, encoding);
  set(options.table, table);
  if (!delimiter.empty()) {
    const std::string character = delimiter == "tab" || delimiter == "\\t" ? "\t" : delimiter;
    if (character.size() != 1) throw OptionError("--delimiter must be one character or 'tab'");
    options.delimiter = character[0];
  }
  set_path(options.courses_file, courses);
  set_path(options.aliases_file, aliases);
  set_path(options.terms_file, terms);
  set_rule(options.periods, periods, "--periods");
  set_rule(options.later, later, "--later");
  set_rule(options.absent, absent, "--absent");
  set_rule(options.summer, summer, "--summer");
  set_rule(options.withdrawn, withdrawn, "--withdrawn");
  set_rule(options.repeats, repeats, "--repeats");
  set_rule(options.part_time, part_time, "--part-time");
  if (!summer_terms.empty()) options.summer_codes = summer_terms;
  if (!failing_grades.empty()) options.failing_grades = failing_grades;
  if (!withdrawn_grades.empty()) options.withdrawn_grades = withdrawn_grades;
  if (keep_periods) options.keep_periods = keep_periods;
  if (full_time_courses) options.full_time_courses = *full_time_courses;
  if (full_time_units) options.full_time_units = *full_time_units;
  if (min_periods) options.min_periods = *min_periods;
  if (min_takers) options.min_takers = *min_takers;
  if (max_bad) options.max_bad = *max_bad;
  options.passed_only = options.passed_only || passed_only;
  return options;
}

Cohort open_cohort(const std::string& path, const RawTableArguments& arguments, Console& console) {
  if (ArchiveReader::looks_like_archive(path)) return Cohort::load(path);
  Prepared prepared = prepare_cohort({path}, arguments.to_options(1, console), console.progress_sink());
  console.end_progress();
  if (prepared.report.rows_rejected() > 0) {
    console.warn(concat(counted(prepared.report.rows_rejected(), "row", "rows"), " of ",
                        with_separators(prepared.report.rows_in), " rejected; 'desirepath check' says why"));
  }
  return std::move(prepared.cohort);
}

}  // namespace desirepath::app
