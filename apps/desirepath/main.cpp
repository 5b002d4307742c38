#include "program.h"

int main(int count, char** arguments) {
  using namespace desirepath::app;
  Program program;
  add_demo(program);
  add_simulate(program);
  add_check(program);
  add_prepare(program);
  add_inspect(program);
  add_describe(program);
  return program.run(count, arguments);
}
