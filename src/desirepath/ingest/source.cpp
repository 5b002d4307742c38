#include "desirepath/ingest/source.h"

#include <algorithm>
#include <array>
#include <set>

#include <glob.h>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/byte_source.h"
#include "desirepath/ingest/delimited_reader.h"
#include "desirepath/ingest/sql_table.h"
#include "desirepath/ingest/sql_words.h"
#include "desirepath/ingest/table_shapes.h"
#include "desirepath/ingest/workbook.h"

namespace desirepath::inline ingest {

std::vector<std::string> expand_sources(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    std::error_code ignored;
    const bool is_pattern = pattern.find_first_of("*?[") != std::string::npos;
    if (!is_pattern || std::filesystem::exists(pattern, ignored)) {
      files.push_back(pattern);
      continue;
    }
    glob_t found{};
    const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
    for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i)
      files.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (result != 0) throw FileError(concat("no file matches '", pattern, "'"));
  }
  std::set<std::string> seen;
  std::erase_if(files, [&](const std::string& file) { return !seen.insert(file).second; });
  return files;
}

namespace {

using namespace std::string_view_literals;

bool looks_like_data(const std::string& name) {
  const auto digits = std::ranges::count_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return digits >= 5 || static_cast<std::size_t>(digits) == name.size() || name.size() > 60;
}

bool is_known_name(const std::string& column) {
  static constexpr std::array small_tables = {"code"sv,          "year"sv,          "alias"sv, "label"sv,
                                              "concentration"sv, "prerequisites"sv, "taken"sv, "state"sv};
  const std::string name = normalised(column);
  return std::ranges::find(canonical_columns, name) != canonical_columns.end() ||
         std::ranges::find(small_tables, name) != small_tables.end() ||
         std::ranges::any_of(presets(), [&](const Preset& preset) {
           return std::ranges::find(preset.signature, name) != preset.signature.end();
         });
}

/// A first row that is data must not be quoted in a message: it may hold a student's id or name. So one is taken for
/// column names only where some are known.
bool looks_like_header(const std::vector<std::string>& columns) {
  return std::ranges::any_of(columns, is_known_name) && std::ranges::none_of(columns, looks_like_data);
}

std::string column_list(const std::vector<std::string>& columns) {
  if (columns.size() == 1)
    return concat("it has one column alone (is the delimiter another? ", setting_name("delimiter"), ")");
  if (!looks_like_header(columns)) return "its first line has no column name known here (is it data?)";
  std::vector<std::string> disclosed(columns.begin(),
                                     columns.begin() + std::min<std::ptrdiff_t>(20, std::ssize(columns)));
  return concat("its columns are ", join(disclosed, ", "), columns.size() > disclosed.size() ? ", ..." : "");
}

std::optional<std::size_t> find_column(const std::vector<std::string>& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, normalised);
  return found == columns.end() ? std::nullopt : std::optional<std::size_t>(found - columns.begin());
}

/// SQL of a preset with the file's own spelling of its columns; columns the file lacks become NULL.
std::string preset_sql(std::string_view sql, const std::vector<std::string>& columns) {
  std::string result;
  std::size_t i = 0;
  while (i < sql.size()) {
    const auto is_word = [&](std::size_t at) {
      return at < sql.size() &&
             ((sql[at] >= 'a' && sql[at] <= 'z') || (sql[at] >= '0' && sql[at] <= '9') || sql[at] == '_');
    };
    if (sql[i] == '\'') {
      const std::size_t end = sql.find('\'', i + 1);
      result += sql.substr(i, end - i + 1);
      i = end + 1;
    } else if (is_word(i)) {
      std::size_t end = i;
      while (is_word(end))
        ++end;
      const std::string_view word = sql.substr(i, end - i);
      const bool is_function = end < sql.size() && sql[end] == '(';
      const auto column = find_column(columns, word);
      result += is_function ? std::string(word) : column ? quoted_identifier(columns[*column]) : "NULL";
      i = end;
    } else {
      result += sql[i++];
    }
  }
  return result;
}

/// What one role is computed from: a column as it stands, or an expression.
struct Binding {
  std::string role;
  std::optional<std::size_t> column;
  std::string sql;
  std::string origin;
  bool by_user = false;
  bool attribute = false;  // of students, whatever its name means elsewhere
};

