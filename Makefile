# Thin: every target is one or two commands. `make help` lists them.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
BIN := build/release/bin/desirepath

.PHONY: help demo test check-all measure bench install app format setup clean

help:             ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo:             ## install what is missing, build, and tour a synthetic university
	tools/setup.sh build
	$(MAKE) --no-print-directory app
	$(BIN) demo --out desirepath-demo --force

app:              ## build the program for this machine: build/release/bin/desirepath
	@mkdir -p build
	cmake --preset release > build/configure.log || { cat build/configure.log; exit 1; }
	cmake --build --preset release -j $(JOBS) --target desirepath

test:             ## install what is missing, build, run the default tests and the style checks
	tools/setup.sh build test
	@mkdir -p build
	cmake --preset release -DDESIREPATH_TESTS=ON > build/configure.log || { cat build/configure.log; exit 1; }
	cmake --build --preset release -j $(JOBS)
	tools/check_format.sh
	tools/check_include_direction.py
	tools/run_tests.py release -j $$(($(JOBS) + 1)) -LE 'slow|fuzz|browser'

check-all:        ## test, and clang, sanitizers, clang-tidy, slow tests, fuzzing, browser
	tools/check_all.sh

measure:          ## runs that take hours; results go into docs/measurements.md (NAMES="audit kills" for some)
	tools/setup.sh build test check
	tools/measure.py $(NAMES)

bench:            ## speed and answers beside the packages people use today
	tools/setup.sh build bench
	tools/bench.sh

install:          ## build and install under PREFIX
	tools/setup.sh build
	$(MAKE) --no-print-directory app
	cmake --build --preset release -j $(JOBS)
	cmake --install build/release --prefix $(PREFIX)

format:           ## clang-format every source in place
	tools/check_format.sh --fix

setup:            ## install what the program and its tests need
	tools/setup.sh build test

clean:            ## remove everything built (what was fetched stays in build/deps)
	find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +
