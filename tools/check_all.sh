#!/usr/bin/env bash
# Everything that must hold before work is called done: make test, then clang, sanitizers, clang-tidy, slow tests,
# fuzzing and the browser. One after the other; the first failure stops. CHECKS="asan tidy" runs just those.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
checks=${CHECKS:-test clang asan tsan tidy slow fuzz browser}
tools/setup.sh build test check browser
default='slow|fuzz|browser'

build_and_test() {  # preset [ctest arguments]
  local preset=$1
  shift
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" -j "$jobs"
  ctest --preset "$preset" -j "$jobs" "$@"
}

for check in $checks; do
  echo "== $check"
  case "$check" in
    test) make test ;;
    clang) build_and_test clang -LE "$default" ;;
    asan) ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$PWD/tools/sanitizers/leak.supp \
      build_and_test asan -LE "$default|end_to_end" ;;
    tsan) TSAN_OPTIONS="suppressions=$PWD/tools/sanitizers/thread.supp halt_on_error=1" \
      build_and_test tsan -LE "$default|end_to_end" ;;
    tidy) tools/tidy.py ;;
    slow) cmake --preset release -DDESIREPATH_TESTS=ON >/dev/null
      cmake --build --preset release -j "$jobs"
      ctest --preset release -L slow ;;
    fuzz) tools/fuzz.sh 60 ;;
    browser) tools/check_pages.sh ;;
    *) echo "no check '$check'"; exit 2 ;;
  esac
done
echo "check-all: $checks: all passed"
