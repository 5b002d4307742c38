#include "desirepath/ingest/table_options.h"

#include <algorithm>

#include <toml++/toml.h>

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/decimal.h"
#include "desirepath/ingest/missing_values.h"
#include "desirepath/ingest/presets.h"

namespace desirepath::inline ingest {

std::string to_text(const Delimiter& delimiter) {
  return delimiter.character == '\t' ? "tab" : std::string(1, delimiter.character);
}

void from_text(std::string_view text, Delimiter& delimiter) {
  if (text == "tab" || text == "\\t") text = "\t";
  if (text.size() != 1) throw OptionError(concat(setting_name("delimiter"), " must be one character or 'tab'"));
  delimiter.character = text[0];
}

std::string to_text(const PassMark& mark) {
  return concat(mark.low_is_good ? "<=" : "", shortest(mark.mark));
}

void from_text(std::string_view text, PassMark& mark) {
  text = trimmed(text);
  mark.low_is_good = text.starts_with("<=");
  const auto number = decimal_in(trimmed(text.substr(mark.low_is_good ? 2 : 0)));
  if (!number)
    throw OptionError(concat(setting_name("pass-mark"), " must be a number, or <= and one where low is good"));
  mark.mark = *number;
}

void TableOptions::declare(SettingVisitor& visit) {
  const auto reading = [&](Setting info, auto& field) { visit(info.in("Reading a raw table"), field); };
  reading(Setting("map", "a column of this program from the file's, by name or SQL expression; repeatable")
              .taking("COLUMN=EXPRESSION"),
          map);
  reading(Setting("where",
                  "SQL condition: on the columns of a raw table, or, of a cohort file, on the student attributes and "
                  "student, entry, periods, first_period, last_period, enrollments")
              .taking("CONDITION"),
          where);
  std::vector<std::string> formats;
  for (const Preset& preset : presets())
    formats.push_back(concat(preset.name, " (", preset.what, ")"));
  reading(Setting("format", "form of the file, else told by its columns: " + join(formats, ", ")).taking("NAME"),
          format);
  reading(Setting("encoding", "of a text file, else detected").taking("NAME"), encoding);
  reading(Setting("delimiter", "of a text file: one character or 'tab', else found").taking("CHARACTER"), delimiter);
  reading(Setting("table", "of a DuckDB file with several, or the sheet of a workbook").taking("NAME"), table);
  reading(Setting("missing", "texts that stand for a missing value, in every column; an empty cell always does"),
          missing);
  reading(Setting("wide", "the table has a row a student and a column a course, or a course and period (MATH 101@2)"),
          wide);
  reading(Setting("wide-cells", concat("what the cells of ", setting_name("wide"),
                                       " are: whether a course was taken, or the period in which it was")),
          wide_cells);
  reading(Setting("join", concat("a further table whose columns are added to each row, by those of ",
                                 setting_name("on"), "; repeatable"))
              .taking("FILE")
              .undivided(),
          joins);
  reading(
      Setting("on", concat("column that ", setting_name("join"),
                           " goes by, NAME=OTHER where the two tables call it differently, A+B for two; one for all of "
                           "them, or one for each")),
      on);
  reading(Setting("courses",
                  "course list: course,label,subject,school,concentration,prerequisites,...; listed courses exist even "
                  "if nobody took them"),
          courses_file);
  reading(Setting("labels", concat("titles of courses: course,label,...; like ", setting_name("courses"),
                                   ", but adds no course")),
          labels_file);
  reading(Setting("aliases", "renamed and cross-listed courses: alias,course"), aliases_file);
  reading(Setting("max-bad", "share of bad rows over which the run stops").at_least(0).at_most(1).taking("SHARE"),
          max_bad);

  const auto rule = [&](Setting info, auto& field) {
    visit(info.in("Periods, rows and students of a raw table"), field);
  };
  rule(Setting("periods", "where periods come from (auto: the period column, else years since entry, from the terms)"),
       periods);
  rule(Setting("terms", "house term codes: code,year[,order][,summer] or code,term"), terms_file);
  rule(Setting("summer-terms", "codes behind the year that mean summer"), summer_codes);
  rule(Setting("year-starts", "month in which an academic year begins, for terms that are months or dates (8)")
           .at_least(1)
           .at_most(12),
       year_starts);
  rule(Setting("keep-periods", "periods kept (all where given; 4 years or 8 terms since entry)").at_least(1),
       keep_periods);
  rule(Setting("later", "rows behind the last period kept"), later);
  rule(Setting("absent",
               "what a period without rows means (auto: before entry, away, left or not yet, by the calendar of the "
               "terms, and unknown without one; left: the same, but left without a calendar; unknown: always unknown)"),
       absent);
  rule(Setting("data-end",
               "last term of the data (otherwise the last with at least a third of the rows of the same term one year "
               "earlier); later periods are not yet over")
           .taking("TERM"),
       data_end);
  rule(Setting("finished",
               "column that says who graduated (yes, 1, a degree, a date), or an SQL condition; they finished rather "
               "than left")
           .taking("CONDITION"),
       finished);
  rule(Setting("summer", "summer terms"), summer);
  rule(Setting("withdrawn", "rows with a withdrawal grade"), withdrawn);
  rule(Setting("withdrawn-grades", "grades that mean withdrawn (W, WD, withdrawn, dropped, ...)"), withdrawn_grades);
  rule(Setting("passed-only", "drop rows with a failing grade"), passed_only);
  rule(Setting("failing-grades", "grades that mean failed (F, NC, NP, U, I, fail, ...)"), failing_grades);
  rule(Setting("pass-mark", "number from which a grade is passed; '<=4' where low numbers are good").taking("NUMBER"),
       pass_mark);
  rule(Setting("repeats", "a course in several periods (keep: in each)"), repeats);
  rule(Setting("part-time", "periods under one of the next two bounds"), part_time);
  rule(Setting("full-time-courses", "a period with fewer courses is part-time").at_least(0), full_time_courses);
  rule(Setting("full-time-units", "a period with fewer units is part-time").at_least(0), full_time_units);
  rule(Setting("min-periods", "keep students present in at least this many periods").at_least(1), min_periods);
  rule(Setting("min-takers", "drop courses with fewer students (10, but 1 where a table is only asked about)")
           .at_least(0),
       min_takers);
}

void TableOptions::validate() const {
  check_settings(*this);
  const bool bounded = full_time_courses > 0 || full_time_units > 0;
  if (part_time != PartTimeRule::keep && !bounded) {
    throw OptionError(concat(setting_name("part-time"), " needs ", setting_name("full-time-courses"), " or ",
                             setting_name("full-time-units"), ", the bound under which a period is part-time"));
  }
  if (std::ranges::any_of(missing, [](const std::string& word) { return word.size() > MissingValues::longest; }))
    throw OptionError(concat(setting_name("missing"), " takes words of at most ", MissingValues::longest, " bytes"));
  if (wide_cells == WideCells::period && !wide)
    throw OptionError(concat(setting_name("wide-cells"), " is for ", setting_name("wide"), " tables"));
  if (!finished.empty() && map.contains("finished"))
    throw OptionError(concat(setting_name("finished"), " and ", setting_name("map"), " finished=... say the same"));
  if (joins.empty() != on.empty())
    throw OptionError(concat(setting_name("join"), " and ", setting_name("on"),
                             " go together: a table, and the column it is joined by"));
  if (on.size() > 1 && on.size() != joins.size()) {
    throw OptionError(concat(setting_name("on"), " names ", on.size(), " columns for ",
                             counted(std::ssize(joins), "table", "tables"), "; give one, or one for each ",
                             setting_name("join")));
  }
}

namespace {

/// Nothing for what no setting takes: a date, a list of numbers.
SettingValue value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* array = node.as_array()) {
    std::vector<std::string> list;
    for (const toml::node& element : *array) {
      if (!element.is_string()) return {};
      list.push_back(element.as_string()->get());
    }
    return list;
  }
  if (const auto* table = node.as_table()) {
    std::map<std::string, std::string> pairs;
    for (const auto& [key, element] : *table) {
      if (!element.is_string()) return {};
      pairs.emplace(key.str(), element.as_string()->get());
    }
    return pairs;
  }
  return {};
}

