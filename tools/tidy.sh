#!/usr/bin/env bash
# clang-tidy on the sources that changed since TIDY_BASE (default: the commit before the last release tag, else all).
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset clang >/dev/null
base=${TIDY_BASE:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
if [ -n "$base" ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'apps/*.cpp')
else
  mapfile -t files < <(git ls-files 'src/*.cpp' 'apps/*.cpp')
fi
[ "${#files[@]}" -gt 0 ] || { echo "tidy: nothing changed"; exit 0; }
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build/clang --quiet --warnings-as-errors='*'
echo "tidy: ${#files[@]} files"