class ColumnPlan {
 public:
  ColumnPlan(const std::string& path, const std::vector<std::string>& columns, const TableOptions& options)
      : path_(path), columns_(columns) {
    preset_ = options.format.empty() ? recognise_preset(columns) : &require_preset(options.format);
    // Roles by their own names first, then the preset's, then the user's: later ones win.
    for (const std::string_view role : canonical_columns) {
      if (const auto column = find(role)) bind({std::string(role), column, "", ""});
    }
    if (preset_ != nullptr) {
      for (const auto& [role, sql] : preset_->columns) {
        if (const auto column = find(sql)) {
          bind({std::string(role), column, "", ""});
          continue;
        }
        std::string text = preset_sql(sql, columns);
        if (text.find('"') == std::string::npos) continue;  // none of its columns is there
        bind({std::string(role), std::nullopt, std::move(text), concat("format ", preset_->name)});
      }
    }
    for (const auto& [role, expression] : options.map) {
      const auto at = std::ranges::find(columns, expression);
      const auto column = at == columns.end() ? std::nullopt : std::optional<std::size_t>(at - columns.begin());
      bind({role, column, expression, concat(setting_name("map"), " ", role, "=", expression), /*by_user=*/true});
    }
    if (!options.finished.empty()) {
      auto at = std::ranges::find(columns, options.finished);
      if (at == columns.end()) at = std::ranges::find(columns, normalised(options.finished), normalised);
      const auto column = at == columns.end() ? std::nullopt : std::optional<std::size_t>(at - columns.begin());
      bind({"finished", column, options.finished, setting_name("finished"), /*by_user=*/true});
    }
    require_roles();
    add_attributes();
    if (!options.where.empty())
      bindings_.push_back(
          {"where", std::nullopt, concat("(", options.where, "\n) IS TRUE"), setting_name("where"), /*by_user=*/true});
  }

  std::vector<Binding>& bindings() { return bindings_; }
  const Preset* preset() const { return preset_; }
  bool needs_sql() const {
    return std::ranges::any_of(bindings_, [](const Binding& binding) { return !binding.column; });
  }
  static bool is_attribute(const std::string& role) {
    return role != "where" &&
           (role == "major" || std::ranges::find(canonical_columns, role) == canonical_columns.end());
  }

 private:
  std::optional<std::size_t> find(std::string_view name) const { return find_column(columns_, name); }
  void bind(Binding binding) {
    std::erase_if(bindings_, [&](const Binding& old) { return old.role == binding.role; });
    bindings_.push_back(std::move(binding));
  }
  bool has(std::string_view role) const {
    return std::ranges::any_of(bindings_, [&](const Binding& binding) { return binding.role == role; });
  }
  /// The column the user is likely to mean: a name not far from the role's.
  std::string remedy(const std::string& role) const {
    const auto nearest = looks_like_header(columns_) ? nearest_name(role, columns_) : std::nullopt;
    return concat(setting_name("map"), " \"", role, "=", nearest.value_or("COLUMN"), "\"");
  }
  /// All that is missing at once.
  void require_roles() const {
    std::vector<std::string> lacks, remedies;
    for (const char* role : {"student", "course"}) {
      if (has(role)) continue;
      lacks.push_back(concat("the ", role));
      remedies.push_back(remedy(role));
    }
    if (!has("period") && !has("term")) {
      lacks.emplace_back("the period or the term");
      remedies.push_back(concat(remedy("period"), " or ", remedy("term")));
    }
    if (lacks.empty()) return;
    throw InputError(concat(path_, ": no column for ", join(lacks, ", nor for "), "; ", column_list(columns_),
                            "; name ", lacks.size() == 1 ? "it" : "them", " by ", join(remedies, ", ")));
  }
  void add_attributes() {
    std::set<std::size_t> used;
    for (const Binding& binding : bindings_) {
      // Who graduated, with which degree, is something to ask about as well.
      if (binding.column && binding.role != "finished") used.insert(*binding.column);
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string name = normalised(columns_[c]);
      const bool free = !used.contains(c) && !name.empty() && (!has(name) || name == "finished") && name != "where" &&
                        !looks_like_data(columns_[c]);
      if (free) bindings_.push_back({name, c, "", "", /*by_user=*/false, /*attribute=*/true});
    }
  }

  std::string path_;
  const std::vector<std::string>& columns_;
  const Preset* preset_ = nullptr;
  std::vector<Binding> bindings_;
};

