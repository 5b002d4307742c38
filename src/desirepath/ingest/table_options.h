// How a raw table is to be understood: columns, filters, rules. The same on every command that takes one and, under the
// same names, in a mapping file.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/settings.h"

namespace desirepath::inline ingest {

enum class PeriodRule { automatic, as_given, years_since_entry, terms_since_entry };
inline std::span<const std::string_view> value_names(PeriodRule) {
  static constexpr std::array<std::string_view, 4> names = {"auto", "as-given", "years-since-entry",
                                                            "terms-since-entry"};
  return names;
}
/// What becomes of rows of a kind.
enum class RowRule { keep, drop };
inline std::span<const std::string_view> value_names(RowRule) {
  static constexpr std::array<std::string_view, 2> names = {"keep", "drop"};
  return names;
}
/// Periods behind the last one kept.
enum class LaterRule { drop, last };
inline std::span<const std::string_view> value_names(LaterRule) {
  static constexpr std::array<std::string_view, 2> names = {"drop", "last"};
  return names;
}
enum class PartTimeRule { keep, drop_periods, drop_students };
inline std::span<const std::string_view> value_names(PartTimeRule) {
  static constexpr std::array<std::string_view, 3> names = {"keep", "drop-periods", "drop-students"};
  return names;
}
/// What a period without rows means: by the calendar; the same, and that the student left where there is none; nothing.
enum class AbsentRule { automatic, left, unknown };
inline std::span<const std::string_view> value_names(AbsentRule) {
  static constexpr std::array<std::string_view, 3> names = {"auto", "left", "unknown"};
  return names;
}
/// A course in more than one period.
enum class RepeatRule { keep, first, last };
inline std::span<const std::string_view> value_names(RepeatRule) {
  static constexpr std::array<std::string_view, 3> names = {"keep", "first", "last"};
  return names;
}

/// What the cells of a table with a row per student say of a course.
enum class WideCells { taken, period };
inline std::span<const std::string_view> value_names(WideCells) {
  static constexpr std::array<std::string_view, 2> names = {"taken", "period"};
  return names;
}

/// What parts the cells of a text file; people write "tab" for one.
struct Delimiter {
  char character = ',';
};
std::string to_text(const Delimiter& delimiter);
void from_text(std::string_view text, Delimiter& delimiter);

/// Numbers that pass: "5" from it up, "<=4" down from it, as where 1 is the best.
struct PassMark {
  double mark = 0;
  bool low_is_good = false;
  bool passes(double grade) const { return low_is_good ? grade <= mark : grade >= mark; }
};
std::string to_text(const PassMark& mark);
void from_text(std::string_view text, PassMark& mark);

struct TableOptions {
  // Reading.
  std::string encoding;                    // empty: detect
  std::optional<Delimiter> delimiter;      // none: sniff
  std::string table;                       // of a file that holds several
  std::string format;                      // name of a preset; empty: by the columns
  std::map<std::string, std::string> map;  // canonical column -> column name or SQL expression
  std::string where;                       // SQL condition
  std::filesystem::path courses_file;
  std::filesystem::path aliases_file;
  std::filesystem::path labels_file;                              // of courses that others name
  std::vector<std::string> missing = {"NA", "N/A", "NULL", "-"};  // what stands for a missing value
  bool wide = false;                                              // a row a student
  WideCells wide_cells = WideCells::taken;
  std::vector<std::string> joins;  // tables that say more of a row
  std::vector<std::string> on;     // columns they are joined by
  double max_bad = 0.01;

  // Periods.
  PeriodRule periods = PeriodRule::automatic;
  std::filesystem::path terms_file;
  std::vector<std::string> summer_codes;
  std::optional<int> year_starts;   // month; none: August
  std::optional<int> keep_periods;  // none: all where given, 4 years or 8 terms where counted from entry
  LaterRule later = LaterRule::drop;
  AbsentRule absent = AbsentRule::automatic;
  std::string data_end;  // label of a term; empty: told by the rows
  std::string finished;  // column or SQL condition: the student graduated

  // Rows.
  RowRule summer = RowRule::keep;
  RowRule withdrawn = RowRule::keep;
  std::vector<std::string> withdrawn_grades;  // empty: the usual ones
  bool passed_only = false;
  std::vector<std::string> failing_grades;  // empty: the usual ones
  std::optional<PassMark> pass_mark;
  RepeatRule repeats = RepeatRule::keep;

  // Students and courses.
  PartTimeRule part_time = PartTimeRule::keep;
  int full_time_courses = 0;  // a period with fewer is part-time; 0: not counted
  double full_time_units = 0;
  int min_periods = 1;
  std::optional<int> min_takers;  // none: see least_takers

  int least_takers() const { return min_takers.value_or(10); }
  void declare(SettingVisitor& visit);
  /// Throws OptionError for values out of bounds and combinations that make no sense.
  void validate() const;
};

/// What a TOML file says under the names of the settings; file names in it are meant from where it lies. Throws
/// InputError with file:line:column.
TableOptions read_mapping_file(const std::filesystem::path& path);
TableOptions parse_mapping(const std::string& text, const std::string& file);

}  // namespace desirepath::inline ingest
