#include <csignal>

#include <malloc.h>
#include <sys/resource.h>

#include "program.h"

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
  add_demo(program);
  add_simulate(program);
  add_check(program);
  add_prepare(program);
  add_split(program);
  add_inspect(program);
  add_describe(program);
  add_fit(program);
  add_select(program);
  add_compare(program);
  add_evaluate(program);
  add_queries(program);
  add_report(program);
  add_orthant(program);
  return program.run(count, arguments);
}
