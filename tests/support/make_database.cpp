// A DuckDB file for the tests of the program, by the SQL given: make_database FILE SQL.
#include <cstdio>

#include <duckdb.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  if (duckdb_open(argv[1], &database) == DuckDBError || duckdb_connect(database, &connection) == DuckDBError) return 1;
  duckdb_result result{};
  const bool failed = duckdb_query(connection, argv[2], &result) == DuckDBError;
  if (failed) std::fprintf(stderr, "%s\n", duckdb_result_error(&result));
  duckdb_destroy_result(&result);
  duckdb_disconnect(&connection);
  duckdb_close(&database);
  return failed ? 1 : 0;
}
