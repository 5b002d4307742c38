// DuckDB behind an SqlTable: the database, what is selected from it, and the rows it is handed.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/duckdb_library.h"
#include "desirepath/ingest/sql_table.h"

namespace desirepath::inline ingest {

/// A text as SQL writes it: 'text'.
std::string quoted_text(std::string_view text);
/// Half of what is free: a view that joins everything to everything must not take the machine with it.
std::string memory_limit();

/// A result that frees itself.
struct Result {
  duckdb_result value{};
  ~Result() { duckdb_destroy_result(&value); }
  Result() = default;
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
};

/// A connection that closes itself.
struct Connection {
  duckdb_connection value = nullptr;
  ~Connection() {
    if (value != nullptr) duckdb_disconnect(&value);
  }
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
};

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
  std::vector<bool> decimal_comma;  // in some cell of it
  std::vector<bool> is_text;        // of a file that DuckDB reads
  MissingValues missing;
  std::optional<std::size_t> as_it_stands;
  std::exception_ptr failure;
  // Of a table that can be read in stretches: the column that numbers its rows, and the stretches.
  std::string row_number;
  std::vector<std::pair<std::int64_t, std::int64_t>> stretches;  // first row, and the one behind the last

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    close();
    if (descriptor >= 0) ::close(descriptor);
  }
  void close() {
    if (connection != nullptr) duckdb_disconnect(&connection);
    if (database != nullptr) duckdb_close(&database);
  }

  /// database_file: null for an empty database; readable: SQL list of the files it may read.
  void open(const char* database_file, const std::string& readable, int threads);
  bool run(const std::string& sql) const;
  void describe_columns();
  /// A text column as a number.
  std::string number_of(std::size_t column, const std::string& name) const {
    return concat("try_cast(", decimal_comma[column] ? concat("replace(", name, ", ',', '.')") : name, " AS DOUBLE)");
  }
  void look_at_numbers();
  /// sizes: of runs of rows that are read as a whole.
  void cut(const std::string& number_column, const std::vector<std::int64_t>& sizes);
  std::vector<std::int64_t> numbers(const std::string& sql) const;
  InputError damaged() const {
    return InputError(concat(file, ": the ", kind,
                             " file cannot be read to its end (damaged, cut short, locked by a password or of a kind "
                             "not known here); copy it again or write it anew"));
  }
};

}  // namespace desirepath::inline ingest
