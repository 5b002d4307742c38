// SQL expressions over the rows of an input, by DuckDB: for Parquet and DuckDB files, and for the user's columns and
// condition.
//
// DuckDB is locked down: no network, no extensions, no file but the one named, configuration frozen. Its own error
// texts quote rows, so they never leave this file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/ingest/missing_values.h"
#include "desirepath/ingest/row_source.h"

namespace desirepath::inline ingest {

/// A value computed for each row.
struct SqlExpression {
  std::string sql;
  std::string origin;    // for messages: the setting it came from
  bool by_user = false;  // it may fail where the file does not
};

class SqlTable {
 public:
  static SqlTable of_parquet(const std::filesystem::path& path, int threads);
  /// table: empty where the database holds just one.
  static SqlTable of_database(const std::filesystem::path& path, const std::string& table, int threads);
  /// is_named: the names of the columns may stand in messages.
  static SqlTable of_rows(std::unique_ptr<RowSource> rows, bool is_named = true);
  ~SqlTable();
  SqlTable(SqlTable&&) noexcept;
  SqlTable& operator=(SqlTable&&) noexcept;

  const std::vector<std::string>& columns() const;
  /// In expressions these words are no value. `as_it_stands`: a column that is also wanted with them, under
  /// raw_column.
  void set_missing(MissingValues missing, std::optional<std::size_t> as_it_stands);
  static constexpr const char* raw_column = "desirepath column as it stands";
  /// The expressions as text, a column each, for every row in the input's order, and one column more: the name of a
  /// column that should have been a number in that row and was not, or nothing. May be called once.
  /// Columns of text files are text; an expression that does not fit text (period <= 4) sees those as numbers that
  /// look like it. Throws OptionError for an expression that fits neither way.
  std::unique_ptr<RowSource> select(std::vector<SqlExpression> expressions) &&;

 private:
  struct State;
  explicit SqlTable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  friend class SqlRows;
};

/// A name as SQL writes it: "Student ID".
std::string quoted_identifier(std::string_view name);

}  // namespace desirepath::inline ingest
