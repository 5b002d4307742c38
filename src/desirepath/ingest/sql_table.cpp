#include "desirepath/ingest/sql_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>

#include <duckdb.h>
#include <fcntl.h>
#include <unistd.h>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/sql_words.h"

namespace desirepath::inline ingest {

namespace {

std::string quoted(std::string_view text, char mark) {
  std::string result(1, mark);
  for (const char c : text)
    result.append(c == mark ? 2 : 1, c);
  return result + mark;
}

std::string quoted_text(std::string_view text) {
  return quoted(text, '\'');
}

/// A result that frees itself.
struct Result {
  duckdb_result value{};
  ~Result() { duckdb_destroy_result(&value); }
  Result() = default;
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
};

/// Half of what is free: a view that joins everything to everything must not take the machine with it.
std::string memory_limit() {
  const double free = available_memory();
  return concat(std::llround(std::max(256.0, (free > 0 ? free : 4e9) / 2e6)), "MB");
}

/// The column name in DuckDB's message about one it does not know; names come from the user's own expression.
std::string unknown_column(const char* message) {
  if (message == nullptr) return "";
  static constexpr std::string_view before = "Referenced column \"";
  const std::string_view text(message);
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + before.size();
  const std::size_t end = text.find('"', begin);
  return end == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin));
}

}  // namespace

std::string quoted_identifier(std::string_view name) {
  return quoted(name, '"');
}

struct SqlTable::State {
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  std::string file;               // for messages
  std::string relation;           // what to select from
  std::string record_expression;  // SQL of the record number; empty: rows are counted as they come
  std::vector<std::string> columns;
  std::string kind;
  bool is_named = true;  // the columns have names that may be shown; else a first row that is data
  // Rows handed to DuckDB by us.
  int descriptor = -1;  // of the file, where it is read by it
  std::unique_ptr<RowSource> rows;
  RowBatch batch;
  std::size_t batch_row = 0;
  std::vector<bool> looks_numeric;  // by the first batch
  std::exception_ptr failure;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    duckdb_disconnect(&connection);
    duckdb_close(&database);
    if (descriptor >= 0) ::close(descriptor);
  }

  /// database_file: null for an empty database; readable: SQL list of the files it may read.
  void open(const char* database_file, const std::string& readable, int threads);
  bool run(const std::string& sql) const;
  void describe_columns();
  InputError damaged() const {
    return InputError(concat(file, ": the ", kind,
                             " file cannot be read to its end (damaged, cut short, locked by a password or of a kind "
                             "not known here); copy it again or write it anew"));
  }
};

void SqlTable::State::open(const char* database_file, const std::string& readable, int threads) {
  duckdb_config config = nullptr;
  duckdb_create_config(&config);
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"autoinstall_known_extensions", "false"},
                                    {"autoload_known_extensions", "false"},
                                    {"allow_community_extensions", "false"},
                                    {"allow_persistent_secrets", "false"},
                                    {"temp_directory", ""},
                                    {"memory_limit", memory_limit()},
                                    {"threads", std::to_string(std::max(1, threads))}}) {
    duckdb_set_config(config, name, value.c_str());
  }
  if (database_file != nullptr) duckdb_set_config(config, "access_mode", "READ_ONLY");
  char* reason = nullptr;
  const duckdb_state opened = duckdb_open_ext(database_file, &database, config, &reason);
  duckdb_free(reason);
  duckdb_destroy_config(&config);
  if (opened == DuckDBError && database_file != nullptr)
    throw InputError(concat(file, ": the DuckDB file cannot be opened (damaged, in use, or of a newer version)"));
  if (opened == DuckDBError || duckdb_connect(database, &connection) == DuckDBError)
    throw BackendError("DuckDB could not be started");
  const bool locked = run(concat("SET allowed_paths = ", readable)) && run("SET enable_external_access = false") &&
                      run("SET preserve_insertion_order = true") && run("SET lock_configuration = true");
  if (!locked) throw BackendError("DuckDB could not be locked down");
}

bool SqlTable::State::run(const std::string& sql) const {
  Result result;
  return duckdb_query(connection, sql.c_str(), &result.value) == DuckDBSuccess;
}

