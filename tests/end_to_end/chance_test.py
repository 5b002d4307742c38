"""Lists of findings where there is nothing to find, and where something was planted.

    chance_test.py [--runs 20]

A null run asks about data in which nothing is there but what the null keeps: groups drawn at random (as many of each entry year as
is usual in that year, which may differ), enrollments shuffled here by swaps of two, or students drawn from a model, to whom it is
fitted anew before it is asked. At q 0.05 at most one run in twenty may
report anything; the bound leaves room for the noise of the number of runs.
"""

import csv
import math
import random
import sys
import unittest

from program import ProgramTest

VERBS = ("states --by", "pathways --by", "delays --by", "company", "prerequisites", "delays")


def most_by_chance(runs, rate=0.05, failing=0.002):
    """The number of runs with findings that is exceeded with probability `failing` where each has them with `rate`."""
    below = 0.0
    for count in range(runs + 1):
        below += math.comb(runs, count) * rate**count * (1 - rate) ** (runs - count)
        if 1 - below < failing:
            return count
    return runs


def swapped(rows, draw):
    """Enrollments of every period with loads and popularity kept: pairs of them exchange their courses where neither student has
    the other's."""
    result = []
    for period in sorted({row["period"] for row in rows}):
        taken = [(row["student"], row["course"]) for row in rows if row["period"] == period]
        there = set(taken)
        for _ in range(12 * len(taken)):
            i, j = draw.randrange(len(taken)), draw.randrange(len(taken))
            (a, x), (b, y) = taken[i], taken[j]
            if a == b or x == y or (a, y) in there or (b, x) in there:
                continue
            there -= {(a, x), (b, y)}
            there |= {(a, y), (b, x)}
            taken[i], taken[j] = (a, y), (b, x)
        result += [{"student": student, "period": period, "course": course} for student, course in taken]
    return result


class Chance(ProgramTest):
    runs = 20
    answering = ("--model", "nb", "--states", 6, "--restarts", 1)

    def university(self, students, seed, *columns):
        """Enrollments of a synthetic university, with further columns: functions of (entry year, draw)."""
        self.run_program("simulate", "--out", "u", "--students", students, "--courses", 60, "--seed", seed, "--quiet")
        draw = random.Random(seed)
        with open(self.path("u/enrollments.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        labels = {}
        for row in rows:
            if row["student"] not in labels:
                labels[row["student"]] = [column(int(row["cohort"]), draw) for column in columns]
        with open(self.path("u/labelled.csv"), "w", newline="") as file:
            names = list(rows[0]) + [f"n{i}" for i in range(len(columns))]
            out = csv.writer(file)
            out.writerow(names)
            for row in rows:
                out.writerow(list(row.values()) + labels[row["student"]])
        self.run_program("prepare", "u/labelled.csv", "--courses", "u/courses.csv", "--out", "u.cohort", "--quiet")
        self.fit("--model", "cmm", "--emission", "bernoulli", "--states", 5, "--restarts", 1, cohort="u.cohort", out="states.desirepath")
        self.fit(*self.answering, cohort="u.cohort", out="answers.desirepath")
        return rows

    def prepare_null(self, name):
        self.run_program("prepare", f"{name}.csv", "--courses", "u/courses.csv", "--min-takers", 1, "--out", f"{name}.cohort", "--quiet", "--force")

    @staticmethod
    def labels(number):
        """Two groups; two whose shares differ from year to year; three."""
        if number % 3 == 0:
            return lambda year, draw: "yes" if draw.random() < 0.3 else "no"
        if number % 3 == 1:
            return lambda year, draw: "yes" if draw.random() < (0.2 + 0.15 * (year % 4)) else "no"
        return lambda year, draw: draw.choice(("one", "two", "three"))

    def test_null_runs_find_nothing(self):
        rows = self.university(700, 5, *[self.labels(i) for i in range(self.runs)])
        found = dict.fromkeys(VERBS, 0)
        for run in range(self.runs):
            shuffled = "".join(f"{row['student']},{row['period']},{row['course']}\n" for row in swapped(rows, random.Random(1000 + run)))
            self.write("shuffled.csv", "student,period,course\n" + shuffled)
            self.prepare_null("shuffled")
            self.write("drawn.csv", self.run_program("sample", "answers.desirepath", "--count", 700, "--seed", run, "--csv").out)
            self.prepare_null("drawn")
            self.fit(*self.answering, cohort="drawn.cohort", out="drawn.desirepath")
            for verb in VERBS:
                name = verb.split()[0]
                if verb.endswith("--by"):
                    ask = ("answers.desirepath" if name == "delays" else "states.desirepath", "u.cohort", "--by", f"n{run}")
                else:
                    ask = ("answers.desirepath", "shuffled.cohort") if name == "company" else ("drawn.desirepath", "drawn.cohort")
                if name == "prerequisites":
                    ask += ("--students", 10, "--least-direct", 0)
                done = self.run_program(name, *ask, "--seed", run, "--json").json
                self.assertEqual(done["findings"] > 0, done["by_chance"] > 0)
                found[verb] += done["findings"] > 0
        words = ", ".join(f"{verb} {found[verb]}" for verb in VERBS)
        print(f"null runs with findings, of {self.runs}: {words}")
        for verb in VERBS:
            self.assertLessEqual(found[verb], most_by_chance(self.runs), words)

    def test_what_was_planted_is_found(self):
        self.university(3000, 7)
        done = self.run_program("delays", "answers.desirepath", "u.cohort", "--by", "residence", "--students", 3000, "--json").json
        self.assertGreaterEqual(done["findings"], 1)
        self.assertIn(("BIO 201", "commuter"), [(row["course"], row["group"]) for row in done["delays"][:3]])
        for verb, rows in (("states", "rows"), ("pathways", "groups")):
            done = self.run_program(verb, "states.desirepath", "u.cohort", "--by", "major", "--json").json
            self.assertGreaterEqual(done["findings"], 5, verb)
            self.assertLess(done["by_chance"], 0.051 * done["findings"] + 0.01)
            self.assertTrue(all(row["q"] <= 0.05 for row in done[rows]) if verb == "pathways" else
                            any(row["q"] is not None and row["q"] <= 0.05 for row in done[rows]))
        done = self.run_program("company", "answers.desirepath", "u.cohort", "--json").json
        self.assertGreaterEqual(done["findings"], 1)
        self.assert_all(done["courses"] + done["concentrations"], lambda row: row["q"] <= 0.05 and row["students"] >= 10)
        all_pairs = self.run_program("company", "answers.desirepath", "u.cohort", "--q", 1, "--json").json
        self.assertGreater(all_pairs["findings"], done["findings"])


if __name__ == "__main__":
    if "--runs" in sys.argv:
        at = sys.argv.index("--runs")
        Chance.runs = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
