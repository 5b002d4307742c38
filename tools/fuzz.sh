#!/usr/bin/env bash
# Runs every fuzz target for a while, as many at a time as there are cores: tools/fuzz.sh [seconds each, 60].
set -euo pipefail
cd "$(dirname "$0")/.."
export seconds=${1:-60}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$(nproc)"
fuzz() {  # target
  local name=$1 log status=0
  log=build/fuzz/$name.log
  # Seeds: what earlier runs found, and the kept bad inputs.
  mkdir -p "build/fuzz/corpus/$name"
  LSAN_OPTIONS=suppressions=tools/sanitizers/leak.supp "build/fuzz/bin/$name" -max_total_time="$seconds" -max_len=4096 \
    -timeout=10 -rss_limit_mb=4096 -artifact_prefix="build/fuzz/" -verbosity=0 -print_final_stats=1 \
    "build/fuzz/corpus/$name" tests/end_to_end/bad_input/files >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 40 "$log"
    echo "fuzz: $name failed; all it said is in $log"
    return 1
  fi
  echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
}
export -f fuzz
find build/fuzz/bin -name 'fuzz_*' -printf '%f\n' | sort | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz {}'
