#!/usr/bin/env python3
"""The paper's inference task, the second period from the first and last, by a model and by classifiers trained for that one question.

    benchmarks/middle_year.py COHORT [--program build/release/bin/desirepath] [--seeds 1,2,3] [--model hct] [--boosting yes|no]

Each seed is a split of its own (`split`): 70 % of the students train, 15 % pick the penalty of the logistic regression (and the model's
iterations), 15 % are asked about. A classifier sees every course of the first and last period and answers for one course of the second;
there is one for each course. Accuracy is over the five courses most common in training, cross-entropy over all courses, nats a student,
an answer's probability clipped as `infer --paper-task` clips it. Needs Debian's python3-sklearn.
"""

import argparse
import csv
import io
import json
import os
import pathlib
import subprocess
import tempfile

os.environ["OMP_NUM_THREADS"] = "1"  # trees this small wait for threads longer than they work
import numpy as np  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0)  # C of scikit-learn


def run(*arguments):
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=True).stdout


def tensors(path):
    """Cohort files are safetensors: 8 bytes of length, a JSON header, arrays."""
    raw = pathlib.Path(path).read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + length])
    kinds = {"I64": np.int64, "I32": np.int32, "U8": np.uint8, "F64": np.float64}
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(raw[8 + length + begin:8 + length + end], kinds[entry["dtype"]]).reshape(entry["shape"])
    return header["__metadata__"], arrays


def students(path):
    """Those present in the first, second and last period: what they took in these."""
    metadata, arrays = tensors(path)
    schema = json.loads(metadata["schema"])
    periods, courses = len(schema["periods"]), len(schema["courses"])
    begin, columns = arrays["enrollments.row_begin"], arrays["enrollments.bits"]
    presence = arrays["status"].reshape(-1, periods)
    taken = np.zeros((len(presence), periods, courses), bool)
    rows = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    taken[rows // periods, columns // courses, columns % courses] = True
    whole = (presence[:, [0, 1, periods - 1]] == 1).all(axis=1)
    return taken[whole][:, [0, 1, periods - 1]], len(presence)


def losses(probability, truth, least):
    return -np.log(np.clip(np.where(truth, probability, 1 - probability), least, 1)).sum(axis=1)


def fit_one(make, x, y):
    if y.all() or not y.any():
        return lambda new: np.full(len(new), (y.sum() + 0.5) / (len(y) + 1))
    model = make().fit(x, y)
    return lambda new: model.predict_proba(new)[:, 1]


def predict(make, train, asked):
    x, y = train[:, [0, 2]].reshape(len(train), -1).astype(float), train[:, 1]
    new = asked[:, [0, 2]].reshape(len(asked), -1).astype(float)
    return np.stack([fit_one(make, x, y[:, j])(new) for j in range(y.shape[1])], axis=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort")
    parser.add_argument("--program", default="build/release/bin/desirepath")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--model", default="hct")
    parser.add_argument("--boosting", choices=["yes", "no"], default="yes")
    options = parser.parse_args()
    results = {}
    for seed in options.seeds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            parts = pathlib.Path(folder)
            run(options.program, "split", options.cohort, "--out", parts, "--seed", seed, "--validation", 0.15, "--hold-out", 0.15, "--force", "--quiet")
            train, training_students = students(parts / "training.cohort")
            valid, _ = students(parts / "validation.cohort")
            asked, _ = students(parts / "hold-out.cohort")
            shares = train[:, 1].mean(axis=0)
            common = np.argsort(-shares, kind="stable")[:5]
            least = 0.5 / (training_students + 1)

            def note(name, probability):
                accuracy = ((probability[:, common] > 0.5) == asked[:, 1][:, common]).mean()
                each = losses(probability, asked[:, 1], least)
                results.setdefault(name, []).append((accuracy, each))
                print(f"split {seed} {name:24} accuracy {accuracy:.4f} cross-entropy {each.mean():.3f}", flush=True)

            best = min(PENALTIES, key=lambda c: losses(predict(lambda: LogisticRegression(C=c, max_iter=300), train, valid),
                                                       valid[:, 1], least).mean())
            note("logistic regression", predict(lambda: LogisticRegression(C=best, max_iter=300), train, asked))
            if options.boosting == "yes":
                note("gradient boosting", predict(lambda: HistGradientBoostingClassifier(max_iter=60, learning_rate=0.1, max_leaf_nodes=8,
                                                                                         min_samples_leaf=20), train, asked))
            model = parts / "model.desirepath"
            run(options.program, "fit", parts / "training.cohort", "--model", options.model, "--validation", parts / "validation.cohort", "--out",
                model, "--seed", seed, "--quiet")
            log_p = json.loads(run(options.program, "score", model, parts / "hold-out.cohort", "--full-precision", "--json",
                                   "--quiet"))["mean_log_likelihood"]
            done = json.loads(run(options.program, "infer", model, parts / "hold-out.cohort", "--paper-task", "--training",
                                  parts / "training.cohort", "--json", "--quiet"))["paper_task"]
            table = csv.DictReader(io.StringIO(run(options.program, "infer", model, parts / "hold-out.cohort", "--paper-task", "--csv", "--quiet")))
            print(f"split {seed} {options.model:24} accuracy {done['accuracy']:.4f} cross-entropy {done['cross_entropy']:.3f} "
                  f"log P {log_p:.3f} ({sum(1 for _ in table)} rows)", flush=True)
            results.setdefault(options.model, []).append((done["accuracy"], np.full(done["students"], done["cross_entropy"])))
    print("mean of the splits; the difference to the logistic regression and its standard error over splits")
    base = [each.mean() for _, each in results["logistic regression"]]
    for name, rows in results.items():
        differences = np.array([each.mean() for _, each in rows]) - base
        error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else float("nan")
        print(f"{name:24} accuracy {np.mean([a for a, _ in rows]):.4f} cross-entropy {np.mean([e.mean() for _, e in rows]):.3f} "
              f"difference {differences.mean():+.3f} +- {error:.3f}")


if __name__ == "__main__":
    main()
