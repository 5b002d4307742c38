// Time and spread of one estimator on one problem, for orthant_speed.py.
//
//   orthant_speed CASE.json ESTIMATOR SAMPLES RUNS
//
// Prints one line a run: log-probability, standard error, CPU seconds (set-up included, reading not).
#include <cstdlib>
#include <iostream>

#include <time.h>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/orthant_problem_json.h"

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace desirepath;
  if (argc != 5) {
    std::cerr << "usage: orthant_speed CASE.json ESTIMATOR SAMPLES RUNS\n";
    return 2;
  }
  try {
    const OrthantCase one = read_orthant_case(argv[1]);
    OrthantOptions options;
    options.estimator = parse_orthant_estimator(argv[2]);
    options.samples = std::strtoll(argv[3], nullptr, 10);
    for (std::uint64_t run = 0; run < std::strtoull(argv[4], nullptr, 10); ++run) {
      const double begin = cpu_seconds();
      const OrthantEstimate found = estimate_orthant(one.problem, options, RandomStream(run));
      const double seconds = cpu_seconds() - begin;
      std::cout << shortest(found.log_probability) << ' ' << shortest(found.standard_error.value_or(0)) << ' '
                << shortest(seconds) << '\n';
    }
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return error.exit_code();
  }
  return 0;
}
