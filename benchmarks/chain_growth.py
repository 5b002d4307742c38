#!/usr/bin/env python3
"""How the time and memory of training grow with students, courses, states and courses a student.

    benchmarks/chain_growth.py WORK [--program build/release/bin/desirepath] [--students 1000000] [--courses 125] [--states 10]
                               [--taken 8] [--periods 4] [--iterations 30] [--models nb,tan] [--threads 2] [--unknown 0]
                               [--base-only]

WORK is a folder for the tables and cohorts (about 1 GB at a million students); what is there already is used again. Each
student has one of 12 kinds, each kind its own order of popularity of the courses, and takes exactly TAKEN of them in each period;
a share UNKNOWN of the later periods is missing. First the base case, then the same with each of the four halved in turn.
CPU seconds (all threads) and peak memory are those of the whole `fit` process, reading of the cohort included; `an iteration`
is the training time the program reports over its iterations, start and order of states included.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

KINDS = 12


def write_table(path, students, courses, taken, periods, unknown):
    draw = random.Random(students * 7 + courses * 5 + taken * 3 + periods)
    weights = [1 / (rank + 3) for rank in range(courses)]
    total, running = 0, []
    for weight in weights:
        total += weight
        running.append(total)
    orders = [[draw.sample(range(courses), courses) for _ in range(periods)] for _ in range(KINDS)]
    part = path.with_suffix(".part")
    with open(part, "w") as out:
        out.write("student,period,course\n")
        for student in range(students):
            order = orders[draw.randrange(KINDS)]
            for period in range(periods):
                if period > 0 and unknown > 0 and draw.random() < unknown:
                    continue
                chosen = set()
                while len(chosen) < taken:
                    chosen.update(draw.choices(order[period], cum_weights=running, k=taken - len(chosen)))
                head = f"{student},{period + 1},c"
                out.write("".join(f"{head}{course}\n" for course in chosen))
    part.rename(path)


def measured(command):
    """Standard output, CPU seconds and peak bytes of one process."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return json.loads(output), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def cohort_for(options, case):
    name = "s{students}-c{courses}-t{taken}-p{periods}-u{unknown}".format(**case)
    cohort = options.work / f"{name}.cohort"
    if not cohort.exists():
        table = options.work / f"{name}.csv"
        if not table.exists():
            write_table(table, case["students"], case["courses"], case["taken"], case["periods"], case["unknown"])
        measured([options.program, "prepare", table, "--out", cohort, "--min-takers", 1, "--json", "--quiet"])
        table.unlink()
    return cohort


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/desirepath")
    for name, default in (("students", 1_000_000), ("courses", 125), ("states", 10), ("taken", 8), ("periods", 4),
                          ("iterations", 30), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--unknown", type=float, default=0)
    parser.add_argument("--models", default="nb,tan")
    parser.add_argument("--base-only", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    base = {name: getattr(options, name) for name in ("students", "courses", "states", "taken", "periods", "unknown")}
    cases = [("base", base)]
    if not options.base_only:
        cases += [(f"half the {what}", {**base, key: base[key] // 2})
                  for key, what in (("students", "students"), ("courses", "courses"), ("states", "states"),
                                    ("taken", "courses a student"))]
    print(f"{'model':14} {'case':26} {'wall s':>8} {'CPU s':>8} {'iteration s':>11} {'memory MB':>10}   ratios to base: CPU, memory")
    for model in options.models.split(","):
        first = None
        for name, case in cases:
            cohort = cohort_for(options, case)
            fit, cpu, memory = measured(
                [options.program, "fit", cohort, "--model", model, "--states", case["states"], "--restarts", 1, "--iterations",
                 options.iterations, "--tolerance", 0, "--threads", options.threads, "--out", options.work / "model.desirepath",
                 "--force", "--json", "--quiet"])
            first = first or (cpu, memory)
            print(f"{model:14} {name:26} {fit['seconds']:8.1f} {cpu:8.1f} {fit['seconds'] / max(1, fit['iterations']):11.3f} "
                  f"{memory / 1e6:10.0f}   {cpu / first[0]:.2f}, {memory / first[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