/// A table as it lies there: read by us, or by DuckDB.
struct OpenTable {
  std::unique_ptr<RowSource> rows;
  std::optional<SqlTable> sql;
  std::vector<std::string> columns;
  std::vector<std::string> notes;

  /// All columns as text; the rows may hold more of them.
  std::unique_ptr<RowSource> take_rows() {
    if (rows) return std::move(rows);
    std::vector<SqlExpression> expressions;
    for (const std::string& column : columns)
      expressions.push_back({quoted_identifier(column), concat("column ", column)});
    std::unique_ptr<RowSource> read = std::move(*sql).select(std::move(expressions));
    sql.reset();
    return read;
  }
};

OpenTable open_table(const std::string& path, std::size_t number, const TableOptions& options, int threads,
                     RejectLog& rejects) {
  const FileKindInfo kind = detect_file_kind(path);
  if (kind.kind == FileKind::foreign) throw InputError(concat(path, ": this is ", kind.name, "; ", kind.remedy));
  if (kind.kind == FileKind::archive) {
    throw InputError(
        concat(path, ": this is a desirepath file already, not a table; see 'desirepath inspect ", path, "'"));
  }
  const bool is_text = kind.kind == FileKind::text || kind.kind == FileKind::gzip || kind.kind == FileKind::zstd;
  std::error_code ignored;
  if (!is_text && !std::filesystem::is_regular_file(path, ignored))
    throw InputError(concat(path, ": a ", kind.name, " file cannot be read from a pipe; give the file itself"));
  if (!options.table.empty() && kind.kind != FileKind::duckdb && kind.kind != FileKind::workbook)
    throw OptionError(
        concat(path, ": ", setting_name("table"), " is for DuckDB files and workbooks, this is ", kind.name));
  if (!is_text && (options.delimiter || !options.encoding.empty()))
    throw OptionError(concat(path, ": ", setting_name("delimiter"), " and ", setting_name("encoding"),
                             " are for text files, this is ", kind.name));
  OpenTable table;
  if (kind.kind == FileKind::parquet) {
    table.sql = SqlTable::of_parquet(path, threads);
  } else if (kind.kind == FileKind::duckdb) {
    table.sql = SqlTable::of_database(path, options.table, threads);
  } else if (kind.kind == FileKind::workbook) {
    table.rows = open_workbook(path, options.table, number, rejects);
  } else {
    DelimitedOptions reading{options.encoding};
    if (options.delimiter) reading.delimiter = options.delimiter->character;
    auto decoder = std::make_unique<TextDecoder>(open_bytes(path, kind.kind), path, options.encoding);
    table.rows = std::make_unique<DelimitedReader>(std::move(decoder), path, number, reading, rejects);
  }
  table.columns = table.sql ? table.sql->columns() : table.rows->columns();
  return table;
}

/// Taken apart where a row is a student, and with the columns of further tables.
void shape(OpenTable& table, const std::string& path, const TableOptions& options) {
  if (options.wide) {
    std::vector<std::string> kept;
    for (const auto& [role, expression] : options.map) {
      for (const std::string& column : table.columns) {
        if (expression == column || mentions(expression, column)) kept.push_back(column);
      }
      kept.push_back(role);
    }
    table.rows =
        unfold_rows(table.take_rows(), table.columns, kept, MissingValues(options.missing), options.wide_cells, path);
    table.notes = table.rows->notes();
    table.columns = table.rows->columns();
  }
  for (std::size_t j = 0; j < options.joins.size(); ++j) {
    const std::string& on = options.on[options.on.size() == 1 ? 0 : j];
    table.rows = join_rows(table.take_rows(), table.columns, read_small_table(options.joins[j]), on);
    table.columns = table.rows->columns();
  }
}

