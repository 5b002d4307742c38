#!/usr/bin/env bash
# Installs what a group of targets needs and is not there yet, and says so first.
#
#   tools/setup.sh build            compile and run the program
#   tools/setup.sh build test       ... and its default tests
#   tools/setup.sh check            clang, clang-tidy, libFuzzer (make check-all)
#   tools/setup.sh browser          Chromium and what looks at pages with it, and d3-sankey to compare with (make check-all)
#   tools/setup.sh bench            the packages we compare with (make bench)
#
# Works as root, or as a user with sudo. DESIREPATH_SETUP=off checks and installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

duckdb_version=1.4.4
duckdb_library_package=@duckdb/node-bindings-linux-x64@1.4.4-r.1
duckdb_library_sha256=1ef33048e12235115ac0d277a0aaccbb560e33248144f488b5ac005cd9ba81b5
duckdb_header_package=duckdb@1.4.4
duckdb_header_sha256=cbe6a827284375c5a646b8f27dbd3a00808ce8738b5bbb49c190cb1e08540281
# Other platforms: @duckdb/node-bindings-linux-arm64, -darwin-x64, -darwin-arm64 hold the same library.

sankey_package=d3-sankey@0.12.3  # what our diagrams are compared with

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
has_command() { command -v "$1" >/dev/null 2>&1; }
has_header() {
  local folder
  for folder in /usr/local/include /usr/include /usr/include/x86_64-linux-gnu /usr/include/aarch64-linux-gnu; do
    [ -e "$folder/$1" ] && return 0
  done
  return 1
}
has_file() { compgen -G "$1" >/dev/null; }
has_python() { /usr/bin/python3 -c "import $1" >/dev/null 2>&1; }

missing=()
need() {  # need PACKAGE TEST ARGUMENT
  "$2" "$3" || missing+=("$1")
}

needs_duckdb=no needs_sankey=no needs_browser_modules=no
for group in "$@"; do
  case "$group" in
    build)
      need g++ has_command g++
      need cmake has_command cmake
      need ninja-build has_command ninja
      need libeigen3-dev has_header eigen3/Eigen/Core
      need libcli11-dev has_header CLI/CLI.hpp
      need libtomlplusplus-dev has_header toml++/toml.h
      need nlohmann-json3-dev has_header nlohmann/json.hpp
      need libboost-dev has_header boost/version.hpp
      need librandom123-dev has_header Random123/philox.h
      need libxxhash-dev has_header xxhash.h
      need zlib1g-dev has_header zlib.h
      need libzstd-dev has_header zstd.h
      need libzip-dev has_header zip.h
      need libpugixml-dev has_header pugixml.hpp
      need libgraphviz-dev has_header graphviz/gvc.h
      needs_duckdb=yes ;;
    test)
      need libgtest-dev has_header gtest/gtest.h
      need librapidcheck-dev has_header rapidcheck.h
      need libglpk-dev has_header glpk.h
      need clang-format has_command clang-format
      need python3 has_command python3
      need gzip has_command gzip
      need zstd has_command zstd ;;
    check)
      need clang-14 has_command clang++-14
      need clang-tidy-14 has_command clang-tidy-14
      need libclang-rt-14-dev has_file '/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a'
      need libbenchmark-dev has_header benchmark/benchmark.h ;;
    browser)
      need chromium has_command chromium
      need nodejs has_command node
      need default-jre-headless has_command java
      needs_browser_modules=yes needs_sankey=yes ;;
    bench)
      need libbenchmark-dev has_header benchmark/benchmark.h
      need python3-sklearn has_python sklearn
      need python3-scipy has_python scipy
      need libopenblas0-pthread has_file '/usr/lib/*/openblas-pthread/libopenblas.so.0'
      need r-base-core has_command Rscript
      for package in mvtnorm mclust flexmix e1071; do
        need "r-cran-$package" has_file "/usr/lib/R/site-library/$package/DESCRIPTION"
      done
      need python3-pomegranate has_python pomegranate ;;
    *) die "no group '$group' (build, test, check, browser, bench)" ;;
  esac
done

