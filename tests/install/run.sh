#!/usr/bin/env bash
# Installs into a folder of its own and uses that as others would, with find_package or add_subdirectory alone.
set -euo pipefail
source_folder=$1 build_folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
say() { echo "install: $*"; exit 1; }

cmake --install "$build_folder" --prefix "$prefix" >/dev/null
"$prefix/bin/desirepath" --version
[ -e "$prefix/include/desirepath/models/model.h" ] || say "no public headers"
[ ! -e "$prefix/include/desirepath/emissions/tree_group.h" ] || say "internal headers came along"
if grep -E -e '-W[a-z]|-march' -r "$prefix"/lib*/cmake/desirepath/desirepathTargets*.cmake; then say "flags of ours on targets"; fi

configure() {  # consumer [cmake arguments]
  cp -r "$source_folder/tests/install/$1" "$work/$1"
  cmake -S "$work/$1" -B "$work/$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" "${@:2}" >"$work/log" ||
    { cat "$work/log"; say "$1 does not configure"; }
}

configure ingest
cmake --build "$work/ingest/build"
(cd "$work" && ingest/build/consumer)

# Who needs no raw tables needs none of what reads them.
hidden=()
for package in DuckDB ZLIB zstd tomlplusplus Boost CLI11; do hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"); done
rm -f "$prefix"/lib*/libduckdb* "$prefix"/lib*/*/libduckdb*
configure models "${hidden[@]}"
cmake --build "$work/models/build"
(cd "$work" && models/build/consumer)

# As a part of another project: its warnings are not errors there.
configure subproject -DDESIREPATH_SOURCE="$source_folder"
if grep -q -e -Werror "$work/subproject/build/build.ninja"; then say "-Werror in somebody else's project"; fi
echo "install: consumers of ingest, of core and models, and a subproject"
