#include "desirepath/ingest/sql_words.h"

#include <algorithm>

#include "desirepath/core/text.h"
#include "desirepath/ingest/duckdb_library.h"

namespace desirepath::inline ingest {

namespace {

/// as_call: only where a parenthesis follows.
bool has_word(std::string_view sql, std::string_view word, bool as_call) {
  const std::string text = lower_case(sql), name = lower_case(word);
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const bool free_before = at == 0 || !is_word(text[at - 1]);
    const std::string_view behind = std::string_view(text).substr(at + name.size());
    const bool free_behind = as_call ? trimmed(behind).starts_with('(') : behind.empty() || !is_word(behind.front());
    if (free_before && free_behind) return true;
  }
  return false;
}

}  // namespace

bool mentions(std::string_view sql, std::string_view column) {
  return has_word(sql, column, /*as_call=*/false);
}

std::string chance_in(std::string_view sql, const std::vector<std::string>& columns, duckdb_connection connection) {
  for (const char* word : {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
                           "tablesample", "using sample"}) {
    const auto is_it = [&](const std::string& column) { return lower_case(column) == word; };
    if (std::ranges::none_of(columns, is_it) && mentions(sql, word)) return word;
  }
  duckdb_result found{};
  duckdb_query(connection, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT'",
               &found);
  std::string called;
  for (idx_t r = 0; r < duckdb_row_count(&found); ++r) {
    char* name = duckdb_value_varchar(&found, 0, r);
    if (has_word(sql, name, /*as_call=*/true)) called = name;
    duckdb_free(name);
  }
  duckdb_destroy_result(&found);
  return called;
}

}  // namespace desirepath::inline ingest
