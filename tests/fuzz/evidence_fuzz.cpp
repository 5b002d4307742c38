// Evidence tables, course lists and aliases.
#include <string>

#include "support/text_tables.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/course_list.h"
#include "desirepath/ingest/evidence_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace desirepath;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Schema schema({{"a", "", "", "", "", {}, {}}, {"b", "", "", "", "", {}, {}}}, {"1", "2"});
  const auto attempt = [](auto call) {
    try {
      call();
    } catch (const Error&) {  // refused, with a reason
    }
  };
  attempt(
      [&] { (void)evidence_from_table(schema, test::small_table("student,period,course,taken\n" + text, "file")); });
  attempt([&] { (void)courses_from_table(test::small_table(text, "file")); });
  attempt([&] { (void)aliases_from_table(test::small_table("alias,course\n" + text, "file")); });
  return 0;
}
