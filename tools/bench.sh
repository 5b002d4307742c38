#!/usr/bin/env bash
# Speed and answers beside the packages people use today. Every benchmark reports ratios measured in one run.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -DDESIREPATH_BENCHMARKS=ON >/dev/null
cmake --build --preset release -j "$(nproc)"
for benchmark in build/release/bin/bench_*; do "$benchmark"; done
benchmarks/ingest_scale.py build/release/bin/desirepath "$(sed -n 's/^DuckDB_LIBRARY:[A-Z]*=//p' build/release/CMakeCache.txt)"
/usr/bin/python3 benchmarks/gaussian_peers.py
/usr/bin/python3 benchmarks/orthant_speed.py
/usr/bin/python3 benchmarks/peers.py
