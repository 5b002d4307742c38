// Term labels and house code tables.
#include <cstdlib>
#include <string>

#include "support/text_tables.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/course_list.h"
#include "desirepath/ingest/term.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace desirepath;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto term = TermRules().parse(text);
  if (term && (term->academic_year < 1899 || term->academic_year > 2099)) std::abort();
  try {
    (void)terms_from_table(test::small_table("code,year,order,summer\n" + text, "file"));
  } catch (const Error&) {  // refused, with a reason
  }
  return 0;
}
