#!/usr/bin/env bash
# Everything that must hold before work is called done, in stages, one after the other; the first failure stops, and the
# next run takes up there: a stage that passed on these very files (uncommitted ones too) is not run again.
#
#   CHECKS="asan tidy" tools/check_all.sh     just those
#   CHECK_ALL_FRESH=1 tools/check_all.sh      all anew
#   CHECK_ALL_GO_ON=1 tools/check_all.sh      the later stages too when one fails
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
stages=${CHECKS:-test clang headers asan tsan tidy slow fuzz browser}
tools/setup.sh build test check browser || exit
tools/check_commits.sh || exit

configure_and_build() {  # preset [cmake arguments]
  mkdir -p build
  cmake --preset "$1" "${@:2}" >"build/configure-$1.log" || { cat "build/configure-$1.log"; return 1; }
  cmake --build --preset "$1" -j "$jobs"
}
default_tests() {  # preset [labels to leave out as well]
  tools/run_tests.py "$1" -j "$jobs" -LE "slow|fuzz|browser${2:+|$2}"
}

stage_test() { make --no-print-directory test; }
# All assertions are on here, and the benchmarks are compiled here and nowhere else.
stage_clang() { configure_and_build clang -DDESIREPATH_BENCHMARKS=ON && default_tests clang; }
stage_headers() { configure_and_build headers; }
# Shares over thousands of draws, and comparisons of many fits, call again and again what ThreadsDoNotChangeABit calls
# with one to seven threads: a third of the time, and nothing for a sanitizer to see.
repeated="*CompletionsHaveTheMarginalsAndPairs*:*CompletionsFollowTheModel*:*SampleDrawsTheJoint*:*AgreeWithEnumeration*:*NoChainComesOutBelow*"
# Many processes: the program from outside is not what sanitizers need. Nor are many threads what the address sanitizer
# needs, nor fits of every model from every other, degenerate data and long draws, on one thread each, the thread sanitizer.
one_thread="TakeUp.*:*SurvivesDegenerateData*:*ClimbsWithUnknownPeriods*:Fit.CheckpointsContinue*:Audit.*:LatentReward.*"
one_thread+=":ProbitLearning.*:WholeCovariance.*:Orthant.TenThousand*:OrthantEm.IsKept*:Company.OfShuffled*:LabelPermutation.*"
stage_asan() {
  configure_and_build asan && ASAN_OPTIONS=detect_leaks=1 GTEST_FILTER="-$repeated:*ThreadsDoNotChangeABit*" \
    LSAN_OPTIONS=suppressions=$PWD/tools/sanitizers/leak.supp default_tests asan end_to_end
}
stage_tsan() {
  configure_and_build tsan && TSAN_OPTIONS="suppressions=$PWD/tools/sanitizers/thread.supp halt_on_error=1" \
    GTEST_FILTER="-$repeated:$one_thread" default_tests tsan end_to_end
}
stage_tidy() { tools/tidy.py; }
stage_slow() { configure_and_build release -DDESIREPATH_TESTS=ON && tools/run_tests.py release -j "$jobs" -L slow; }
stage_fuzz() { tools/fuzz.sh 30 10000; }
stage_browser() {
  configure_and_build release -DDESIREPATH_TESTS=ON && tools/run_tests.py release -L browser &&
    DESIREPATH=build/release/bin/desirepath tools/check_pages.sh
}

# The files as they lie here, committed or not, as git would name them.
tree() {
  local index status
  index=$(mktemp)
  cp "$(git rev-parse --git-path index)" "$index"
  GIT_INDEX_FILE=$index git add --all . && GIT_INDEX_FILE=$index git write-tree
  status=$?
  rm -f "$index"
  return $status
}
passed_in() {  # file with the lines "tree seconds": the seconds of this tree
  [ -z "${CHECK_ALL_FRESH:-}" ] && awk -v tree="$now" '$1 == tree { seconds = $2 } END { print seconds }' "$1" 2>/dev/null
}

now=$(tree) || exit
state=build/check-all
mkdir -p "$state"
rows=()
failed=()
for stage in $stages; do
  declare -F "stage_$stage" >/dev/null || { echo "check-all: no stage '$stage'"; exit 2; }
  seconds=$(passed_in "$state/$stage")
  if [ -n "$seconds" ]; then
    rows+=("$stage|passed before|$seconds")
  elif [ "${#failed[@]}" -gt 0 ] && [ -z "${CHECK_ALL_GO_ON:-}" ]; then
    rows+=("$stage|not run|")
  else
    echo "== $stage"
    begin=$SECONDS
    if "stage_$stage"; then
      rows+=("$stage|passed|$((SECONDS - begin))")
      # What changed on the way was not tested.
      [ "$(tree)" != "$now" ] || echo "$now $((SECONDS - begin))" >>"$state/$stage"
    else
      rows+=("$stage|FAILED|$((SECONDS - begin))")
      failed+=("$stage")
    fi
  fi
done

echo
printf '%s\n' "${rows[@]}" | awk -F'|' '
  { total += $3; printf "%-10s %-14s %s\n", $1, $2, $3 == "" ? "" : sprintf("%3d min %02d s", $3 / 60, $3 % 60) }
  END { printf "%-10s %-14s %3d min %02d s\n", "", "", total / 60, total % 60 }'
[ "${#failed[@]}" -eq 0 ] || { echo "check-all: ${failed[*]}: failed; mend it and run again"; exit 1; }
echo "check-all: all passed"
