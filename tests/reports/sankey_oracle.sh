#!/usr/bin/env bash
# Our Sankey diagrams cross no more than those of d3-sankey (tools/setup.sh browser fetches it; without it: skipped).
set -euo pipefail
oracle=$1 source=$2
modules=$source/build/deps/d3-sankey/node_modules
if [ ! -d "$modules/d3-sankey" ] || ! command -v node >/dev/null; then echo "no d3-sankey: run tools/setup.sh browser"; exit 77; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$oracle" write >"$work/diagrams.json"
node "$source/tests/reports/d3_sankey.js" "$modules" <"$work/diagrams.json" >"$work/places.json"
"$oracle" compare "$work/places.json"
