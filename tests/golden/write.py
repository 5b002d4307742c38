#!/usr/bin/env python3
"""Files as a version of the program writes them, kept so that every later version is held to read them.

    tests/golden/write.py PROGRAM FOLDER

Run once a release, with FOLDER named after the version; golden_test.py reads every folder there is. What the folder holds already
stays as it is: a model added to the list below is written beside the others. The students are made up.
"""

import csv
import io
import pathlib
import random
import subprocess
import sys
import time

STATES = "--states 2 --restarts 1 --seed 20 --iterations 12"
TREES = "--trees 2 --tree-states 2 --seed 20 --iterations 12"
# file: cohort, what it is fitted with
MODELS = {
    "nb": ("students", f"--model nb {STATES}"),
    "tan": ("students", f"--model tan {STATES}"),
    "gmm": ("students", f"--model gmm {STATES}"),
    "hmm": ("students", f"--model hmm {STATES}"),
    "cmm": ("students", f"--model cmm {STATES}"),
    "cmm_factor": ("students", f"--model cmm --covariance factor:2 {STATES}"),
    "cmm_probit": ("students", f"--model cmm --emission probit --covariance factor:1 --nodes 32 {STATES}"),
    "hct": ("students", f"--model hct {TREES}"),
    "vae": ("students", "--model vae --latent 2 --hidden 4 --epochs 12 --seed 20"),
    "nb_carried": ("students", f"--model nb --carry-over {STATES}"),
    "cmm_carried": ("whole", f"--model cmm --emission bernoulli --carry-over {STATES}"),
    "left_cmm": ("left", f"--model cmm --emission bernoulli {STATES}"),
    "left_nb": ("left", f"--model nb {STATES}"),
    "left_hct": ("left", f"--model hct {TREES}"),
    "published_cmm": ("many", f"--model cmm --emission bernoulli --publish {STATES}"),
    "published_hct": ("many", f"--model hct --publish {TREES}"),
}
KINDS = {"gmm": ("mass", "density"), "cmm": ("mass", "density"), "cmm_factor": ("mass", "density"), "vae": ("lower_bound",)}
# Estimates, not exact values: how far another version's may be off, in nats and in probability.
ESTIMATED = {("gmm", "mass"): 0.25, ("cmm", "mass"): 0.25, ("cmm_factor", "mass"): 0.25, ("vae", "lower_bound"): 0.2}
ESTIMATED_ANSWERS = {"gmm": 0.02, "cmm": 0.02, "cmm_factor": 0.02, "vae": 0.02}


def table(students, seed, whole=False):
    draw = random.Random(seed)
    lines = ["student,period,course"]
    for number in range(students):
        kind = draw.randrange(2)
        last = draw.choice((1, 2, 3, 3, 3, 3))
        skips = draw.random() < 0.2
        rows = []
        for period in range(1, last + 1):
            if skips and period == 2 and last == 3:
                continue
            taken = [c for c in range(6) if draw.random() < (0.7 if c % 2 == kind else 0.15)]
            rows += [f"s{number:02d},{period},C{c}" for c in taken] or [f"s{number:02d},{period},"]
        if not whole or last == 3 and not skips:
            lines += rows
    return "\n".join(lines) + "\n"


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)

    def run(command):
        return subprocess.run([program, *command.split(), "--quiet"], cwd=folder, check=True, capture_output=True, text=True).stdout

    def prepare(cohort, text, options=""):
        if (folder / f"{cohort}.cohort").exists():
            return
        (folder / "students.csv").write_text(text)
        run(f"prepare students.csv --min-takers 1 {options} --out {cohort}.cohort")

    prepare("many", table(90, 21))
    prepare("whole", table(24, 20, whole=True))
    prepare("left", table(24, 20), "--absent left")
    prepare("students", table(24, 20))
    (folder / "students.csv").write_text(table(24, 20))

    # Two tables that grow by the rows of what is new.
    def grow(name, header, rows_of):
        path = folder / name
        lines = path.read_text().splitlines() if path.exists() else [header]
        held = {line.split(",")[0] for line in lines[1:]}
        for model, (cohort, _) in MODELS.items():
            if model not in held:
                lines += rows_of(model, cohort)
        path.write_text("\n".join(lines) + "\n")

    def scores(model, cohort):
        for kind in KINDS.get(model, ("mass",)):
            for row in csv.DictReader(io.StringIO(run(f"score {model}.desirepath {cohort}.cohort --likelihood {kind} --csv"))):
                yield f"{model},{cohort},{kind},{row['student']},{row['log_likelihood']},{ESTIMATED.get((model, kind), '')}"

    def answers(model, cohort):
        asked = f"infer {model}.desirepath {cohort}.cohort --student s00 --known-periods 1 --csv"
        for row in csv.DictReader(io.StringIO(run(asked))):
            yield f"{model},{cohort},{row['student']},{row['period']},{row['course']},{row['probability']},{ESTIMATED_ANSWERS.get(model, '')}"

    for model, (cohort, options) in MODELS.items():
        if not (folder / f"{model}.desirepath").exists():
            run(f"fit {cohort}.cohort {options} --out {model}.desirepath")
    grow("log_likelihoods.csv", "model,cohort,likelihood,student,log_likelihood,tolerance", scores)
    grow("answers.csv", "model,cohort,student,period,course,probability,tolerance", answers)
    if (folder / "nb.checkpoint").exists():
        return
    # A fit without end, stopped at its first checkpoint.
    endless = "fit students.cohort --model nb --states 2 --restarts 1 --seed 20 --iterations 100000000 --tolerance 0 --checkpoint nb.checkpoint"
    process = subprocess.Popen([program, *endless.split(), "--checkpoint-every", "0", "--out", "none", "--quiet"], cwd=folder)
    while not (folder / "nb.checkpoint").exists():
        time.sleep(0.001)
    process.kill()
    process.wait()


main()
