// Texts in place of files, for readers of tables.
#pragma once

#include <string>

#include "desirepath/ingest/byte_source.h"
#include "desirepath/ingest/source.h"

namespace desirepath::test {

inline SmallTable small_table(const std::string& text, const std::string& file) {
  return read_small_table(bytes_of_text(text), file);
}

}  // namespace desirepath::test
