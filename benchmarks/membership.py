#!/usr/bin/python3
"""Can it be told from a model whether a student was among those it was trained on?

    benchmarks/membership.py [COHORT] [--program build/release/bin/desirepath] [--models nb:8,nb:30,cmm+bernoulli:8,hct] [--seed 1]

Half of the students train a model, the other half do not; an attacker who holds the model and a student's whole record guesses by its
log-likelihood. AUC: how often a member's is the higher of a pair's; TPR at 1 %: members found when one in a hundred others is called one.
Each model is tried as `fit` writes it and with --publish. Without a COHORT: a synthetic university of 1,000 students and 60 courses.
Of models whose states have independent courses (nb) `read off` counts the members whose whole record is what one state takes with a
probability above a half.
"""

import argparse
import csv
import io
import json
import pathlib
import struct
import subprocess
import tempfile

import numpy as np


def auc(members, others):
    both = np.concatenate([members, others])
    order = both.argsort(kind="stable")
    ranks = np.empty(len(both))
    ranks[order] = np.arange(1, len(both) + 1)
    for value in np.unique(both):  # ties share their mean rank
        same = both == value
        if same.sum() > 1:
            ranks[same] = ranks[same].mean()
    return (ranks[: len(members)].sum() - len(members) * (len(members) + 1) / 2) / (len(members) * len(others))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cohort", nargs="?")
    parser.add_argument("--program", default="build/release/bin/desirepath")
    parser.add_argument("--models", default="nb:8,nb:30,nb:150,tan:8,gmm:8,cmm+bernoulli:8,cmm+bernoulli:30,hct:8,hct:16,vae:8")
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    work = tempfile.TemporaryDirectory()
    folder = pathlib.Path(work.name)

    def run(*command):
        return subprocess.run([program, *map(str, command)], check=True, capture_output=True, text=True).stdout

    cohort = arguments.cohort
    if cohort is None:
        run("simulate", "--students", 1000, "--courses", 60, "--seed", arguments.seed, "--out", folder / "university")
        cohort = folder / "all.cohort"
        run("prepare", folder / "university/enrollments.csv", "--out", cohort)
    run("split", cohort, "--out", folder / "halves", "--seed", arguments.seed, "--validation", 0, "--hold-out", 0.5)
    halves = {"in": folder / "halves/training.cohort", "out": folder / "halves/hold-out.cohort"}

    def scores(model, half):
        table = csv.DictReader(io.StringIO(run("score", model, halves[half], "--csv")))
        return np.array([float(row["log_likelihood"]) for row in table if row["log_likelihood"]])

    def records():
        """The members' whole records, as sets of (period, course)."""
        table = csv.DictReader(io.StringIO(run("sample", folder / "model.desirepath", halves["in"], "--count", 1, "--csv")))
        found = {}
        for row in table:
            if row["course"]:
                found.setdefault(row["student"], set()).add((row["period"], row["course"]))
        return found

    def read_off(model):
        """Members whose whole record a state of independent courses spells out."""
        with open(model, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            body = file.read()
        if "emission.0.probability" not in header or "emission.1.probability" in header:
            return ""
        about = header["emission.0.probability"]
        begin, end = about["data_offsets"]
        table = np.frombuffer(body[begin:end]).reshape(about["shape"])
        schema = json.loads(header["__metadata__"]["schema"])
        bits = [(str(period), course["name"]) for period in schema["periods"] for course in schema["courses"]]
        spelled = {frozenset(bits[i] for i in np.flatnonzero(table[:, k] > 0.5)) for k in range(table.shape[1])}
        return f"{sum(frozenset(own) in spelled for own in records().values()):4d} read off"

    print(f"{'model':24s} {'as trained':>36s} {'--publish':>36s}\n{'':24s} {'AUC   TPR at 1 %':>36s} {'AUC   TPR at 1 %':>36s}")
    for asked in arguments.models.split(","):
        name, _, size = asked.partition(":")
        settings = ["--model", name.split("+")[0]] + (["--emission", name.split("+")[1]] if "+" in name else [])
        settings += [] if not size else ["--tree-states", size] if name == "hct" else ["--latent", size] if name == "vae" else ["--states", size]
        cells = []
        for publish in ([], ["--publish"]):
            model = folder / "model.desirepath"
            try:
                run("fit", halves["in"], *settings, *publish, "--seed", arguments.seed, "--out", model, "--force")
            except subprocess.CalledProcessError as error:
                cells.append(error.stderr.strip().splitlines()[-1].removeprefix("desirepath: ")[:40])
                continue
            members, others = scores(model, "in"), scores(model, "out")
            bound = np.quantile(others, 0.99)
            cells.append(f"{auc(members, others):.3f}   {np.mean(members > bound):.3f} {read_off(model)}")
        print(f"{asked:24s} {cells[0]:>36s} {cells[1]:>36s}", flush=True)


if __name__ == "__main__":
    main()