void SqlTable::State::describe_columns() {
  Result result;
  if (duckdb_query(connection, concat("SELECT * FROM ", relation, " LIMIT 0").c_str(), &result.value) == DuckDBError)
    throw damaged();
  const idx_t count = duckdb_column_count(&result.value);
  for (idx_t c = 0; c < count; ++c)
    columns.emplace_back(duckdb_column_name(&result.value, c));
}

SqlTable::SqlTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
SqlTable::~SqlTable() = default;
SqlTable::SqlTable(SqlTable&&) noexcept = default;
SqlTable& SqlTable::operator=(SqlTable&&) noexcept = default;

const std::vector<std::string>& SqlTable::columns() const {
  return state_->columns;
}

SqlTable SqlTable::of_parquet(const std::filesystem::path& path, int threads) {
  auto state = std::make_unique<State>();
  state->file = path.string();
  state->kind = "Parquet";
  // By its open descriptor: a name is then neither a pattern nor a list of values (year=2020/), and may be any bytes.
  state->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string full = concat("/proc/self/fd/", state->descriptor);
  state->open(nullptr, concat("[", quoted_text(full), "]"), threads);
  state->relation = concat("read_parquet(", quoted_text(full), ", hive_partitioning = false)");
  state->describe_columns();
  return SqlTable(std::move(state));
}

SqlTable SqlTable::of_database(const std::filesystem::path& path, const std::string& table, int threads) {
  auto state = std::make_unique<State>();
  state->file = path.string();
  state->kind = "DuckDB";
  state->open(path.c_str(), "[]", threads);
  Result result;
  duckdb_query(state->connection,
               "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal UNION ALL "
               "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
               &result.value);
  std::vector<std::string> names, relations;
  for (idx_t r = 0; r < duckdb_row_count(&result.value); ++r) {
    std::array<std::string, 2> parts;  // a dot in them means nothing
    for (idx_t c = 0; c < parts.size(); ++c) {
      char* part = duckdb_value_varchar(&result.value, c, r);
      parts.at(c) = part;
      duckdb_free(part);
    }
    names.push_back(parts[0] == "main" ? parts[1] : concat(parts[0], ".", parts[1]));
    relations.push_back(concat(quoted_identifier(parts[0]), ".", quoted_identifier(parts[1])));
  }
  if (names.empty()) throw InputError(concat(state->file, ": the DuckDB file holds no table"));
  std::string chosen = table;
  if (chosen.empty()) {
    if (names.size() > 1) {
      throw OptionError(concat(state->file, " holds several tables; choose one by ", setting_name("table"), " (",
                               join(names, ", "), ")"));
    }
    chosen = names.front();
  }
  const auto found = std::ranges::find(names, chosen);
  if (found == names.end()) {
    throw OptionError(concat(state->file, ": no table '", chosen, "'", did_you_mean(chosen, names)));
  }
  state->relation = relations[static_cast<std::size_t>(found - names.begin())];
  state->describe_columns();
  return SqlTable(std::move(state));
}

namespace {

constexpr const char* record_column = "desirepath record number";
constexpr const char* quoting_hint = " ('text' takes single quotes, a \"column name\" double ones)";

/// Where it cannot be told which of the user's expressions failed.
std::string user_settings() {
  return concat(setting_name("map"), " or ", setting_name("where"));
}

/// Columns whose every cell in the batch is a number, with at least one.
std::vector<bool> numeric_columns(const RowBatch& batch) {
  std::vector<bool> numeric(batch.column_count, false);
  for (std::size_t c = 0; c < batch.column_count; ++c) {
    bool all = true, some = false;
    for (std::size_t r = 0; r < batch.row_count() && all; ++r) {
      const std::string_view cell = trimmed(batch.cell(r, c));
      if (cell.empty()) continue;
      all = number_in<double>(cell).has_value();
      some = true;
    }
    numeric[c] = all && some;
  }
  return numeric;
}

struct ScanColumns {
  std::vector<idx_t> columns;  // projected columns, as numbered by the table function
};

}  // namespace

