#!/usr/bin/env python3
"""A table of enrollments whose courses have strange names, for pages to survive: long, right-to-left, markup, codes."""

import csv
import random
import sys

NAMES = {
    "long": [f"{word} {n:02d} and everything else that a name of eighty letters has room for, no more"[:80]
             for n, word in enumerate(("Thermodynamics", "Jurisprudence", "Electrodynamics", "Palaeontology", "Counterpoint", "Macroeconomics") * 3)],
    "right-to-left": [f"{word} {n}" for n, word in enumerate(("حساب التفاضل والتكامل", "مبادئ البرمجة", "الكيمياء العضوية", "תורת המשחקים", "מבוא לפיזיקה",
                                                             "تاريخ العلوم") * 3)],
    "markup": [f"{word} {n}" for n, word in enumerate(("<b>Bold & \"loud\"", "R&D 'n' more", "</svg><script>alert(1)</script>", "]]> <!-- --", "a < b > c", "&amp;&lt;") * 3)],
    "codes": [f"{n}" for n in range(18)],
}


def main(kind):
    courses, draw, rows = NAMES[kind], random.Random(5), csv.writer(sys.stdout)
    rows.writerow(["student", "period", "course", "home"])
    for student in range(400):
        third = student % 3
        own = courses[third * 6:third * 6 + 6]
        for period in (1, 2, 3, 4):
            taken = {courses[0], *own[period - 1:period + 1], *draw.sample(courses, 2)} if draw.random() < 0.9 else {own[5]}
            for course in sorted(taken):
                rows.writerow([f"s{student}", period, course, "near" if student % 4 else "far"])


main(sys.argv[1])
