#include "raw_table.h"

#include <CLI/CLI.hpp>

#include "desirepath/core/archive.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/presets.h"
#include "desirepath/ingest/student_selection.h"

namespace desirepath::app {

namespace {
constexpr const char* reading_group = "Reading a raw table";
constexpr const char* rules_group = "Periods, rows and students of a raw table";
}  // namespace

std::shared_ptr<RawTableArguments> add_raw_table_options(CLI::App& app) {
  auto a = std::make_shared<RawTableArguments>();
  a->app = &app;
  const std::string reading = reading_group, rules = rules_group;
  app.add_option("--mapping", a->mapping_file, "TOML file with any of the options below; the command line wins")
      ->type_name("FILE")
      ->group(reading);
  app.add_option("--map", a->map, "a column of this program from the file's, by name or SQL expression; repeatable")
      ->type_name("COLUMN=EXPRESSION")
      ->group(reading)
      ->allow_extra_args(false);
  app.add_option("--where", a->where,
                 "SQL condition: on the columns of a raw table, or, of a cohort file, on the student attributes and "
                 "student, entry, periods, first_period, last_period, enrollments")
      ->type_name("CONDITION")
      ->group(reading);
  std::vector<std::string> formats;
  for (const Preset& preset : presets())
    formats.push_back(concat(preset.name, " (", preset.what, ")"));
  app.add_option("--format", a->format, "form of the file, else told by its columns: " + join(formats, ", "))
      ->type_name("NAME")
      ->group(reading);
  app.add_option("--encoding", a->encoding, "of a text file, else detected")->type_name("NAME")->group(reading);
  app.add_option("--delimiter", a->delimiter, "of a text file: one character or 'tab', else found")
      ->type_name("CHARACTER")
      ->group(reading);
  app.add_option("--table", a->table, "of a DuckDB file with several")->type_name("NAME")->group(reading);
  app.add_option("--courses", a->courses,
                 "course list: course,label,subject,school,concentration,prerequisites,...; listed courses exist even "
                 "if nobody took them")
      ->type_name("FILE")
      ->group(reading);
  app.add_option("--aliases", a->aliases, "renamed and cross-listed courses: alias,course")
      ->type_name("FILE")
      ->group(reading);
  app.add_option("--max-bad", a->max_bad, "share of bad rows over which the run stops (0.01)")
      ->type_name("SHARE")
      ->group(reading);

  const auto add_rule = [&](const char* name, std::string& target, const std::vector<std::string>& names,
                            const char* what) {
    app.add_option(name, target, what)->type_name(join(names, "|"))->group(rules);
  };
  const auto add_count = [&](const char* name, auto& target, const char* what) {
    app.add_option(name, target, what)->type_name("NUMBER")->group(rules);
  };
  const auto add_list = [&](const char* name, std::vector<std::string>& target, const char* what) {
    app.add_option(name, target, what)->type_name("LIST")->delimiter(',')->allow_extra_args(false)->group(rules);
  };
  add_rule("--periods", a->periods, rule_names<PeriodRule>(),
           "where periods come from (auto: the period column, else years since entry, from the terms)");
  app.add_option("--terms", a->terms, "house term codes: code,year[,order][,summer] or code,term")
      ->type_name("FILE")
      ->group(rules);
  add_list("--summer-terms", a->summer_terms, "codes behind the year that mean summer");
  add_count("--keep-periods", a->keep_periods, "periods kept (all where given; 4 years or 8 terms since entry)");
  add_rule("--later", a->later, rule_names<LaterRule>(), "rows behind the last period kept (drop)");
  add_rule("--absent", a->absent, rule_names<AbsentRule>(), "what a missing later period means (unknown)");
  add_rule("--summer", a->summer, rule_names<SummerRule>(), "summer terms (keep)");
  add_rule("--withdrawn", a->withdrawn, rule_names<WithdrawnRule>(), "rows with a withdrawal grade (keep)");
  add_list("--withdrawn-grades", a->withdrawn_grades, "grades that mean withdrawn (W, WD, withdrawn, dropped, ...)");
  app.add_flag("--passed-only", a->passed_only, "drop rows with a failing grade")->group(rules);
  add_list("--failing-grades", a->failing_grades, "grades that mean failed (F, NC, NP, U, I, fail, ...)");
  add_rule("--repeats", a->repeats, rule_names<RepeatRule>(), "a course in several periods (keep: in each)");
  add_rule("--part-time", a->part_time, rule_names<PartTimeRule>(), "periods under one of the next two bounds (keep)");
  add_count("--full-time-courses", a->full_time_courses, "a period with fewer courses is part-time");
  add_count("--full-time-units", a->full_time_units, "a period with fewer units is part-time");
  add_count("--min-periods", a->min_periods, "keep students present in at least this many periods (1)");
  add_count("--min-takers", a->min_takers, "drop courses with fewer students (10 in check and prepare, else 1)");
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

namespace {

Cohort open_cohort_file(const std::string& path, const RawTableArguments& arguments, const Console& console) {
  for (const CLI::Option* option : arguments.app->get_options()) {
    const bool for_tables = option->get_group() == reading_group || option->get_group() == rules_group;
    if (for_tables && option->count() > 0 && option->get_name() != "--where") {
      console.warn(concat(option->get_name(), " is for raw tables and changes nothing in ", path,
                          ", which is prepared already"));
    }
  }
  Cohort cohort = Cohort::load(path);
  if (arguments.where.empty()) return cohort;
  Cohort selected = select_students(cohort, arguments.where);
  console.say(concat("--where selects ", with_separators(selected.student_count()), " of ",
                     counted(cohort.student_count(), "student", "students")));
  return selected;
}

}  // namespace

Cohort open_cohort(const std::string& path, const RawTableArguments& arguments, Console& console) {
  if (ArchiveReader::looks_like_archive(path)) return open_cohort_file(path, arguments, console);
  Prepared prepared = prepare_cohort({path}, arguments.to_options(1, console), console.progress_sink());
  console.end_progress();
  if (prepared.report.rows_rejected() > 0) {
    console.warn(concat(counted(prepared.report.rows_rejected(), "row", "rows"), " of ",
                        with_separators(prepared.report.rows_in), " rejected; 'desirepath check' says why"));
  }
  return std::move(prepared.cohort);
}

}  // namespace desirepath::app
