// How a raw table is to be understood: columns, filters, rules. The same on every command that takes one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace desirepath::inline ingest {

enum class PeriodRule { automatic, as_given, years_since_entry, terms_since_entry };
enum class SummerRule { keep, drop };
enum class LaterRule { drop, last };  // periods behind the last one kept
enum class PartTimeRule { keep, drop_periods, drop_students };
enum class AbsentRule { unknown, left };      // what a missing later period means
enum class RepeatRule { keep, first, last };  // a course in more than one period
enum class WithdrawnRule { keep, drop };

struct TableOptions {
  // Reading.
  std::string encoding;                    // empty: detect
  std::optional<char> delimiter;           // empty: sniff
  std::string table;                       // of a DuckDB file that holds several
  std::string format;                      // name of a preset; empty: by the columns
  std::map<std::string, std::string> map;  // canonical column -> column name or SQL expression
  std::string where;                       // SQL condition

  // Periods.
  PeriodRule periods = PeriodRule::automatic;
  std::filesystem::path terms_file;
  std::vector<std::string> summer_codes;
  std::optional<int> keep_periods;  // none: all where given, 4 years or 8 terms where counted from entry
  LaterRule later = LaterRule::drop;
  AbsentRule absent = AbsentRule::unknown;

  // Rows.
  SummerRule summer = SummerRule::keep;
  WithdrawnRule withdrawn = WithdrawnRule::keep;
  bool passed_only = false;
  std::vector<std::string> failing_grades;    // empty: the usual ones
  std::vector<std::string> withdrawn_grades;  // empty: the usual ones
  RepeatRule repeats = RepeatRule::keep;
  std::filesystem::path aliases_file;

  // Students.
  PartTimeRule part_time = PartTimeRule::keep;
  int full_time_courses = 0;  // a period with fewer is part-time; 0: not counted
  double full_time_units = 0;
  int min_periods = 1;

  // Courses.
  std::filesystem::path courses_file;
  int min_takers = 10;

  double max_bad = 0.01;
  int threads = 1;

  /// Throws OptionError for combinations that make no sense.
  void validate() const;
};

/// Sets what a TOML file says, under the names of the command line's options. Throws InputError with file:line.
void merge_mapping_file(const std::filesystem::path& path, TableOptions& options);
/// The same from text, for tests and fuzzing.
void merge_mapping_text(const std::string& text, const std::string& file, TableOptions& options);

/// A value by its command line name, or nothing: "years-since-entry", "drop" ...
template <class Enum>
std::optional<Enum> parse_rule(const std::string& name);

/// Command line names of a rule's values, in order.
template <class Enum>
const std::vector<std::string>& rule_names();

}  // namespace desirepath::inline ingest
