#include <csignal>

#include "program.h"

int main(int count, char** arguments) {
  using namespace desirepath::app;
  // A file that may not grow (ulimit -f) is then an error of the write like a full disk, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
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
  add_queries(program);
  add_orthant(program);
  return program.run(count, arguments);
}
