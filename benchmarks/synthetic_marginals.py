#!/usr/bin/env python3
"""Marginals of the synthetic university beside those of real enrollment files, as one Markdown table.

    benchmarks/synthetic_marginals.py FOLDER/enrollments.csv OTHER.csv.gz ...

Every file is a long table (student, period, course, ...; plain or gz). A course counts once per student and period.
FILE:half keeps a random half of the rows of each student (some public files are cut so); FILE:COLUMN=VALUE keeps some
rows; FILE:terms reads `period` as a study term, two to a year. Written for Python 3 without packages.
"""

import collections
import csv
import gzip
import hashlib
import math
import pathlib
import re
import sys


def rows_of(argument):
    path, _, cut = argument.partition(":")
    opened = gzip.open(path, "rt", encoding="utf-8", newline="") if path.endswith(".gz") else open(
        path, encoding="utf-8", newline="")
    with opened as file:
        for row in csv.DictReader(file):
            if cut == "half" and hashlib.blake2b(
                    f"{row['student']}|{row['course']}|{row['term']}".encode(), digest_size=1).digest()[0] < 128:
                continue
            if "=" in cut and row[cut.partition("=")[0]] != cut.partition("=")[2]:
                continue
            period = int(row["period"])
            if cut == "terms":
                period = (period + 1) // 2
            yield row["student"], period, row["course"], row.get("school", ""), row["subject"]


def moments(values):
    """Mean, standard deviation, skew."""
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / len(values)
    deviation = math.sqrt(variance)
    skew = sum((v - mean) ** 3 for v in values) / len(values) / deviation ** 3 if deviation > 0 else 0.0
    return mean, deviation, skew


def slope(takers):
    """Of log takers on log rank over the courses with at least ten takers: Zipf's law has -1."""
    points = [(math.log(rank), math.log(count)) for rank, count in enumerate(takers, 1) if count >= 10]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def name_of(argument):
    path, _, cut = argument.partition(":")
    parts = pathlib.Path(path).parts
    name = "synthetic" if parts[-1].startswith("enrollments") else parts[-2]
    return name + (f" ({cut})" if cut else "")


def triple(values):
    return "{:.1f} / {:.1f} / {:+.2f}".format(*moments(values))


def share_of(takers, rank, students):
    if rank > len(takers):
        return ""
    return f"{takers[rank - 1] / students:.1%}" if takers[rank - 1] >= 10 else "fewer than 10 takers"


def shares(counter, top):
    total = sum(counter.values())
    return ", ".join(f"{count / total:.0%}" for _, count in counter.most_common(top))


def measure(argument):
    enrolled = set()
    by_school, by_subject = collections.Counter(), collections.Counter()
    levels = collections.defaultdict(collections.Counter)
    for student, period, course, school, subject in rows_of(argument):
        if not course or (student, period, course) in enrolled:
            continue
        enrolled.add((student, period, course))
        by_school[school] += 1
        by_subject[subject] += 1
        numbered = re.search(r"([1-4])\d\d$", course)
        if numbered:
            levels[period][numbered.group(1)] += 1
    per_student, per_year = collections.Counter(), collections.Counter()
    ever = set()
    for student, period, course in enrolled:
        per_student[student] += 1
        per_year[student, period] += 1
        ever.add((student, course))
    takers = sorted(collections.Counter(course for _, course in ever).values(), reverse=True)
    students = len(per_student)
    # Those with as many years as usual: the paper's full-time students, whose number of courses is about Gaussian.
    years = collections.Counter(student for student, _ in per_year)
    usual = collections.Counter(years.values()).most_common(1)[0][0]
    result = {
        "students": f"{students:,}",
        "courses (with 10 takers or more)": f"{len(takers):,} ({sum(t >= 10 for t in takers):,})",
        "enrollments": f"{len(enrolled):,}",
        "courses a student: mean / sd / skew": triple(list(per_student.values())),
        "... of students of the most common number of years": f"{triple([n for s, n in per_student.items() if years[s] == usual])} ({usual} years)",
        "courses a student and year: mean / sd / skew": triple(list(per_year.values())),
    }
    for rank in (1, 2, 5, 10, 20, 50, 100, 200, 300):
        result[f"takers of course number {rank}, of students"] = share_of(takers, rank, students)
    result["takers of course 10 to those of course 100"] = (
        f"{takers[9] / takers[99]:.1f}" if len(takers) >= 100 else "")
    result["slope of log takers on log rank"] = f"{slope(takers):.2f}"
    top_tenth = sum(takers[:max(1, len(takers) // 10)]) / sum(takers)
    result["share of the top tenth of courses in enrollments"] = f"{top_tenth:.0%}"
    for period in (1, 2, 3, 4):
        total = sum(levels[period].values())
        result[f"level 100 / 200 / 300 / 400 in year {period}, %"] = (
            " / ".join(f"{100 * levels[period][level] / total:.0f}" for level in "1234") if total else "")
    result["share of schools, largest first"] = shares(by_school, 6) if len(by_school) > 1 else ""
    result["share of subjects, largest first"] = shares(by_subject, 8)
    return result


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    columns = [(name_of(argument), measure(argument)) for argument in sys.argv[1:]]
    print("| | " + " | ".join(name for name, _ in columns) + " |")
    print("|--|" + "--:|" * len(columns))
    for key in columns[0][1]:
        print(f"| {key} | " + " | ".join(result.get(key, "") for _, result in columns) + " |")


if __name__ == "__main__":
    main()
