// What an SQL expression of the user's names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <duckdb.h>

namespace desirepath::inline ingest {

/// Whether an expression names the column, as a word of its own; SQL does not mind case.
bool mentions(std::string_view sql, std::string_view column);
/// A function or word in it that gives another answer at every run (a draw, the clock); empty: none. The same command
/// must give the same rows.
std::string chance_in(std::string_view sql, const std::vector<std::string>& columns, duckdb_connection connection);

}  // namespace desirepath::inline ingest
