#include "desirepath/ingest/duckdb_library.h"

#include <dlfcn.h>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

void* duckdb_address(const char* name) {
  // It stays loaded to the end: its threads and what it frees at exit need it.
  static void* const library = dlopen("libduckdb.so", RTLD_NOW | RTLD_LOCAL);
  void* const address = library == nullptr ? nullptr : dlsym(library, name);
  if (address == nullptr) throw BackendError(concat("DuckDB's library cannot be loaded: ", dlerror()));
  return address;
}

}  // namespace desirepath::inline ingest
