#!/usr/bin/env bash
# Every C++ source is as clang-format leaves it; --fix makes it so.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(find src apps tests benchmarks -name '*.h' -o -name '*.cpp' | sort)
if [ "${1:-}" = --fix ]; then clang-format -i "${files[@]}"; else clang-format --dry-run --Werror "${files[@]}"; fi
echo "format: ${#files[@]} files"
