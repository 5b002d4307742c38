#!/usr/bin/env python3
"""Long runs whose results are recorded in docs/measurements.md (make measure).

    tools/measure.py [NAME ...]

Everything here has a small version in `make check-all`. A run that fails is recorded as failed, and the exit status is 1.
"""
import datetime
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measurements.md"
HEAD = """# Measurements that take long

`make measure` runs these and writes this page; `make measure NAMES=audit` runs one of them. `make check-all` runs a small version of each.

| name | what | result | commit | date | minutes |
|---|---|---|---|---|--:|
"""
TESTS = "build/release/bin"

# name: what it measures, preset that must be built, command, pattern of the result in what it prints
MEASUREMENTS = {
    "audit": ("what 1,000 random cohorts disclose about fewer than ten students, by integer programming", "release",
              f"DESIREPATH_AUDITS=1000 {TESTS}/test_audit", r"\[  PASSED  \] \d+ tests?"),
    "cross_audit": ("what all outputs about each of 1,000 random cohorts disclose together, by integer programming", "release",
                    "DESIREPATH=build/release/bin/desirepath python3 -B tests/end_to_end/cross_audit_test.py --cohorts 1000 --first 1000",
                    r"cross-output audit: .*"),
    "kills": ("fits of every kind, killed 1,200 times and resumed to the same bytes", "release",
              "DESIREPATH=build/release/bin/desirepath python3 -B tests/end_to_end/resume_test.py --kill 1200", r"\d+ kills in \d+ fits"),
    "chance": ("runs of 200 with findings at q 0.05 where there is nothing to find, for each list of findings", "release",
               "DESIREPATH=build/release/bin/desirepath python3 -B tests/end_to_end/chance_test.py --runs 200 Chance.test_null_runs_find_nothing",
               r"null runs with findings, .*"),
    "coverage": ("share of 95 % intervals of infer --total that held, courses of ten expected takers or more", "release",
                 "DESIREPATH=build/release/bin/desirepath python3 -B tests/end_to_end/coverage_measure.py", r"coverage: .*"),
    "planted": ("planted tacit prerequisites and numbered course pairs found by prerequisites", "release",
                "DESIREPATH=build/release/bin/desirepath python3 -B tests/end_to_end/planted_measure.py", r"planted: .*"),
    **{f"mutants_{kind}": (f"damaged {kind} files with a right digest, under the address and undefined-behaviour sanitizers", "asan",
                           f"build/asan/bin/mutants_{kind} 1000000 && echo 1,000,000 clean", r"1,000,000 clean")
       for kind in ("cohort", "model", "checkpoint")},
    "fuzz": ("ten minutes of every fuzz target", "fuzz", "tools/fuzz.sh 600 200000", r"fuzz: .* inputs"),
}


def run(name):
    what, preset, command, pattern = MEASUREMENTS[name]
    print(f"== {name}: {what}", flush=True)
    if preset != "fuzz":  # fuzz.sh builds by itself
        for step in (["cmake", "--preset", preset, "-DDESIREPATH_TESTS=ON"], ["cmake", "--build", "--preset", preset, "-j", str(os.cpu_count())]):
            subprocess.run(step, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    found = re.findall(pattern, done.stdout + done.stderr)
    passed = done.returncode == 0 and found
    result = "; ".join(found) if passed else f"FAILED (exit {done.returncode})"
    if not passed:
        print((done.stdout + done.stderr)[-4000:])
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    minutes = (time.monotonic() - begin) / 60
    print(f"{name}: {result}", flush=True)
    return passed, f"| {name} | {what} | {result} | {commit} | {datetime.date.today()} | {minutes:.1f} |"


def main():
    names = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"measure: no measurement {', '.join(unknown)}; there are: {', '.join(MEASUREMENTS)}")
    rows = {}
    if PAGE.exists():
        rows = {line.split("|")[1].strip(): line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| name ")}
    failed = False
    for name in names:
        passed, rows[name] = run(name)
        failed = failed or not passed
        PAGE.write_text(HEAD + "\n".join(rows[known] for known in MEASUREMENTS if known in rows) + "\n")
    sys.exit(1 if failed else 0)


main()
