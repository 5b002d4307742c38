#include <array>
#include <csignal>
#include <iostream>

#include <malloc.h>
#include <sys/resource.h>

#include "program.h"

namespace desirepath::app {

namespace {
using AddVerb = void(Program&);
}  // namespace

// Each in a file of its name.
AddVerb add_demo, add_simulate, add_check, add_prepare, add_split, add_inspect, add_describe, add_fit, add_select,
    add_compare, add_evaluate, add_queries, add_report, add_orthant;

namespace {
/// The verbs there are, in the order --help lists them.
constexpr std::array verbs = {add_demo, add_simulate, add_check,   add_prepare,  add_split,   add_inspect, add_describe,
                              add_fit,  add_select,   add_compare, add_evaluate, add_queries, add_report,  add_orthant};
}  // namespace

}  // namespace desirepath::app

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
  std::ios::sync_with_stdio(false);  // nothing here writes through C's streams
  Program program;
  for (AddVerb* add : verbs)
    add(program);
  return program.run(count, arguments);
}
