#!/usr/bin/env bash
# Subjects of commits have at most 72 characters, since COMMITS_BASE (default: the commit that brought this check).
set -euo pipefail
cd "$(dirname "$0")/.."
base=${COMMITS_BASE:-$(git log --diff-filter=A --format=%H -- tools/check_commits.sh | tail -n 1)}
[ -n "$base" ] || { echo "commits: none since there is this check"; exit 0; }
subjects=$(git log --no-merges --format='%h %s' "$base..HEAD")
long=$(awk 'length($0) > 72 + index($0, " ")' <<<"$subjects")
[ -z "$long" ] || { printf 'commits: subjects over 72 characters:\n%s\n' "$long"; exit 1; }
echo "commits: $(grep -c . <<<"$subjects" || true) subjects"
