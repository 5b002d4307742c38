// Runs a fuzz target on mutants drawn from a seed, without libFuzzer: mutants_KIND COUNT [FIRST].
//
// A mutant is its number, so that one that fails can be run again alone. One that takes over five seconds
// of the processor, or a minute of the clock, is a failure.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/time.h>
#include <unistd.h>

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {
std::atomic<unsigned> number = 0;

void processor_seconds(long seconds) {
  const itimerval limit{{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}
}  // namespace

int main(int count, char** arguments) {
  const auto last = static_cast<unsigned>(count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1000);
  const auto first = static_cast<unsigned>(count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 0);
  for (const int signal : {SIGABRT, SIGALRM, SIGPROF, SIGILL, SIGTRAP, SIGSEGV, SIGFPE, SIGBUS}) {
    std::signal(signal, [](int which) {
      std::fprintf(stderr, "mutant %u: signal %d\n", number.load(), which);
      std::_Exit(1);
    });
  }
  std::vector<std::uint8_t> data(1 << 20);
  for (number = first; number < first + last; ++number) {
    ::alarm(60);
    processor_seconds(0);  // the first makes the seeds
    const std::size_t size = LLVMFuzzerCustomMutator(data.data(), 0, data.size(), number);
    processor_seconds(5);
    LLVMFuzzerTestOneInput(data.data(), size);
  }
  ::alarm(0);
  processor_seconds(0);
  std::printf("%u mutants\n", last);
  return 0;
}