SqlTable SqlTable::of_rows(std::unique_ptr<RowSource> rows, bool is_named) {
  auto state = std::make_unique<State>();
  state->is_named = is_named;
  state->rows = std::move(rows);
  state->kind = "text";
  state->columns = state->rows->columns();
  state->open(nullptr, "[]", 1);

  duckdb_table_function function = duckdb_create_table_function();
  duckdb_table_function_set_name(function, "input_rows");
  duckdb_table_function_set_extra_info(function, state.get(), nullptr);
  duckdb_table_function_supports_projection_pushdown(function, true);
  duckdb_table_function_set_bind(function, [](duckdb_bind_info info) {
    const auto* self = static_cast<const State*>(duckdb_bind_get_extra_info(info));
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
    for (const std::string& column : self->columns)
      duckdb_bind_add_result_column(info, column.c_str(), text);
    duckdb_bind_add_result_column(info, record_column, number);
    duckdb_destroy_logical_type(&text);
    duckdb_destroy_logical_type(&number);
  });
  duckdb_table_function_set_init(function, [](duckdb_init_info info) {
    auto scan = std::make_unique<ScanColumns>();
    for (idx_t c = 0; c < duckdb_init_get_column_count(info); ++c) {
      scan->columns.push_back(duckdb_init_get_column_index(info, c));
    }
    duckdb_init_set_max_threads(info, 1);
    duckdb_init_set_init_data(info, scan.release(), [](void* data) { delete static_cast<ScanColumns*>(data); });
  });
  duckdb_table_function_set_function(function, [](duckdb_function_info info, duckdb_data_chunk output) {
    auto* self = static_cast<State*>(duckdb_function_get_extra_info(info));
    const auto* scan = static_cast<const ScanColumns*>(duckdb_function_get_init_data(info));
    try {
      if (self->batch_row >= self->batch.row_count()) {
        self->batch_row = 0;
        if (!self->rows->next(self->batch)) {
          duckdb_data_chunk_set_size(output, 0);
          return;
        }
      }
      const std::size_t count = std::min<std::size_t>(duckdb_vector_size(), self->batch.row_count() - self->batch_row);
      for (idx_t c = 0; c < scan->columns.size(); ++c) {
        duckdb_vector target = duckdb_data_chunk_get_vector(output, c);
        const idx_t column = scan->columns[c];
        if (column >= self->columns.size()) {
          auto* numbers = static_cast<std::int64_t*>(duckdb_vector_get_data(target));
          for (std::size_t r = 0; r < count; ++r)
            numbers[r] = self->batch.records[self->batch_row + r];
          continue;
        }
        duckdb_vector_ensure_validity_writable(target);
        std::uint64_t* validity = duckdb_vector_get_validity(target);
        for (std::size_t r = 0; r < count; ++r) {
          const std::string_view cell = self->batch.cell(self->batch_row + r, column);
          if (cell.empty()) {
            duckdb_validity_set_row_invalid(validity, r);
          } else {
            duckdb_vector_assign_string_element_len(target, r, cell.data(), cell.size());
          }
        }
      }
      self->batch_row += count;
      duckdb_data_chunk_set_size(output, count);
    } catch (...) {
      // Carried past DuckDB's C frames and thrown again by the reader.
      self->failure = std::current_exception();
      duckdb_function_set_error(info, "input failed");
    }
  });
  const bool registered = duckdb_register_table_function(state->connection, function) == DuckDBSuccess;
  duckdb_destroy_table_function(&function);
  if (!registered) throw BackendError("DuckDB refused the input");
  state->rows->next(state->batch);
  state->looks_numeric = numeric_columns(state->batch);
  state->relation = "input_rows()";
  state->record_expression = quoted_identifier(record_column);
  return SqlTable(std::move(state));
}

