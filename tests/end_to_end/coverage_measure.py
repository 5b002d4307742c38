"""How often the intervals of `infer --total` hold: for other students of the same years, and for the next entry year.

    coverage_measure.py [--trees N] [--splits N] [--sets LIST]

Synthetic universities of editions 2 and 3, and helsinki_sci_2016 where DESIREPATH_DATA is set. The students are split here, by
their rows, and the takers counted here; the program sees the rows of the training, and of the others only what it is asked about.
Prints the share of courses with at least ten expected takers whose number lay within the interval.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import random
import tempfile

from measuring import run


def rows_of(path):
    with (gzip.open(path, "rt") if path.suffix == ".gz" else open(path)) as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0].keys())
        out.writeheader()
        out.writerows(rows)


def covered(folder, train, test, fit_options):
    """Asks about periods 2 and 3 of the students of the test who were enrolled in it and all before; (held, asked)."""
    write(folder / "train.csv", train)
    run("prepare", folder / "train.csv", "--absent", "unknown", "--out", folder / "train.cohort", "--force")
    run("fit", folder / "train.cohort", "--model", "hct", *fit_options, "--out", folder / "m.desirepath", "--force")
    held = asked = 0
    for period in ("2", "3"):
        enrolled = {}
        for row in test:
            enrolled.setdefault(row["student"], set()).add(row["period"])
        wanted = {str(t) for t in range(1, int(period) + 1)}
        some = [row for row in test if wanted <= enrolled[row["student"]]]
        if len({row["student"] for row in some}) < 20:
            continue
        write(folder / "test.csv", some)
        known = ",".join(sorted(wanted - {period}))
        answer = json.loads(run("infer", folder / "m.desirepath", folder / "test.csv", "--absent", "unknown", "--min-takers", 1, "--known-periods", known,
                                "--period", period, "--total", "--ignore-unseen", "--json"))
        takers = {}
        for row in some:
            if row["period"] == period:
                takers.setdefault(row["course"], set()).add(row["student"])
        for row in answer["courses"]:
            if row["expected"] >= 10:
                asked += 1
                held += row["low"] <= len(takers.get(row["course"], ())) <= row["high"]
    return held, asked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", type=int)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--sets", default="helsinki_sci_2016,edition 2,edition 3")
    options = parser.parse_args()
    fit_options = ("--trees", options.trees) if options.trees else ()
    totals = {"other students": [0, 0], "next entry year": [0, 0]}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for data in options.sets.split(","):
            if data.startswith("edition"):
                years = ("--years", 12) if data == "edition 3" else ()
                run("simulate", "--edition", data.split()[1], *years, "--students", 5000, "--courses", 120, "--seed", 7, "--out", folder / data, "--force")
                rows = rows_of(folder / data / "enrollments.csv")
            elif "DESIREPATH_DATA" in os.environ:
                rows = [row for row in rows_of(pathlib.Path(os.environ["DESIREPATH_DATA"]) / data / "long.csv.gz") if row["term"] < "2015-08"]
            else:
                print(f"{data}: skipped, DESIREPATH_DATA is not set")
                continue
            rows = [row for row in rows if int(row["period"]) <= 4]
            entries = sorted({row["cohort"] for row in rows})
            found = {"other students": [0, 0], "next entry year": [0, 0]}
            for split in range(options.splits):
                draw = random.Random(split)
                held_out = {student for student in sorted({row["student"] for row in rows}) if draw.random() < 0.3}
                target = entries[-2 - split]  # the last entrants have hardly come to a second year
                for kind, is_test in (("other students", lambda row: row["student"] in held_out), ("next entry year", lambda row: row["cohort"] == target)):
                    train = [row for row in rows if not is_test(row) and (kind == "other students" or row["cohort"] < target)]
                    held, asked = covered(folder, train, [row for row in rows if is_test(row)], fit_options)
                    for sums in (found, totals):
                        sums[kind][0] += held
                        sums[kind][1] += asked
            print(f"{data}: " + ", ".join(f"{kind} {held} of {asked} ({held / max(1, asked):.3f})" for kind, (held, asked) in found.items()), flush=True)
    print("coverage: " + ", ".join(f"{kind} {held / max(1, asked):.3f} of {asked}" for kind, (held, asked) in totals.items()))


main()
