#include "desirepath/ingest/sql_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include <fcntl.h>
#include <unistd.h>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/decimal.h"
#include "desirepath/ingest/sql_state.h"

namespace desirepath::inline ingest {

namespace {

std::string quoted(std::string_view text, char mark) {
  std::string result(1, mark);
  for (const char c : text)
    result.append(c == mark ? 2 : 1, c);
  return result + mark;
}

}  // namespace

std::string quoted_identifier(std::string_view name) {
  return quoted(name, '"');
}

std::string quoted_text(std::string_view text) {
  return quoted(text, '\'');
}

std::string memory_limit() {
  const double free = available_memory();
  return concat(std::llround(std::max(256.0, (free > 0 ? free : 4e9) / 2e6)), "MB");
}

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
  for (idx_t c = 0; c < count; ++c) {
    columns.emplace_back(duckdb_column_name(&result.value, c));
    is_text.push_back(duckdb_column_type(&result.value, c) == DUCKDB_TYPE_VARCHAR);
  }
}

std::vector<std::int64_t> SqlTable::State::numbers(const std::string& sql) const {
  Result result;
  std::vector<std::int64_t> values;
  if (duckdb_query(connection, sql.c_str(), &result.value) == DuckDBError) return values;
  for (idx_t r = 0; r < duckdb_row_count(&result.value); ++r)
    values.push_back(duckdb_value_int64(&result.value, 0, r));
  return values;
}

void SqlTable::State::cut(const std::string& number_column, const std::vector<std::int64_t>& sizes) {
  constexpr std::int64_t usual = 200'000, most = std::int64_t{1} << 22;  // what is read of one is held in memory
  const auto is_name = [&](const std::string& column) { return lower_case(column) == number_column; };
  if (std::ranges::any_of(columns, is_name) || std::ranges::any_of(sizes, [](auto size) { return size > most; }))
    return;  // a column of the table's own hides the number
  row_number = number_column;
  std::int64_t first = 0, last = 0;
  for (const std::int64_t size : sizes) {
    last += size;
    if (last - first < usual) continue;
    stretches.emplace_back(first, last);
    first = last;
  }
  if (last > first) stretches.emplace_back(first, last);
}

/// Columns whose every cell in the batch is a number, with at least one.
void SqlTable::State::look_at_numbers() {
  looks_numeric.assign(columns.size(), false);
  decimal_comma.assign(columns.size(), false);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    bool all = true, some = false;
    for (std::size_t r = 0; r < batch.row_count() && all; ++r) {
      const std::string_view cell = trimmed(batch.cell(r, c));
      if (cell.empty() || missing.contains(cell)) continue;
      const bool comma = has_decimal_comma(cell);
      decimal_comma[c] = decimal_comma[c] || comma;
      all = comma || number_in<double>(cell).has_value();
      some = true;
    }
    looks_numeric[c] = all && some;
  }
}

SqlTable::SqlTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
SqlTable::~SqlTable() = default;
SqlTable::SqlTable(SqlTable&&) noexcept = default;
SqlTable& SqlTable::operator=(SqlTable&&) noexcept = default;

const std::vector<std::string>& SqlTable::columns() const {
  return state_->columns;
}

void SqlTable::set_missing(MissingValues missing, std::optional<std::size_t> as_it_stands) {
  state_->missing = std::move(missing);
  state_->as_it_stands = as_it_stands;
  if (state_->rows) state_->look_at_numbers();
}

SqlTable SqlTable::of_parquet(const std::filesystem::path& path, int threads) {
  auto state = std::make_unique<State>();
  state->file = path.string();
  state->kind = "Parquet";
  // By its open descriptor: a name is then neither a pattern nor a list of values (year=2020/), and may be any bytes.
  state->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string full = concat("/proc/self/fd/", state->descriptor);
  const std::string readable = concat("[", quoted_text(full), "]");
  state->open(nullptr, readable, 1);
  state->relation = concat("read_parquet(", quoted_text(full), ", hive_partitioning = false)");
  state->describe_columns();
  state->cut("file_row_number",
             state->numbers(concat("SELECT row_group_num_rows FROM (SELECT DISTINCT row_group_id, row_group_num_rows "
                                   "FROM parquet_metadata(",
                                   quoted_text(full), ")) ORDER BY row_group_id")));
  if (state->stretches.empty() && threads > 1) {
    state->close();
    state->open(nullptr, readable, threads);
  }
  return SqlTable(std::move(state));
}

SqlTable SqlTable::of_database(const std::filesystem::path& path, const std::string& table, int threads) {
  auto state = std::make_unique<State>();
  state->file = path.string();
  state->kind = "DuckDB";
  state->open(path.c_str(), "[]", 1);
  Result result;
  duckdb_query(state->connection,
               "SELECT schema_name, table_name, 'table' FROM duckdb_tables() WHERE NOT internal UNION ALL "
               "SELECT schema_name, view_name, 'view' FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
               &result.value);
  std::vector<std::string> names, relations, kinds;
  for (idx_t r = 0; r < duckdb_row_count(&result.value); ++r) {
    std::array<std::string, 3> parts;  // a dot in them means nothing
    for (idx_t c = 0; c < parts.size(); ++c) {
      char* part = duckdb_value_varchar(&result.value, c, r);
      parts.at(c) = part;
      duckdb_free(part);
    }
    names.push_back(parts[0] == "main" ? parts[1] : concat(parts[0], ".", parts[1]));
    relations.push_back(concat(quoted_identifier(parts[0]), ".", quoted_identifier(parts[1])));
    kinds.push_back(parts[2]);
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
  const auto number = static_cast<std::size_t>(found - names.begin());
  state->relation = relations[number];
  state->describe_columns();
  if (kinds[number] == "table") {
    constexpr std::int64_t row_group = 122'880;
    const auto last = state->numbers(concat("SELECT max(rowid) FROM ", state->relation));
    std::vector<std::int64_t> sizes(last.empty() ? 0 : static_cast<std::size_t>(last.front() / row_group + 1),
                                    row_group);
    state->cut("rowid", sizes);
  }
  if (state->stretches.empty() && threads > 1) {
    duckdb_destroy_result(&result.value);
    state->close();
    state->open(path.c_str(), "[]", threads);
  }
  return SqlTable(std::move(state));
}

namespace {

constexpr const char* record_column = "desirepath record number";
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
    duckdb_bind_add_result_column(info, SqlTable::raw_column, text);
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
        const bool as_it_stands = scan->columns[c] == self->columns.size() + 1;
        const idx_t column = as_it_stands ? self->as_it_stands.value_or(0) : scan->columns[c];
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
          const bool is_missing =
              cell.empty() ||
              (!as_it_stands && self->missing.contains(cell.front() > ' ' && cell.back() > ' ' ? cell : trimmed(cell)));
          if (is_missing) {
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
  state->look_at_numbers();
  state->relation = "input_rows()";
  state->record_expression = quoted_identifier(record_column);
  return SqlTable(std::move(state));
}

}  // namespace desirepath::inline ingest