/// The rows of a running query.
class SqlRows : public RowSource {
 public:
  SqlRows(std::unique_ptr<SqlTable::State> state, const std::vector<SqlExpression>& expressions)
      : state_(std::move(state)) {
    // Innermost, expressions over text are computed and the columns others need as numbers handed on; then those are
    // cast; outermost, the expressions over numbers are computed.
    std::string inner, middle, outer, bad = "NULL";
    std::vector<std::size_t> handed_on;
    const auto result = [](std::size_t i) { return quoted_identifier(concat("desirepath result ", i)); };
    const auto source = [](std::size_t c) { return quoted_identifier(concat("desirepath source ", c)); };
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      columns_.push_back(expressions[i].sql);
      has_expressions_ = has_expressions_ || expressions[i].by_user;
      if (fits_text(expressions[i])) {
        inner += concat("CAST((", expressions[i].sql, "\n) AS VARCHAR) AS ", result(i), ", ");
        middle += result(i) + ", ";
        outer += result(i) + ", ";
        continue;
      }
      for (const std::size_t c : check_as_numbers(expressions[i])) {
        if (std::ranges::find(handed_on, c) == handed_on.end()) handed_on.push_back(c);
      }
      outer += concat("CAST((", expressions[i].sql, "\n) AS VARCHAR), ");
    }
    columns_.emplace_back("not a number");
    for (const std::size_t c : handed_on) {
      const std::string name = quoted_identifier(state_->columns[c]);
      inner += concat(name, " AS ", source(c), ", ");
      if (!state_->looks_numeric[c]) {
        middle += concat(source(c), " AS ", name, ", ");
        continue;
      }
      middle += concat(source(c), ", try_cast(", source(c), " AS DOUBLE) AS ", name, ", ");
      bad = concat("CASE WHEN ", name, " IS NULL AND ", source(c), " IS NOT NULL THEN ",
                   quoted_text(state_->columns[c]), " ELSE ", bad, " END");
    }
    const std::string record = state_->record_expression.empty() ? "NULL" : state_->record_expression;
    const std::string sql = concat("SELECT ", outer, "CAST(", bad, " AS VARCHAR), \"desirepath record\" FROM (SELECT ",
                                   middle, "\"desirepath record\" FROM (SELECT ", inner, record,
                                   " AS \"desirepath record\" FROM ", state_->relation, "))");
    if (duckdb_prepare(state_->connection, sql.c_str(), &statement_) == DuckDBError) fail(DUCKDB_ERROR_BINDER);
    if (duckdb_execute_prepared_streaming(statement_, &result_.value) == DuckDBError) {
      fail(duckdb_result_error_type(&result_.value));
    }
  }
  ~SqlRows() override {
    if (chunk_ != nullptr) duckdb_destroy_data_chunk(&chunk_);
    duckdb_destroy_prepare(&statement_);
  }
  SqlRows(const SqlRows&) = delete;
  SqlRows& operator=(const SqlRows&) = delete;

  const std::vector<std::string>& columns() const override { return columns_; }
  std::string description() const override {
    return state_->rows ? state_->rows->description() : concat(state_->kind, ", ", state_->columns.size(), " columns");
  }
  double fraction() const override { return state_->rows ? state_->rows->fraction() : 0; }

  bool next(RowBatch& batch) override {
    batch.clear();
    batch.column_count = columns_.size();
    if (chunk_ != nullptr) duckdb_destroy_data_chunk(&chunk_);
    chunk_ = duckdb_fetch_chunk(result_.value);
    if (chunk_ == nullptr) {
      const char* error = duckdb_result_error(&result_.value);
      if (state_->failure || error != nullptr) fail(duckdb_result_error_type(&result_.value));
      return false;
    }
    const idx_t rows = duckdb_data_chunk_get_size(chunk_);
    batch.cells.resize(rows * batch.column_count);
    for (std::size_t c = 0; c < batch.column_count; ++c) {
      duckdb_vector vector = duckdb_data_chunk_get_vector(chunk_, c);
      auto* texts = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector));
      std::uint64_t* validity = duckdb_vector_get_validity(vector);
      for (idx_t r = 0; r < rows; ++r) {
        if (!duckdb_validity_row_is_valid(validity, r)) continue;
        batch.cells[r * batch.column_count + c] = {duckdb_string_t_data(&texts[r]), duckdb_string_t_length(texts[r])};
      }
    }
    batch.records.resize(rows);
    const auto* numbers = static_cast<const std::int64_t*>(
        duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, batch.column_count)));
    for (idx_t r = 0; r < rows; ++r)
      batch.records[r] = state_->record_expression.empty() ? ++counted_ : numbers[r];
    return true;
  }

 private:
  /// Each expression alone first, so that a fault can be laid at the right option.
  bool prepares(const std::string& sql, std::string* unknown) const {
    duckdb_prepared_statement statement = nullptr;
    const bool good = duckdb_prepare(state_->connection, sql.c_str(), &statement) == DuckDBSuccess;
    if (!good && unknown != nullptr) *unknown = unknown_column(duckdb_prepare_error(statement));
    duckdb_destroy_prepare(&statement);
    return good;
  }

  bool fits_text(const SqlExpression& expression) const {
    const std::string sql = concat("SELECT CAST((", expression.sql, "\n) AS VARCHAR) FROM ", state_->relation);
    duckdb_extracted_statements statements = nullptr;
    const idx_t count = duckdb_extract_statements(state_->connection, sql.c_str(), &statements);
    duckdb_destroy_extracted(&statements);
    if (count != 1) throw OptionError(concat(expression.origin, ": not an SQL expression", quoting_hint));
    if (const std::string word = chance_in(expression.sql, state_->columns, state_->connection);
        expression.by_user && !word.empty())
      throw OptionError(concat(expression.origin, ": '", word,
                               "' is another at every run; the same command must give the same cohort"));
    std::string unknown;
    if (prepares(sql, &unknown)) return true;
    if (!unknown.empty()) {
      throw OptionError(concat(expression.origin, ": no column '", unknown, "'",
                               state_->is_named ? did_you_mean(unknown, state_->columns) : ""));
    }
    return false;
  }

  /// The columns an expression names, when it can be computed with the numeric ones as numbers.
  std::vector<std::size_t> check_as_numbers(const SqlExpression& expression) const {
    std::vector<std::size_t> named;
    bool some_number = false;
    std::string select;
    for (std::size_t c = 0; c < state_->columns.size(); ++c) {
      if (!mentions(expression.sql, state_->columns[c])) continue;
      const std::string name = quoted_identifier(state_->columns[c]);
      const bool numeric = c < state_->looks_numeric.size() && state_->looks_numeric[c];
      named.push_back(c);
      some_number = some_number || numeric;
      select += concat(select.empty() ? "" : ", ", numeric ? concat("try_cast(", name, " AS DOUBLE) AS ") : "", name);
    }
    if (!some_number || !prepares(concat("SELECT CAST((", expression.sql, "\n) AS VARCHAR) FROM (SELECT ", select,
                                         " FROM ", state_->relation, ")"),
                                  nullptr)) {
      throw OptionError(concat(expression.origin, ": not an SQL expression over the columns there are", quoting_hint));
    }
    return named;
  }

  [[noreturn]] void fail(duckdb_error_type type) const {
    if (state_->failure) std::rethrow_exception(state_->failure);
    switch (type) {
      case DUCKDB_ERROR_CONVERSION:
      case DUCKDB_ERROR_OUT_OF_RANGE:
      case DUCKDB_ERROR_INVALID_INPUT:
      case DUCKDB_ERROR_DIVIDE_BY_ZERO:
        if (!has_expressions_) throw state_->damaged();
        throw InputError(user_settings() +
                         " fails on a row (a value cannot be converted); use try_cast(x AS DOUBLE) there");
      case DUCKDB_ERROR_BINDER:
      case DUCKDB_ERROR_PARSER:
      case DUCKDB_ERROR_CATALOG:
        throw OptionError(user_settings() + ": the expressions cannot be computed for each row (an aggregate?)");
      case DUCKDB_ERROR_IO:
      case DUCKDB_ERROR_SERIALIZATION:
        throw state_->damaged();
      case DUCKDB_ERROR_OUT_OF_MEMORY:
        throw Error(
            concat("not enough memory to read the input: DuckDB may use ", memory_limit(), ", half of what is free"));
      default:
        if (!state_->rows) throw state_->damaged();
        throw BackendError("reading failed inside DuckDB");
    }
  }

  std::unique_ptr<SqlTable::State> state_;
  std::vector<std::string> columns_;
  duckdb_prepared_statement statement_ = nullptr;
  Result result_;
  duckdb_data_chunk chunk_ = nullptr;
  std::int64_t counted_ = 0;
  bool has_expressions_ = false;  // of the user: they may fail where the file does not
};

std::unique_ptr<RowSource> SqlTable::select(std::vector<SqlExpression> expressions) && {
  return std::make_unique<SqlRows>(std::move(state_), expressions);
}

}  // namespace desirepath::inline ingest
