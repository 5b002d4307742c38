#!/usr/bin/env bash
# Runs every fuzz target for a while, as many at a time as there are cores, and hostile archives of every kind with a right
# digest, by number: tools/fuzz.sh [seconds each, 60] [archives of a kind, 20000].
set -euo pipefail
cd "$(dirname "$0")/.."
export seconds=${1:-60} mutants=${2:-20000}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$(nproc)"
fuzz() {  # target
  local name=$1 log status=0
  log=build/fuzz/$name.log
  local limits=("-max_total_time=$seconds" -max_len=4096 -timeout=10)
  case $name in fuzz_cohort | fuzz_model | fuzz_checkpoint) limits=("-runs=$mutants" -max_len=200000 -timeout=5) ;; esac
  # Seeds: what earlier runs found, and the kept bad inputs.
  mkdir -p "build/fuzz/corpus/$name"
  LSAN_OPTIONS=suppressions=tools/sanitizers/leak.supp "build/fuzz/bin/$name" "${limits[@]}" \
    -rss_limit_mb=4096 -artifact_prefix="build/fuzz/" -verbosity=0 -print_final_stats=1 \
    "build/fuzz/corpus/$name" tests/end_to_end/bad_input/files >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 40 "$log"
    echo "fuzz: $name failed; all it said is in $log"
    return 1
  fi
  echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
}
export -f fuzz
find build/fuzz/bin -name 'fuzz_*' -printf '%f\n' | sort | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz {}'
