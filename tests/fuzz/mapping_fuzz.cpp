// Any text given as a mapping file is refused with a reason or sets options.
#include <string>

#include "desirepath/core/error.h"
#include "desirepath/ingest/table_options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace desirepath;
  try {
    parse_mapping(std::string(reinterpret_cast<const char*>(data), size), "file.toml").validate();
  } catch (const Error&) {  // refused, with a reason
  }
  return 0;
}
