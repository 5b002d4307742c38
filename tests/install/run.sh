#!/usr/bin/env bash
# Installs into a folder of its own, builds a consumer against it with find_package alone, runs both.
set -euo pipefail
source_folder=$1 build_folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build_folder" --prefix "$work/prefix" >/dev/null
"$work/prefix/bin/desirepath" --version
cp -r "$source_folder/tests/install/consumer" "$work/consumer"
cmake -S "$work/consumer" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build"
cd "$work" && ./build/consumer