duckdb_installed() {
  { has_header duckdb.h && has_file '/usr/lib*/libduckdb.so' || has_file '/usr/lib/*/libduckdb.so' ||
    has_file '/usr/local/lib/libduckdb.so'; } && has_header duckdb.h
}
fetch_duckdb=no
if [ "$needs_duckdb" = yes ] && ! duckdb_installed; then
  stamp=build/deps/duckdb/version-$duckdb_version
  if [ ! -e "$stamp" ]; then
    fetch_duckdb=yes
    need npm has_command npm
    need ca-certificates has_file '/etc/ssl/certs/ca-certificates.crt'
  fi
fi

fetch_browser_modules=no
modules=build/deps/browser
if [ "$needs_browser_modules" = yes ] && ! cmp -s tests/browser/package-lock.json "$modules/package-lock.json"; then
  fetch_browser_modules=yes
  need npm has_command npm
  need ca-certificates has_file '/etc/ssl/certs/ca-certificates.crt'
fi
sankey_folder=build/deps/d3-sankey
if [ "$needs_sankey" = yes ] && [ ! -d $sankey_folder/node_modules ]; then need npm has_command npm; fi

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif has_command sudo; then sudo "$@"
  else die "not root and no sudo: install them by hand: ${missing[*]}"
  fi
}

if [ "${#missing[@]}" -gt 0 ]; then
  packages=$(printf '%s\n' "${missing[@]}" | sort -u | tr '\n' ' ')
  if [ "${DESIREPATH_SETUP:-on}" = off ]; then die "missing, and told not to install: $packages"; fi
  has_command apt-get || die "no apt-get here; install the equivalents of: $packages"
  say "installing Debian packages: $packages"
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get update -q >&2
  # shellcheck disable=SC2086
  as_root apt-get install -q -y --no-install-recommends $packages >&2
fi

if [ "$fetch_duckdb" = yes ]; then
  if [ "${DESIREPATH_SETUP:-on}" = off ]; then die "missing, and told not to install: DuckDB $duckdb_version"; fi
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    die "no pinned DuckDB for $(uname -s)-$(uname -m): install libduckdb $duckdb_version and run again"
  say "fetching DuckDB $duckdb_version from npm: $duckdb_library_package, $duckdb_header_package"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  (
    cd "$work"
    npm pack --silent "$duckdb_library_package" "$duckdb_header_package" >/dev/null
    for archive in *.tgz; do
      tar -xzf "$archive" --wildcards '*/libduckdb.so' '*/src/include/duckdb.h' '*/LICENSE' 2>/dev/null || true
    done
    printf '%s  %s\n%s  %s\n' "$duckdb_library_sha256" package/libduckdb.so \
      "$duckdb_header_sha256" package/src/duckdb/src/include/duckdb.h | sha256sum --check --quiet
  ) || die "DuckDB could not be fetched, or its digest is not the pinned one"
  mkdir -p build/deps/duckdb/include build/deps/duckdb/lib
  cp "$work/package/libduckdb.so" build/deps/duckdb/lib/
  cp "$work/package/src/duckdb/src/include/duckdb.h" build/deps/duckdb/include/
  touch "$stamp"
fi

if [ "$fetch_browser_modules" = yes ]; then
  if [ "${DESIREPATH_SETUP:-on}" = off ]; then die "missing, and told not to install: what tests/browser/package.json lists"; fi
  say "fetching what tests/browser/package.json lists from npm, by the digests of its lock"
  mkdir -p "$modules"
  cp tests/browser/package.json tests/browser/package-lock.json "$modules/"
  (cd "$modules" && npm ci --silent --ignore-scripts >&2) ||
    { rm -f "$modules/package-lock.json"; die "they could not be fetched, or their digests are not those of the lock"; }
fi

if [ "$needs_sankey" = yes ] && [ ! -d $sankey_folder/node_modules ]; then
  if [ "${DESIREPATH_SETUP:-on}" = off ]; then die "missing, and told not to install: $sankey_package"; fi
  say "fetching $sankey_package from npm"
  npm install --silent --ignore-scripts --no-audit --no-fund --prefix $sankey_folder "$sankey_package" >&2
fi
