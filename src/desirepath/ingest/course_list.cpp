#include "desirepath/ingest/course_list.h"

#include <algorithm>
#include <set>

#include "desirepath/core/atomic_file.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/byte_source.h"
#include "desirepath/ingest/curriculum_file.h"

namespace desirepath::inline ingest {

std::vector<Course> read_course_file(const std::filesystem::path& path, const ColumnNames& names,
                                     const MissingValues& missing) {
  // What can be read once alone is a table.
  if (std::filesystem::is_regular_file(path) && detect_file_kind(path).kind == FileKind::text) {
    if (auto courses = courses_from_curriculum(read_text_file(path), path.string())) return *std::move(courses);
  }
  return courses_from_table(read_small_table(path.string()), names, missing);
}

std::vector<Course> courses_from_table(const SmallTable& table, const ColumnNames& names,
                                       const MissingValues& missing) {
  // As the user maps it, where the list has such a column; the expressions of an enrollment table name none.
  const auto find = [&](const std::string& role) -> std::optional<std::size_t> {
    const auto given = names.find(role);
    const auto mapped = given == names.end() ? table.columns.end() : std::ranges::find(table.columns, given->second);
    if (mapped != table.columns.end()) return static_cast<std::size_t>(mapped - table.columns.begin());
    return table.find(role);
  };
  const std::size_t name = find("course") ? *find("course") : table.require("course");
  const auto label = find("label") ? find("label") : table.find("title");
  const auto subject = find("subject"), school = find("school"), concentration = find("concentration"),
             prerequisites = find("prerequisites");
  const std::set<std::optional<std::size_t>> known = {name, label, subject, school, concentration, prerequisites};
  std::vector<Course> courses;
  std::set<std::string> seen;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    std::vector<std::string> row = table.rows[r];
    for (std::string& cell : row) {
      if (missing.contains(cell)) cell.clear();
    }
    const SourcePosition position{table.file, table.records[r], 0};
    Course course;
    course.name = row[name];
    if (course.name.empty()) throw InputError(position, "a course without a name");
    if (!seen.insert(course.name).second)
      throw InputError(position, concat("course '", course.name, "' is listed twice"));
    if (label) course.label = row[*label];
    if (subject) course.subject = row[*subject];
    if (school) course.school = row[*school];
    if (concentration) course.concentration = row[*concentration];
    if (prerequisites) {
      std::string list = row[*prerequisites];
      std::ranges::replace(list, '|', ';');
      for (const std::string& part : split(list, ';')) {
        if (!trimmed(part).empty()) course.prerequisites.emplace_back(trimmed(part));
      }
    }
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (!known.contains(c) && !row[c].empty()) course.attributes[normalised(table.columns[c])] = row[c];
    }
    courses.push_back(std::move(course));
  }
  return courses;
}

std::map<std::string, std::string> aliases_from_table(const SmallTable& table) {
  const std::size_t from = table.find("from") ? *table.find("from") : table.require("alias");
  const std::size_t to = table.find("to") ? *table.find("to") : table.require("course");
  std::map<std::string, std::string> direct;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const SourcePosition position{table.file, table.records[r], 0};
    const std::string &alias = table.rows[r][from], &course = table.rows[r][to];
    if (alias.empty() || course.empty()) throw InputError(position, "an alias and the course it stands for are needed");
    const auto [old, added] = direct.emplace(alias, course);
    if (!added && old->second != course)
      throw InputError(position, concat("alias '", alias, "' stands for two courses"));
  }
  std::map<std::string, std::string> resolved;
  for (const auto& [alias, course] : direct) {
    std::string target = course;
    std::size_t steps = 0;
    for (auto next = direct.find(target); next != direct.end() && next->second != target; next = direct.find(target)) {
      target = next->second;
      if (++steps > direct.size())
        throw InputError(concat(table.file, ": aliases go round in a circle at '", alias, "'"));
    }
    if (alias != target) resolved[alias] = target;
  }
  return resolved;
}

std::map<std::string, Term> terms_from_table(const SmallTable& table) {
  const std::size_t code = table.require("code");
  const auto year = table.find("year"), order = table.find("order"), summer = table.find("summer"),
             label = table.find("term");
  if (!year && !label) table.require("year");
  if (table.rows.empty()) throw InputError(concat(table.file, ": no term code is listed"));
  const TermRules labels;
  std::map<std::string, Term> terms;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& row = table.rows[r];
    const SourcePosition position{table.file, table.records[r], 0};
    Term term;
    if (year) {
      const auto value = number_in<int>(row[*year]);
      if (!value || *value < 1800 || *value > 2999) throw InputError(position, "year is not a calendar year");
      term.academic_year = *value;
    } else {
      const auto parsed = labels.parse(row[*label]);
      if (!parsed) throw InputError(position, "term is not understood");
      term = *parsed;
    }
    if (order) {
      const auto value = number_in<int>(row[*order]);
      if (!value || *value < 0 || *value > 9999)
        throw InputError(position, "order is not a whole number from 0 to 9999");
      term.order = *value;
    } else if (year) {
      term.order = static_cast<int>(r) % 10'000;  // as the file lists them
    }
    if (summer) {
      const std::string value = lower_case(row[*summer]);
      const auto is_one_of = [&](std::initializer_list<const char*> words) {
        return std::ranges::find(words, value) != words.end();
      };
      term.summer = is_one_of({"1", "true", "yes", "y", "x"});
      if (!term.summer && !is_one_of({"", "0", "false", "no", "n"}))
        throw InputError(position, "summer is neither yes nor no (1, 0)");
    }
    if (row[code].empty()) throw InputError(position, "a code is needed");
    if (!terms.emplace(row[code], term).second) throw InputError(position, "this code is listed twice");
  }
  return terms;
}

}  // namespace desirepath::inline ingest
