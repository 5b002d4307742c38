#!/usr/bin/env python3
"""Who leaves, and who graduates: hct and nb beside logistic regression and boosting on the same held-out students.

    benchmarks/leaving.py SET [--students N] [--folds 5] [--models hct,nb] [--program build/release/bin/desirepath]

SET is synthetic, or a folder of DESIREPATH_DATA: helsinki_sci_2016, midfield_programs. After period t = 1, 2, 3, of students
enrolled in it of whom it is known whether they were enrolled later: leaving. Of midfield_programs also graduation, of those
enrolled in t. Everybody knows all courses of periods 1 .. t; the regression and the boosting also the number of courses in each.
Differences are those of each fold with their standard error. Needs scikit-learn.
"""

import argparse
import csv
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from scipy.sparse import lil_matrix
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score

PERIODS = (1, 2, 3)


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{arguments}\n{done.stderr}")
    return done.stdout


def read(path):
    with (gzip.open(path, "rt") if path.suffix == ".gz" else open(path)) as file:
        return list(csv.DictReader(file))


def rows_of(options, folder):
    """The rows of the students, and how periods without rows are read."""
    if options.set == "synthetic":
        run(options.program, "simulate", "--edition", 3, "--years", 12, "--students", 6000, "--courses", 120, "--seed", 7, "--out", folder / "sim")
        return read(folder / "sim" / "enrollments.csv"), []
    rows = read(pathlib.Path(os.environ["DESIREPATH_DATA"]) / options.set / "long.csv.gz")
    if options.set != "midfield_programs":
        return [row for row in rows if row["term"] < "2015-08"], []
    rows = [row for row in rows if row["cohort"] and 1988 <= int(row["cohort"][:4]) <= 1999 and 1 <= int(row["period"]) <= 4]
    for row in rows:
        del row["term"], row["cohort"]
    return rows, ["--absent", "left"]


def left_after(status, period):
    """1, 0, or None where it is not known or the student was not enrolled."""
    if status.get(period) != "enrolled":
        return None
    if any(status[later] == "enrolled" for later in status if later > period):
        return 0
    return 1 if status.get(period + 1) in ("left", "finished") else None


def features(students, taken, courses, period):
    """Every (period, course) so far, and the number of courses in each period."""
    place = {key: i for i, key in enumerate((t, c) for t in range(1, period + 1) for c in courses)}
    matrix = lil_matrix((len(students), len(place) + period))
    for row, student in enumerate(students):
        for t, course in taken[student]:
            if t <= period:
                matrix[row, place[t, course]] = 1
                matrix[row, len(place) + t - 1] += 0.2
    return matrix.tocsr()


def log_loss(truth, guess):
    guess = np.clip(guess, 1e-6, 1 - 1e-6)
    return -(truth * np.log(guess) + (1 - truth) * np.log(1 - guess))


def worst_bin(truth, guess):
    """By how much the worst of ten bins is off, beyond 5 points or two standard errors."""
    order = np.argsort(guess, kind="stable")
    worst = 0.0
    for part in np.array_split(order, 10):
        mean = guess[part].mean()
        allowed = max(0.05, 2 * np.sqrt(mean * (1 - mean) / len(part)))
        worst = max(worst, abs(mean - truth[part].mean()) - allowed)
    return worst


