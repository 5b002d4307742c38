"""Flows, shares and counts are of enrolled students: every number is counted again from the raw rows.

The two kinds of students take courses of their own, so that whoever reads the rows knows the state of everybody: nothing of the
program's code is used to find it.
"""

import csv
import random
import unittest
from collections import Counter

from program import ProgramTest

FIRST, LAST = 2010, 2015  # entry years; the data end with the spring of 2017
DATA_END = 2016


def rows_of(seed):
    """Students who stay, pause and leave; those of ART, and those who live far, leave more often."""
    draw = random.Random(seed)
    rows = []
    for number in range(900):
        kind = draw.choice(["CS", "CS", "ART"])
        home = "far" if draw.random() < 0.4 else "near"
        entry = draw.randrange(FIRST, LAST + 1)
        leaves = 0.12 + 0.15 * (kind == "ART") + 0.15 * (home == "far")
        for year in range(entry, DATA_END + 1):
            if year > entry and draw.random() < 0.05:
                continue  # away, or gone a year before it shows
            if year > entry and draw.random() < 0.06:
                kind = "ART" if kind == "CS" else "CS"
            period = min(year - entry + 1, 9)
            for course in draw.sample(range(1, 7), 4):
                term = draw.choice([f"Fall {year}", f"Spring {year + 1}"])
                rows.append({"student": f"s{number:04d}", "term": term, "course": f"{kind} {period}{course}", "home": home})
            if draw.random() < leaves:
                break
    draw.shuffle(rows)
    return rows


def year_of(term):
    season, year = term.split()
    return int(year) - (season == "Spring")


class Enrolled(ProgramTest):
    PERIODS = 4

    def setUp(self):
        super().setUp()
        self.rows = rows_of(5)
        with open(self.path("rows.csv"), "w", newline="") as file:
            writer = csv.DictWriter(file, ["student", "term", "course", "home"])
            writer.writeheader()
            writer.writerows(self.rows)
        self.run_program("prepare", "rows.csv", "--out", "all.cohort", "--periods", "years-since-entry", "--min-takers", "1")
        self.run_program("fit", "all.cohort", "--out", "all.desirepath", "--model", "cmm+bernoulli", "--states", "2", "--seed", "3")
        years, self.kind, self.home = {}, {}, {}
        for row in self.rows:
            years.setdefault(row["student"], set()).add(year_of(row["term"]))
        for row in self.rows:
            period = year_of(row["term"]) - min(years[row["student"]]) + 1
            self.kind[row["student"], period] = row["course"].split()[0]
            self.home[row["student"]] = row["home"]
        # Where each student is in each period: a kind, or why in none.
        self.place = {}
        for student, own in years.items():
            for period in range(1, self.PERIODS + 1):
                year = min(own) + period - 1
                self.place[student, period] = (self.kind[student, period] if year in own else "away" if year < max(own)
                                               else "left" if year <= DATA_END else "not yet")
        self.students = sorted(years)

    def is_in(self, place, node):
        """Whether the raw place is one that the node stands for."""
        if node["name"] == "other or not enrolled":
            return True
        self.assertEqual(isinstance(node["state"], int) or node["state"] == "other", "not_enrolled" not in node)
        if "not_enrolled" in node:
            return place.replace(" ", "_") in node["not_enrolled"]
        return node["name"].startswith(place + " ")

    def test_flows(self):
        for by in ([], ["--by", "home"]):
            told = self.run_program("pathways", "all.desirepath", "all.cohort", "--json", *by).json
            nodes, links = told["nodes"], told["links"]
            self.assertEqual(told["students"], len(self.students))
            for number, period in enumerate(told["periods"], 1):
                enrolled = sum(self.place[s, number] in ("CS", "ART") for s in self.students)
                self.assertTrue(period["exact"])
                self.assertEqual(period["enrolled"], enrolled)
                self.assertLess(enrolled, len(self.students) + (number == 1))
                column = sum(node["students"] for node in nodes if node["period"] == str(number))
                (self.assertEqual if told["node_sizes"] == "exact" else self.assertLessEqual)(column, len(self.students))
            # Every node and flow, counted from the rows.
            for node in nodes:
                count = sum(self.is_in(self.place[s, int(node["period"])], node) for s in self.students)
                exact = told["node_sizes"] == "exact" or node.get("exact", False)
                (self.assertEqual if exact else self.assertLessEqual)(node["students"], count, node)
            self.assertGreater(len(links), 10)
            for link in links:
                first, then = nodes[link["source"]], nodes[link["target"]]
                count = sum(self.is_in(self.place[s, int(first["period"])], first) and self.is_in(self.place[s, int(then["period"])], then)
                            for s in self.students)
                self.assertEqual(link["students"], count, (first, then))
                self.assertGreaterEqual(count, 10)
            names = {node["name"] for node in nodes}
            self.assertLessEqual({"left", "not yet"}, names)
            for path in told["paths"]:
                count = sum(all(self.is_in(self.place[s, int(nodes[n]["period"])], nodes[n]) for n in path["nodes"]) for s in self.students)
                self.assertEqual(path["students"], count)
            for row in told.get("groups", []):
                self.assertEqual(row["students"], self.enrolled(row["group"], row["period"]))
                count = sum(self.home[s] == row["group"] and row["state"].startswith(self.place[s, int(row["period"])] + " ")
                            for s in self.students)
                self.assertAlmostEqual(row["share"], count / row["students"])

    def enrolled(self, home, period):
        return sum(self.home[s] == home and self.place[s, int(period)] in ("CS", "ART") for s in self.students)

    def test_states_by_group(self):
        told = self.run_program("states", "all.desirepath", "all.cohort", "--by", "home", "--json").json
        self.assertEqual([period["enrolled"] for period in told["periods"]],
                         [sum(self.place[s, t] in ("CS", "ART") for s in self.students) for t in range(1, self.PERIODS + 1)])
        kinds = Counter()
        for row in told["rows"]:
            count = sum(self.home[s] == row["group"] and row["name"].startswith(self.place[s, int(row["period"])] + " ") for s in self.students)
            self.assertEqual(row["students"], count)
            self.assertEqual(row["enrolled"], self.enrolled(row["group"], row["period"]))
            self.assertAlmostEqual(row["share"], count / row["enrolled"])
            self.assertLessEqual(row["low"], row["share"])
            kinds[row["group"], row["period"]] += row["students"]
        for (group, period), count in kinds.items():
            self.assertEqual(count, self.enrolled(group, period))  # nobody else is in a state
        self.assertEqual(len(kinds), 2 * self.PERIODS)


if __name__ == "__main__":
    unittest.main()
