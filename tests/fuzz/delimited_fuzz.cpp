// Any bytes read as a table are refused or become rows of the header's width.
#include <cstdlib>
#include <string>

#include "support/text_tables.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/delimited_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace desirepath;
  try {
    RejectLog rejects;
    DelimitedOptions options;
    options.longest_record = 256;
    const std::string text(reinterpret_cast<const char*>(data), size);
    DelimitedReader reader(std::make_unique<TextDecoder>(bytes_of_text(text), "file", ""), "file", 0, options, rejects);
    RowBatch batch;
    std::int64_t last = 0;
    while (reader.next(batch)) {
      if (batch.cells.size() != batch.row_count() * reader.columns().size()) std::abort();
      for (const std::int64_t record : batch.records) {
        if (record <= last) std::abort();
        last = record;
      }
    }
  } catch (const Error&) {  // refused, with a reason
  }
  return 0;
}
