#include "desirepath/ingest/curriculum_file.h"

#include <algorithm>
#include <map>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/presets.h"

namespace desirepath::inline ingest {

namespace {

/// The file's rows need not be of one length, so they are no table; no field of it holds a line break.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_quote = line[i] == '"';
    if (is_quote && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (is_quote)
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else if (line[i] != '\r')
      fields.back() += line[i];
  }
  for (std::string& field : fields)
    field = trimmed(field);
  return fields;
}

struct CurriculumRow {
  std::map<std::string, std::string> field;  // by normalised column
  std::int64_t line;

  const std::string& operator[](const char* column) const {
    static const std::string none;
    const auto found = field.find(column);
    return found == field.end() ? none : found->second;
  }
  std::string name() const {
    return (*this)["number"].empty() ? "" : std::string(trimmed(concat((*this)["prefix"], " ", (*this)["number"])));
  }
};

std::vector<CurriculumRow> rows_of(const std::vector<std::string>& lines) {
  std::vector<CurriculumRow> rows;
  std::vector<std::string> columns;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    std::vector<std::string> fields = fields_of(lines[l]);
    if (normalised(fields[0]) == normalised("Course ID")) {
      columns = std::move(fields);
      std::ranges::transform(columns, columns.begin(), [](const std::string& name) { return normalised(name); });
      // Outcomes of courses are listed behind them, under the same first column.
      const bool is_outcomes = std::ranges::any_of(
          columns, [](const std::string& name) { return name.find("outcome") != std::string::npos; });
      if (is_outcomes) columns.clear();
    } else if (!columns.empty() && number_in<int>(fields[0])) {
      CurriculumRow row{{}, static_cast<std::int64_t>(l + 1)};
      for (std::size_t c = 0; c < std::min(columns.size(), fields.size()); ++c)
        row.field[columns[c]] = fields[c];
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

std::optional<std::vector<Course>> courses_from_curriculum(const std::string& text, const std::string& file) {
  const std::vector<std::string> lines = split(text, '\n');
  std::string_view first = lines.empty() ? std::string_view() : std::string_view(lines[0]);
  if (first.starts_with("\xEF\xBB\xBF")) first.remove_prefix(3);
  if (!normalised(fields_of(first)[0]).starts_with("curriculum")) return std::nullopt;
  const std::vector<CurriculumRow> rows = rows_of(lines);
  if (rows.empty()) throw InputError(concat(file, ": a Curricular Analytics file without courses"));
  const std::string id = normalised("Course ID"), label = normalised("Course Name"), units = normalised("Credit Hours"),
                    strict = normalised("Strict-Corequisites");
  std::map<std::string, std::string> name_of;  // by number in the file
  for (const CurriculumRow& row : rows)
    name_of[row[id.c_str()]] = row.name();
  const auto names = [&](const CurriculumRow& row, const std::string& list) {
    std::vector<std::string> found;
    for (const std::string& part : split(list, ';')) {
      if (trimmed(part).empty()) continue;
      const auto known = name_of.find(std::string(trimmed(part)));
      if (known == name_of.end())
        throw InputError({file, row.line, 0}, concat("course ", trimmed(part), " is required and not listed"));
      if (!known->second.empty()) found.push_back(known->second);
    }
    return found;
  };
  std::map<std::string, std::size_t> place;
  std::vector<Course> courses;
  for (const CurriculumRow& row : rows) {
    if (row.name().empty()) continue;
    if (!place.emplace(row.name(), courses.size()).second)
      throw InputError({file, row.line, 0}, concat("course '", row.name(), "' is listed twice"));
    Course course;
    course.name = row.name();
    course.label = row[label.c_str()];
    course.subject = row["prefix"];
    course.prerequisites = names(row, row["prerequisites"]);
    std::vector<std::string> together = names(row, row["corequisites"]);
    std::ranges::copy(names(row, row[strict.c_str()]), std::back_inserter(together));
    if (!together.empty()) course.attributes["corequisites"] = join(together, ";");
    if (!row[units.c_str()].empty()) course.attributes["units"] = row[units.c_str()];
    courses.push_back(std::move(course));
  }
  return courses;
}

}  // namespace desirepath::inline ingest