def compare(title, truth, folds, guesses, peer):
    print(f"{title}: {len(truth)} students, {truth.mean():.3f}")
    names = sorted(set(folds))
    for name, guess in guesses.items():
        each = np.array([roc_auc_score(truth[folds == k], guess[folds == k]) for k in names])
        behind = each - [roc_auc_score(truth[folds == k], guesses[peer][folds == k]) for k in names]
        ratio = log_loss(truth, guess).mean() / log_loss(truth, guesses[peer]).mean()
        print(f"  {name:8} AUC {each.mean():.3f}, less {peer}'s {behind.mean():+.3f} +- {behind.std(ddof=1) / len(names) ** 0.5:.3f}; "
              f"log loss {ratio:.3f} of its; worst of ten bins off by {worst_bin(truth, guess):.3f} beyond what is allowed", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("set")
    parser.add_argument("--students", type=int)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--models", default="hct,nb")
    parser.add_argument("--fit", default="", help="further options of fit, of hct alone")
    parser.add_argument("--program", default="build/release/bin/desirepath")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows, prepare = rows_of(options, folder)
        number = {row["student"]: zlib.crc32(row["student"].encode()) for row in rows}
        chosen = set(sorted(number, key=lambda student: (number[student], student))[:options.students])
        rows = [{**row, "fold": number[row["student"]] // 7 % options.folds} for row in rows if row["student"] in chosen]
        with open(folder / "all.csv", "w", newline="") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows(rows)
        cohort = folder / "all.cohort"
        run(options.program, "prepare", folder / "all.csv", *prepare, "--statuses", folder / "statuses.csv", "--keep-periods", 4, "--out", cohort)
        status, taken = {}, {}
        for row in read(folder / "statuses.csv"):
            status.setdefault(row["student"], {})[int(row["period"])] = row["status"]
        for row in rows:
            if int(row["period"]) <= 4:
                taken.setdefault(row["student"], set()).add((int(row["period"]), row["course"]))
        courses = sorted({course for own in taken.values() for _, course in own})
        fold = {row["student"]: row["fold"] for row in rows}
        graduates = {row["student"]: int(bool(row["major"])) for row in rows} if options.set == "midfield_programs" else None
        found = {}
        for k in range(options.folds):
            for model in options.models.split(","):
                more = ["--outcomes", "graduated=major is not null"] if graduates and model == "hct" else []
                more += options.fit.split() if model == "hct" else ["--states", 8]
                run(options.program, "fit", cohort, "--where", f"fold <> '{k}'", "--model", model, *more, "--out", folder / "m.desirepath", "--force")
                for t in PERIODS:
                    asked = ["enrolled"] + (["graduated"] if graduates and model == "hct" else [])
                    for outcome in asked:
                        answer = run(options.program, "infer", folder / "m.desirepath", cohort, "--where", f"fold = '{k}'", "--known-periods",
                                     ",".join(map(str, range(1, t + 1))), "--outcome", outcome, *(["--period", t + 1] if outcome == "enrolled" else []), "--csv")
                        for row in csv.DictReader(io.StringIO(answer)):
                            if row["value"] == "yes":
                                found[model, outcome, t, row["student"]] = float(row["probability"])
        for t in PERIODS:
            known = [(student, left_after(status[student], t)) for student in sorted(taken) if student in status]
            known = [(student, left) for student, left in known if left is not None]
            students, truth = [student for student, _ in known], np.array([left for _, left in known])
            folds, matrix = np.array([fold[student] for student in students]), features(students, taken, courses, t)
            regression = np.zeros(len(students))
            for k in range(options.folds):
                # Its penalty is found by cross-validation within the training students.
                peer = LogisticRegressionCV(Cs=np.logspace(-3.5, 1, 8), cv=4, scoring="neg_log_loss", max_iter=400, solver="liblinear")
                regression[folds == k] = peer.fit(matrix[folds != k], truth[folds != k]).predict_proba(matrix[folds == k])[:, 1]
            guesses = {model: 1 - np.array([found[model, "enrolled", t, student] for student in students]) for model in options.models.split(",")}
            compare(f"leave after {t}", truth, folds, {**guesses, "logistic": regression}, "logistic")
            if not graduates or "hct" not in options.models:
                continue
            students = [student for student in sorted(taken) if status.get(student, {}).get(t) == "enrolled"]
            truth, folds = np.array([graduates[student] for student in students]), np.array([fold[student] for student in students])
            matrix = features(students, taken, courses, t)
            matrix = matrix[:, np.flatnonzero(np.diff(matrix.tocsc().indptr) >= 10)].toarray()
            boosting = np.zeros(len(students))
            for k in range(options.folds):
                peer = HistGradientBoostingClassifier(early_stopping=True, learning_rate=0.08, random_state=0)
                boosting[folds == k] = peer.fit(matrix[folds != k], truth[folds != k]).predict_proba(matrix[folds == k])[:, 1]
            compare(f"graduate, asked after {t}", truth, folds,
                    {"hct": np.array([found["hct", "graduated", t, student] for student in students]), "boosting": boosting}, "boosting")


main()
