#!/usr/bin/env bash
# Runs every fuzz target for a while: tools/fuzz.sh [seconds each, 60].
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "$(nproc)"
for target in build/fuzz/bin/fuzz_*; do
  name=$(basename "$target")
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  # Seeds: what earlier runs found, and the kept bad inputs.
  echo "fuzz: $name for $seconds s"
  LSAN_OPTIONS=suppressions=tools/sanitizers/leak.supp "$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
    -rss_limit_mb=4096 -artifact_prefix="build/fuzz/" -verbosity=0 -print_final_stats=1 "$corpus" \
    tests/end_to_end/bad_input/files 2>&1 | tail -n 8
done
