#include <algorithm>
#include <utility>

#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/ingest/sql_state.h"
#include "desirepath/ingest/sql_words.h"

namespace desirepath::inline ingest {

namespace {

constexpr const char* quoting_hint = " ('text' takes single quotes, a \"column name\" double ones)";

/// Where it cannot be told which of the user's expressions failed.
std::string user_settings() {
  return concat(setting_name("map"), " or ", setting_name("where"));
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

/// The rows of a running query.
class SqlRows : public RowSource {
 public:
  SqlRows(std::unique_ptr<SqlTable::State> state, const std::vector<SqlExpression>& expressions)
      : state_(std::move(state)) {
    // Innermost, expressions over text are computed and the columns others need as numbers handed on; then those are
    // cast; outermost, the expressions over numbers are computed.
    if (!state_->rows) name_missing(expressions);
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
      middle += concat(source(c), ", ", state_->number_of(c, source(c)), " AS ", name, ", ");
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
  /// Of a file that DuckDB reads itself: the words become no value in the columns that expressions name.
  void name_missing(const std::vector<SqlExpression>& expressions) {
    std::string words, replaced;
    for (const std::string& word : state_->missing.words())
      words += concat(words.empty() ? "" : ", ", quoted_text(word));
    for (std::size_t c = 0; c < state_->columns.size() && !words.empty(); ++c) {
      const std::string name = quoted_identifier(state_->columns[c]);
      const bool is_named = std::ranges::any_of(expressions, [&](const SqlExpression& expression) {
        return expression.sql != name && mentions(expression.sql, state_->columns[c]);
      });
      if (!state_->is_text[c] || !is_named) continue;
      replaced += concat(replaced.empty() ? "" : ", ", "CASE WHEN lower(trim(", name, ")) IN (", words,
                         ") THEN NULL ELSE ", name, " END AS ", name);
    }
    const std::string raw = state_->as_it_stands
                                ? concat(", ", quoted_identifier(state_->columns[*state_->as_it_stands]), " AS ",
                                         quoted_identifier(SqlTable::raw_column))
                                : "";
    if (!replaced.empty() || !raw.empty()) {
      state_->relation = concat("(SELECT *", replaced.empty() ? "" : concat(" REPLACE (", replaced, ")"), raw, " FROM ",
                                state_->relation, ")");
    }
  }

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

  std::string as_if_numbers(const std::vector<std::size_t>& columns) const {
    std::string select;
    for (const std::size_t c : columns) {
      const std::string name = quoted_identifier(state_->columns[c]);
      select += concat(select.empty() ? "" : ", ", state_->number_of(c, name), " AS ", name);
    }
    return select;
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
      select += concat(select.empty() ? "" : ", ", numeric ? state_->number_of(c, name) + " AS " : "", name);
    }
    if (!named.empty() && !some_number && state_->is_named && !state_->looks_numeric.empty() &&
        prepares(concat("SELECT CAST((", expression.sql, "\n) AS VARCHAR) FROM (SELECT ", as_if_numbers(named),
                        " FROM ", state_->relation, ")"),
                 nullptr)) {
      throw OptionError(concat(expression.origin, ": column '", state_->columns[named.front()],
                               "' would have to be numbers and has other texts; try_cast(x AS DOUBLE) skips these",
                               state_->missing.words().empty()
                                   ? ""
                                   : concat(", ", setting_name("missing"), " names words that stand for no value")));
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
