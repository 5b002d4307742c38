#!/usr/bin/env python3
"""How much data a model needs: the same students held out, more and more to learn from.

    benchmarks/learning_curve.py [--program build/release/bin/desirepath] [--sizes 300,1000,3000,10000,30000] [--courses 120]
                                 [--models nb:8,gmm:1,vae:8,hct] [--seeds 1]

A synthetic university of the largest size and 1,500 students more: 1,000 of these are held out and 500 validate, the same for every
size; training takes the first N of the others, so that a larger N holds a smaller one. MODEL:K. Log-likelihood a held-out student (mass;
a lower bound for the vae, first 300 students for Gaussian states), accuracy and cross-entropy of the middle year from the first and last.
"""

import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/bin/desirepath")
    parser.add_argument("--sizes", default="300,1000,3000,10000,30000")
    parser.add_argument("--courses", default=120, type=int)
    parser.add_argument("--models", default="nb:8,gmm:1,vae:8,hct")
    parser.add_argument("--seeds", default=1, type=int)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    sizes = [int(size) for size in options.sizes.split(",")]

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments), "--quiet"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"failed: {' '.join(map(str, arguments))}\n{done.stderr}")
        return done.stdout

    print("| seed | N | model | log-likelihood | accuracy | cross-entropy | fit s |\n|---|--:|---|--:|--:|--:|--:|", flush=True)
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run("simulate", "--out", folder, "--students", max(sizes) + 1500, "--courses", options.courses, "--seed", seed)
            with open(folder / "enrollments.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            students = sorted({row["student"] for row in rows})
            random.Random(seed).shuffle(students)

            def cohort(which, part):
                chosen = set(which)
                with open(folder / f"{part}.csv", "w", newline="") as file:
                    writer = csv.DictWriter(file, ["student", "period", "course"], extrasaction="ignore")
                    writer.writeheader()
                    writer.writerows(row for row in rows if row["student"] in chosen)
                run("prepare", folder / f"{part}.csv", "--courses", folder / "courses.csv", "--min-takers", 0, "--force", "--out", folder / part)
                return folder / part

            held_out, few = cohort(students[:1000], "held_out"), cohort(students[:300], "few")
            validation = cohort(students[1000:1500], "validation")
            for size in sizes:
                training = cohort(students[1500:1500 + size], "training")
                for spec in options.models.split(","):
                    model, _, k = spec.partition(":")
                    gaussian = model in ("gmm", "cmm")
                    arguments = ["--model", model, *(["--latent" if model == "vae" else "--states", k] if k else [])]
                    if not gaussian:
                        arguments += ["--validation", validation]
                    fit = json.loads(run("fit", training, "--out", folder / "model", "--force", "--json", "--seed", seed, *arguments))
                    score = json.loads(run("score", folder / "model", few if gaussian else held_out, "--full-precision", "--json"))
                    task = json.loads(run("infer", folder / "model", held_out, "--paper-task", "--training", training, "--json"))["paper_task"]
                    print(f"| {seed} | {size} | {spec} | {score['mean_log_likelihood']:.2f} | {task['accuracy']:.4f} | {task['cross_entropy']:.3f} | "
                          f"{fit['seconds']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
