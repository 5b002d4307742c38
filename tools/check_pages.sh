#!/usr/bin/env bash
# Renders the demonstration page in headless Chromium at the widths of a desk, a phone and paper, and checks that it
# asks for nothing from elsewhere and fits.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make --no-print-directory app >/dev/null
build/release/bin/desirepath demo --out "$work/demo" --quiet
page=$work/demo/report.html
if grep -Eq '(src|href)="?(https?:)?//|@import|url\(' "$page"; then echo "pages: something from elsewhere"; exit 1; fi
browse() {  # width height
  chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$work/profile" --window-size="$1,$2" \
    --screenshot="$work/page-$1.png" "file://$page" >/dev/null 2>&1
  [ -s "$work/page-$1.png" ] || { echo "pages: no picture at width $1"; exit 1; }
}
browse 1200 2000
browse 500 2000
chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --print-to-pdf="$work/page.pdf" "file://$page" >/dev/null 2>&1
[ -s "$work/page.pdf" ] || { echo "pages: does not print"; exit 1; }
echo "pages: rendered at 1200 and 500 pixels and on paper"
