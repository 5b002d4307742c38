#include <algorithm>
#include <csignal>
#include <iterator>
#include <string_view>

#include <malloc.h>
#include <sys/resource.h>

#include "program.h"

namespace {

struct ListedVerb {
  std::string_view name;
  void (*add)(desirepath::app::Program&);
};

/// In the order --help lists them.
constexpr ListedVerb verbs[] = {
    {"demo", desirepath::app::add_demo},         {"simulate", desirepath::app::add_simulate},
    {"check", desirepath::app::add_check},       {"prepare", desirepath::app::add_prepare},
    {"split", desirepath::app::add_split},       {"inspect", desirepath::app::add_inspect},
    {"describe", desirepath::app::add_describe}, {"fit", desirepath::app::add_fit},
    {"select", desirepath::app::add_select},     {"compare", desirepath::app::add_compare},
    {"evaluate", desirepath::app::add_evaluate}, {"", desirepath::app::add_queries},
    {"report", desirepath::app::add_report},     {"orthant", desirepath::app::add_orthant},
};

}  // namespace

int main(int count, char** arguments) {
  using namespace desirepath::app;
  // A file that may not grow (ulimit -f) is then an error of the write like a full disk, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  // Memory holds students: no picture of it is left behind, whatever happens.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // Training makes and drops tables of megabytes at every iteration: giving them back to the system each time costs a
  // quarter of the time in page faults.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  Program program;
  // The options of all verbs take longer to make than many an answer: of a verb that is named only its own are made.
  const std::string_view asked = count > 1 && *arguments[1] != '\0' ? arguments[1] : "--help";
  const auto* const known = std::ranges::find(verbs, asked, &ListedVerb::name);
  if (known != std::end(verbs)) {
    known->add(program);
  } else if (!add_query(program, asked)) {
    for (const ListedVerb& verb : verbs)
      verb.add(program);
  }
  return program.run(count, arguments);
}
