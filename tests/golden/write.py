#!/usr/bin/env python3
"""Files as a version of the program writes them, kept so that every later version is held to read them.

    tests/golden/write.py PROGRAM FOLDER

Run once a release, with FOLDER named after the version; golden_test.py reads every folder there is. The students are made up.
"""

import csv
import io
import pathlib
import random
import subprocess
import sys
import time

# file: cohort, what it is fitted with
MODELS = {
    "nb": ("students", "--model nb"),
    "tan": ("students", "--model tan"),
    "gmm": ("students", "--model gmm"),
    "hmm": ("students", "--model hmm"),
    "cmm_factor": ("students", "--model cmm --covariance factor:2"),
    "cmm_probit": ("students", "--model cmm --emission probit --covariance factor:1 --nodes 32"),
    "left_cmm": ("left", "--model cmm --emission bernoulli"),
    "left_nb": ("left", "--model nb"),
}
# Estimates, not exact values: how far another version's may be off, in nats.
ESTIMATED = {("gmm", "mass"): 0.25, ("cmm_factor", "mass"): 0.25}


def table():
    draw = random.Random(20)
    lines = ["student,period,course"]
    for number in range(24):
        kind = draw.randrange(2)
        last = draw.choice((1, 2, 3, 3, 3, 3))
        skips = draw.random() < 0.2
        for period in range(1, last + 1):
            if skips and period == 2 and last == 3:
                continue
            taken = [c for c in range(6) if draw.random() < (0.7 if c % 2 == kind else 0.15)]
            lines += [f"s{number:02d},{period},C{c}" for c in taken] or [f"s{number:02d},{period},"]
    return "\n".join(lines) + "\n"


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    folder.mkdir()

    def run(command):
        return subprocess.run([program, *command.split(), "--quiet"], cwd=folder, check=True, capture_output=True, text=True).stdout

    (folder / "students.csv").write_text(table())
    run("prepare students.csv --min-takers 1 --out students.cohort")
    run("prepare students.csv --min-takers 1 --absent left --out left.cohort")
    training = "--states 2 --restarts 1 --seed 20"
    rows = ["model,cohort,likelihood,student,log_likelihood,tolerance"]
    for name, (cohort, options) in MODELS.items():
        run(f"fit {cohort}.cohort {options} {training} --iterations 12 --out {name}.desirepath")
        for kind in ("mass", "density") if name in ("gmm", "cmm_factor") else ("mass",):
            scores = run(f"score {name}.desirepath {cohort}.cohort --likelihood {kind} --csv")
            for row in csv.DictReader(io.StringIO(scores)):
                tolerance = ESTIMATED.get((name, kind), "")
                rows.append(f"{name},{cohort},{kind},{row['student']},{row['log_likelihood']},{tolerance}")
    (folder / "log_likelihoods.csv").write_text("\n".join(rows) + "\n")
    # A fit without end, stopped at its first checkpoint.
    endless = f"fit students.cohort --model nb {training} --iterations 100000000 --tolerance 0 --checkpoint nb.checkpoint"
    process = subprocess.Popen([program, *endless.split(), "--checkpoint-every", "0", "--out", "none", "--quiet"], cwd=folder)
    while not (folder / "nb.checkpoint").exists():
        time.sleep(0.001)
    process.kill()
    process.wait()


main()
