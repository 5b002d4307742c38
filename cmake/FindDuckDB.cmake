# DuckDB's C library: one that is installed, or the one tools/setup.sh fetched into build/deps.
# Gives the target DuckDB::DuckDB.
set(_desirepath_deps ${CMAKE_CURRENT_LIST_DIR}/../build/deps/duckdb)
find_path(DuckDB_INCLUDE_DIR duckdb.h HINTS ${DUCKDB_ROOT} PATHS ${_desirepath_deps} PATH_SUFFIXES include)
find_library(DuckDB_LIBRARY duckdb HINTS ${DUCKDB_ROOT} PATHS ${_desirepath_deps} PATH_SUFFIXES lib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DuckDB REQUIRED_VARS DuckDB_LIBRARY DuckDB_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run tools/setup.sh build, or set DUCKDB_ROOT")
if(DuckDB_FOUND AND NOT TARGET DuckDB::DuckDB)
  add_library(DuckDB::DuckDB SHARED IMPORTED)
  set_target_properties(DuckDB::DuckDB PROPERTIES
    IMPORTED_LOCATION ${DuckDB_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${DuckDB_INCLUDE_DIR})
endif()
