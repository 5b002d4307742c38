"""The page of the tour: every sentence counted again from the rows that the tour wrote."""

import collections
import csv
import unittest

from program import ProgramTest
from truth import Truth
from truth_page import Page
from truth_rows import LEAST, Rows, States

MAJOR, FULL_TIME, LAST_YEAR = "Computer Science", 5, 2021


class Tour(ProgramTest):
    def records(self, name):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_every_sentence(self):
        self.run_program("demo", "--students", 2000, "--out", "tour", "--quiet")
        rows = [row for row in self.records("tour/enrollments.csv") if not row["term"].endswith("Summer")]
        courses = collections.defaultdict(set)
        for row in rows:
            courses[row["student"], row["period"]].add(row["course"])
        part_time = {student for (student, _), taken in courses.items() if len(taken) < FULL_TIME}
        rows = [row for row in rows if row["student"] not in part_time]
        of_major = [row for row in rows if row["major"] == MAJOR]
        students = len({row["student"] for row in of_major})
        truth = Truth(Page(self.path("tour/report.html").read_text(encoding="utf-8")),
                      Rows(rows, LAST_YEAR, self.records("tour/courses.csv")), States(self.path("tour/states.desirepath")), by="residence",
                      of_states=Rows(of_major, LAST_YEAR, least=max(LEAST, students // 12)))
        self.assertGreater(len(truth.page.sentences), 60)
        problems = truth.problems()
        self.assertEqual(problems, [], "\n".join(problems))


if __name__ == "__main__":
    unittest.main()
