#!/usr/bin/env bash
# Looks at the pages of the tour and of cohorts with strange names in headless Chromium: at four widths, in light and
# dark, with scripts and without, on paper, by axe-core; and validates their HTML and SVG.
#
#   DESIREPATH=program tools/check_pages.sh    with a program that is built; else it is built first
#   PAGES="demo codes" tools/check_pages.sh    these alone
#
# What was seen is left in build/pages.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh browser
modules=$PWD/build/deps/browser/node_modules
if [ -z "${DESIREPATH:-}" ]; then make --no-print-directory app >/dev/null; fi
program=$(realpath "${DESIREPATH:-build/release/bin/desirepath}")
pages=build/pages
rm -rf "$pages"
mkdir -p "$pages"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for names in ${PAGES:-demo long right-to-left markup codes}; do
  if [ "$names" = demo ]; then
    "$program" demo --out "$work/demo" --quiet
    "$program" report "$work/demo/states.desirepath" "$work/demo/university.cohort" --states-cohort "$work/demo/computer_science.cohort" \
      --answers "$work/demo/answers.desirepath" --evaluation "$work/demo/evaluation.json" --by residence --out "$work/again.html" \
      --figures "$pages/demo" --quiet
    cp "$work/demo/report.html" "$pages/demo.html"
    continue
  fi
  tests/browser/strange_table.py "$names" >"$work/$names.csv"
  "$program" prepare "$work/$names.csv" --out "$work/$names.cohort" --quiet
  "$program" fit "$work/$names.cohort" --states 3 --restarts 1 --out "$work/$names.states.desirepath" --quiet
  "$program" fit "$work/$names.cohort" --model hct --trees 1 --iterations 20 --out "$work/$names.answers.desirepath" --quiet
  "$program" report "$work/$names.states.desirepath" "$work/$names.cohort" --answers "$work/$names.answers.desirepath" --by home \
    --out "$pages/$names.html" --figures "$pages/$names" --quiet
done

failed=0
for page in "$pages"/*.html; do
  seen=${page%.html}-seen
  mkdir -p "$seen"
  DESIREPATH_BROWSER_MODULES=$modules node tests/browser/check_page.cjs "$page" "$seen" || failed=1
done
validate() { java -jar "$modules/vnu-jar/build/dist/vnu.jar" --errors-only "$@"; }
validate "$pages"/*.html || failed=1
validate --svg "$pages"/*/*.svg || failed=1
[ "$failed" = 0 ] || { echo "pages: not as they should be"; exit 1; }
echo "pages: looked at from 320 to 2560 pixels, in light, dark and on paper; HTML and SVG are valid"
