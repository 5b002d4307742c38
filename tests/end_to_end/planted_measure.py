"""Whether `prerequisites` finds what was planted: two synthetic universities of 6,000 students and 121 courses, and the numbered
course pairs of real ones where DESIREPATH_DATA is set.

    planted_measure.py [--students 500] [--sets LIST]

Prints how many of the planted tacit pairs are listed, at which precision (declared pairs and what they imply left out), and the
average precision of the order in which all pairs are listed.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import tempfile

from measuring import run


def average_precision(listed, truth):
    hits = total = 0
    for place, pair in enumerate(listed, 1):
        if pair in truth:
            hits += 1
            total += hits / place
    return total / max(1, len(truth))


def with_chains(pairs):
    pairs = set(pairs)
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


def pairs_of(folder, table, students, *prepare):
    run("prepare", table, *prepare, "--out", folder / "c.cohort", "--force")
    run("fit", folder / "c.cohort", "--model", "hct", "--out", folder / "m.desirepath", "--force")
    text = run("prerequisites", folder / "m.desirepath", folder / "c.cohort", "--students", students, "--csv")
    return list(csv.DictReader(text.splitlines()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--students", type=int, default=500)
    parser.add_argument("--sets", default="7,11,helsinki_sci_2016,helsinki_cs_2013")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for data in options.sets.split(","):
            if data.isdigit():
                run("simulate", "--students", 6000, "--courses", 120, "--seed", data, "--out", folder / data, "--force")
                rows = pairs_of(folder, folder / data / "enrollments.csv", options.students, "--courses", folder / data / "courses.csv")
                truth = json.loads((folder / data / "truth.json").read_text())["prerequisites"]
                tacit, listed = ({(pair["prerequisite"], pair["course"]) for pair in truth[kind]} for kind in ("tacit", "listed"))
                left_out = with_chains(listed)
                order = [pair for row in rows if (pair := (row["prerequisite"], row["course"])) not in left_out]
                found = [pair for row in rows if row["status"] == "tacit" and (pair := (row["prerequisite"], row["course"])) not in left_out]
                hits = len(tacit & set(found))
                results.append(f"seed {data}: {hits} of {len(tacit)} tacit pairs at precision {hits / max(1, len(found)):.2f}, average precision "
                               f"{average_precision(order, tacit):.3f}")
            elif "DESIREPATH_DATA" in os.environ:
                place = pathlib.Path(os.environ["DESIREPATH_DATA"]) / data
                (folder / "t.csv").write_bytes(gzip.open(place / "long.csv.gz").read())
                rows = pairs_of(folder, folder / "t.csv", options.students)
                order = [(row["prerequisite"], row["course"]) for row in rows]
                truth = {pair for row in csv.DictReader(open(place / "numbered_pairs.csv"))
                         if int(row["before"]) >= 10 and int(row["before"]) >= 3 * int(row["after"]) and (pair := (row["earlier"], row["later"])) in order}
                found = sum(row["status"] == "found" for row in rows)
                results.append(f"{data}: average precision {average_precision(order, truth):.3f} for {len(truth)} numbered pairs, {found} pairs listed")
            else:
                print(f"{data}: skipped, DESIREPATH_DATA is not set")
                continue
            print(results[-1], flush=True)
            if options.keep:
                with open(options.keep / f"{data}.pairs.csv", "w", newline="") as file:
                    out = csv.DictWriter(file, rows[0].keys())
                    out.writeheader()
                    out.writerows(rows)
    print("planted: " + "; ".join(results))


main()
