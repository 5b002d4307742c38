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

namespace {

/// As duckdb.h lays it out: a short text lies in the cell itself. The library's own function costs a call a cell.
std::string_view text_of(const duckdb_string_t& cell) {
  const std::uint32_t size = cell.value.inlined.length;
  return {size <= sizeof cell.value.inlined.inlined ? cell.value.inlined.inlined : cell.value.pointer.ptr, size};
}

/// The rows of one query as they come.
class SqlStream {
 public:
  /// has_records: the last column numbers the rows; else they are counted.
  SqlStream(std::size_t columns, bool has_records) : columns_(columns), has_records_(has_records) {}
  ~SqlStream() {
    if (chunk_ != nullptr) duckdb_destroy_data_chunk(&chunk_);
    duckdb_destroy_prepare(&statement_);
  }
  SqlStream(const SqlStream&) = delete;
  SqlStream& operator=(const SqlStream&) = delete;

  bool prepare(duckdb_connection connection, const std::string& sql) {
    return duckdb_prepare(connection, sql.c_str(), &statement_) == DuckDBSuccess;
  }
  /// False at the end, or where it fails: error() tells which.
  bool next(RowBatch& batch) {
    batch.clear();
    batch.column_count = columns_;
    if (!std::exchange(is_started_, true) &&
        duckdb_execute_prepared_streaming(statement_, &result_.value) == DuckDBError) {
      return false;
    }
    if (chunk_ != nullptr) duckdb_destroy_data_chunk(&chunk_);
    chunk_ = duckdb_fetch_chunk(result_.value);
    if (chunk_ == nullptr) return false;
    const idx_t rows = duckdb_data_chunk_get_size(chunk_);
    batch.cells.resize(rows * columns_);
    for (std::size_t c = 0; c < columns_; ++c) {
      duckdb_vector vector = duckdb_data_chunk_get_vector(chunk_, c);
      const auto* texts = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(vector));
      const std::uint64_t* validity = duckdb_vector_get_validity(vector);  // null: all are there
      std::string_view* cell = batch.cells.data() + c;
      for (idx_t r = 0; r < rows; ++r, cell += columns_) {
        if (validity == nullptr || (validity[r / 64] >> (r % 64) & 1U) != 0) *cell = text_of(texts[r]);
      }
    }
    batch.records.resize(rows);
    const auto* numbers =
        static_cast<const std::int64_t*>(duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk_, columns_)));
    for (idx_t r = 0; r < rows; ++r)
      batch.records[r] = has_records_ ? numbers[r] : ++counted_;
    return true;
  }
  std::optional<duckdb_error_type> error() {
    if (duckdb_result_error(&result_.value) == nullptr) return std::nullopt;
    return duckdb_result_error_type(&result_.value);
  }
  std::int64_t counted() const { return counted_; }

 private:
  std::size_t columns_;
  bool has_records_;
  bool is_started_ = false;
  duckdb_prepared_statement statement_ = nullptr;
  Result result_;
  duckdb_data_chunk chunk_ = nullptr;
  std::int64_t counted_ = 0;
};

}  // namespace

/// The rows of a running query.
class SqlRows : public RowSource {
 public:
  SqlRows(std::unique_ptr<SqlTable::State> state, const std::vector<SqlExpression>& expressions)
      : state_(std::move(state)) {
    // Innermost, expressions over text are computed and the columns others need as numbers handed on; then those are
    // cast; outermost, the expressions over numbers are computed.
    query_.table = state_->relation;
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
    query_.before =
        concat("SELECT ", outer, "CAST(", bad, " AS VARCHAR), \"desirepath record\" FROM (SELECT ", middle,
               "\"desirepath record\" FROM (SELECT ", inner, record, " AS \"desirepath record\" FROM ", query_.before);
    query_.after += "))";
    stream_.emplace(columns_.size(), !state_->record_expression.empty());
    if (!stream_->prepare(state_->connection, concat(query_.before, query_.table, query_.after)))
      fail(DUCKDB_ERROR_BINDER);
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  std::string description() const override {
    return state_->rows ? state_->rows->description() : concat(state_->kind, ", ", state_->columns.size(), " columns");
  }
  double fraction() const override {
    if (state_->rows) return state_->rows->fraction();
    return stretches_given_ == 0
               ? 0
               : static_cast<double>(stretches_given_) / static_cast<double>(state_->stretches.size());
  }

  bool next(RowBatch& batch) override {
    if (stream_->next(batch)) return true;
    check_end(*stream_);
    return false;
  }

  bool begin_pieces() override { return !state_->stretches.empty(); }
  std::unique_ptr<RowPiece> next_piece() override {
    if (stretches_given_ == state_->stretches.size()) return nullptr;
    return std::make_unique<Piece>(*this, state_->stretches[stretches_given_++]);
  }

 private:
  /// A stretch of the table, over a connection of its own.
  class Piece : public RowPiece {
   public:
    Piece(const SqlRows& rows, std::pair<std::int64_t, std::int64_t> stretch)
        : rows_(rows), stretch_(stretch), stream_(rows.columns_.size(), /*has_records=*/false) {}

    bool next(RowBatch& batch) override {
      if (connection_.value == nullptr) start();
      if (stream_.next(batch)) return true;
      rows_.check_end(stream_);
      return false;
    }
    std::int64_t record_count() const override { return stream_.counted(); }

   private:
    void start() {
      const SqlTable::State& state = *rows_.state_;
      if (duckdb_connect(state.database, &connection_.value) == DuckDBError)
        throw BackendError("DuckDB could not be started");
      const std::string table = concat("(SELECT * FROM ", rows_.query_.table, " WHERE ", state.row_number,
                                       " >= ", stretch_.first, " AND ", state.row_number, " < ", stretch_.second, ")");
      if (!stream_.prepare(connection_.value, concat(rows_.query_.before, table, rows_.query_.after)))
        rows_.fail(DUCKDB_ERROR_BINDER);
    }

    const SqlRows& rows_;
    std::pair<std::int64_t, std::int64_t> stretch_;
    Connection connection_;
    SqlStream stream_;
  };

  /// Throws unless it ended as it should.
  void check_end(SqlStream& stream) const {
    const auto error = stream.error();
    if (state_->failure || error) fail(error.value_or(DUCKDB_ERROR_INVALID));
  }

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
      query_.before = concat("(SELECT *", replaced.empty() ? "" : concat(" REPLACE (", replaced, ")"), raw, " FROM ");
      query_.after = ")";
      state_->relation = concat(query_.before, query_.table, query_.after);
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
  struct {
    std::string before, table, after;
  } query_;  // the table, or a stretch of it, between the two
  std::optional<SqlStream> stream_;
  std::size_t stretches_given_ = 0;
  bool has_expressions_ = false;  // of the user: they may fail where the file does not
};

std::unique_ptr<RowSource> SqlTable::select(std::vector<SqlExpression> expressions) && {
  return std::make_unique<SqlRows>(std::move(state_), expressions);
}

}  // namespace desirepath::inline ingest