/// Sets the fields a TOML table names.
class MappingReader : public SettingVisitor {
 public:
  MappingReader(const toml::table& table, const std::string& file) : table_(table), file_(file) {}

  void refuse_unknown() const {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known_, key.str()) == known_.end())
        throw InputError(position_of(node), concat("no setting '", key.str(), "'", did_you_mean(key.str(), known_)));
    }
  }

 protected:
  void visit(const Setting& info, const SettingField& field) override {
    known_.push_back(info.name);
    const toml::node* node = table_.get(info.name);
    if (node == nullptr) return;
    SettingValue value = value_of(*node);
    if (info.takes == "NUMBER" && info.kind == SettingKind::text && value.index() != 0) value = setting_text(value);
    const auto from_here = [&](std::string& path) {
      path = (std::filesystem::path(file_).parent_path() / path).string();
    };
    if (auto* path = std::get_if<std::string>(&value); path != nullptr && info.kind == SettingKind::file)
      from_here(*path);
    if (auto* paths = std::get_if<std::vector<std::string>>(&value); paths != nullptr && info.takes == "FILE")
      std::ranges::for_each(*paths, from_here);
    try {
      field.set(value);
    } catch (const OptionError& error) {
      throw InputError(position_of(*node), render_settings(error.marked(), "'", "'"));
    }
  }

 private:
  SourcePosition position_of(const toml::node& node) const {
    return {file_, node.source().begin.line, node.source().begin.column};
  }

  const toml::table& table_;
  const std::string& file_;
  std::vector<std::string> known_;
};

}  // namespace

TableOptions parse_mapping(const std::string& text, const std::string& file) {
  toml::table table;
  try {
    table = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    // toml++ describes the fault without quoting the file.
    throw InputError({file, error.source().begin.line, error.source().begin.column},
                     concat("not valid TOML: ", error.description()));
  }
  TableOptions options;
  MappingReader reader(table, file);
  options.declare(reader);
  reader.refuse_unknown();
  return options;
}

TableOptions read_mapping_file(const std::filesystem::path& path) {
  return parse_mapping(read_text_file(path), path.string());
}

}  // namespace desirepath::inline ingest