MappedSource map_columns(OpenTable opened, const std::string& path, const TableOptions& options) {
  shape(opened, path, options);
  std::unique_ptr<RowSource> text = std::move(opened.rows);
  std::optional<SqlTable> table = std::move(opened.sql);
  const std::vector<std::string>& columns = opened.columns;

  ColumnPlan plan(path, columns, options);
  MappedSource source;
  source.notes = std::move(opened.notes);
  if (plan.preset() != nullptr) {
    source.preset = std::string(plan.preset()->name);
    source.term_coding = plan.preset()->term_coding;
    for (const std::string_view code : plan.preset()->summer_codes)
      source.summer_codes.emplace_back(code);
  }
  const bool direct = text != nullptr && !plan.needs_sql();
  std::vector<SqlExpression> expressions;
  std::optional<std::size_t> course_column;
  std::size_t position = 0;
  for (const Binding& binding : plan.bindings()) {
    const std::size_t at = direct ? *binding.column : position;
    ++position;
    const bool as_it_stands = binding.column && binding.role == "course";
    const std::string sql = as_it_stands     ? quoted_identifier(SqlTable::raw_column)
                            : binding.column ? quoted_identifier(columns[*binding.column])
                                             : binding.sql;
    if (as_it_stands) course_column = binding.column;
    source.computes_course = source.computes_course || (binding.role == "course" && !binding.column);
    expressions.push_back(
        {sql, binding.origin.empty() ? concat("column ", binding.role) : binding.origin, binding.by_user});
    if (binding.role == "where") {
      source.keep = at;
      continue;
    }
    source.mapping.push_back(concat(binding.role, " = ", binding.column ? columns[*binding.column] : binding.sql));
    const std::pair<std::string_view, std::optional<std::size_t>*> roles[] = {
        {"student", &source.student}, {"period", &source.period},    {"term", &source.term},
        {"course", &source.course},   {"grade", &source.grade},      {"units", &source.units},
        {"label", &source.label},     {"subject", &source.subject},  {"school", &source.school},
        {"entry", &source.entry},     {"finished", &source.finished}};
    for (const auto& [role, target] : roles) {
      if (binding.role == role && !binding.attribute) *target = at;
    }
    source.roles.emplace_back(binding.role, at);
    if (binding.attribute || ColumnPlan::is_attribute(binding.role)) source.attributes.push_back({binding.role, at});
  }
  if (direct) {
    source.rows = std::move(text);
  } else {
    if (!table) table = SqlTable::of_rows(std::move(text), looks_like_header(columns));
    table->set_missing(MissingValues(options.missing), course_column);
    source.not_a_number = expressions.size();
    source.rows = std::move(*table).select(std::move(expressions));
  }
  return source;
}

}  // namespace

MappedSource open_source(const std::string& path, std::size_t number, const TableOptions& options, int threads,
                         RejectLog& rejects) {
  return map_columns(open_table(path, number, options, threads, rejects), path, options);
}

MappedSource map_source(std::unique_ptr<RowSource> rows, const std::string& name, const TableOptions& options) {
  std::vector<std::string> columns = rows->columns();
  return map_columns({std::move(rows), std::nullopt, std::move(columns), {}}, name, options);
}

std::optional<std::size_t> SmallTable::find(std::string_view column) const {
  return find_column(columns, column);
}

std::size_t SmallTable::require(std::string_view column) const {
  if (const auto found = find(column)) return *found;
  throw InputError(concat(file, ": no column '", column, "'; ", column_list(columns)));
}

namespace {

SmallTable read_whole(RowSource& rows, const std::vector<std::string>& columns, const std::string& file,
                      const RejectLog& rejects) {
  SmallTable table;
  table.file = file;
  table.columns = columns;
  RowBatch batch;
  while (rows.next(batch)) {
    for (std::size_t r = 0; r < batch.row_count(); ++r) {
      std::vector<std::string> row;
      for (std::size_t c = 0; c < columns.size(); ++c)
        row.emplace_back(trimmed(batch.cell(r, c)));
      table.rows.push_back(std::move(row));
      table.records.push_back(batch.records[r]);
    }
  }
  if (rejects.count() > 0) {
    const Reject& first = rejects.kept().front();
    throw InputError({file, first.record, 0}, first.reason);
  }
  return table;
}

}  // namespace

SmallTable read_small_table(std::unique_ptr<ByteSource> bytes, const std::string& file) {
  RejectLog rejects;
  DelimitedReader reader(std::make_unique<TextDecoder>(std::move(bytes), file, ""), file, 0, {}, rejects);
  return read_whole(reader, reader.columns(), file, rejects);
}

SmallTable read_small_table(const std::string& path) {
  RejectLog rejects;
  OpenTable table = open_table(path, 0, {}, 1, rejects);
  const std::vector<std::string> columns = table.columns;
  return read_whole(*table.take_rows(), columns, path, rejects);
}

}  // namespace desirepath::inline ingest
