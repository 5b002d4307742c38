"""Every sentence of the page is true: a second program, which shares nothing with the first, counts again what it says.

It reads the page (truth_page.py), the raw rows and the parameters of the model (truth_rows.py), and knows of every sentence what may
stand in it (truth.py, truth_answers.py). With DESIREPATH_DATA it does so for public files too.
"""

import copy
import csv
import gzip
import os
import pathlib
import re
import unittest

from program import ProgramTest
from truth import Truth
from truth_page import NUMBER, Page
from truth_rows import Rows, States

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STEPS = "First Second Third Fourth Fifth Sixth Seventh Eighth Ninth".split()
# What may be off by one and is let pass: lower bounds, numbers in few digits, and choices that privacy makes.
LOOSE = {"courses_per_student_finding", "states_merged", "states_point", "flows_basis", "sankey_path", "sankey_path_enrolled", "made_by",
         "calibration_basis", "calibration_figure_basis", "prerequisites_figure_basis", "delays_figure_basis", "sankey_flow",
         "prerequisites_strongest"}


def name_of(step, state):
    return f"{STEPS[step]} {'abcdefgh'[state]}"


def records(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class EverySentence(ProgramTest):
    def truth(self, table, last_year, by="", courses=None, states=3):
        """The truth about the page of a table; last_year: the last academic year that ended within it."""
        raw = Rows(records(table), last_year, records(courses) if courses else ())
        self.run_program("prepare", table, *(("--courses", courses) if courses else ()), "--out", "all.cohort", "--quiet")
        self.run_program("fit", "all.cohort", "--model", "cmm+bernoulli", "--states", states, "--restarts", 1, "--out", "s.desirepath", "--quiet")
        self.run_program("fit", "all.cohort", "--model", "hct", "--trees", 1, "--tree-states", 4, "--iterations", 10, "--out", "a.desirepath",
                         "--quiet")
        names = [word for step, period in enumerate(raw.periods) for state in range(states)
                 for word in ("--name", f"{period}:{state}={name_of(step, state)}")]
        self.run_program("report", "s.desirepath", "all.cohort", "--answers", "a.desirepath", *(("--by", by) if by else ()), *names,
                         "--out", "r.html", "--quiet")
        return Truth(Page(self.path("r.html").read_text(encoding="utf-8")), raw, States(self.path("s.desirepath")), name_of, by)

    def university(self, *options, last_year):
        self.run_program("simulate", "--out", ".", "--courses", 40, "--periods", 4, "--quiet", *options)
        return self.truth(self.path("enrollments.csv"), last_year, "residence", self.path("courses.csv"))

    def assert_true(self, truth):
        self.assertGreater(len(truth.page.sentences), 50)
        problems = truth.problems()
        self.assertEqual(problems, [], "\n".join(problems))

    def test_a_university(self):
        truth = self.university("--students", 700, last_year=2021)
        self.assert_true(truth)
        self.assertGreater(sum(sentence.is_estimate for sentence in truth.page.sentences), 10)
        # What is off by one is noticed.
        changed = 0
        for sentence in truth.page.sentences:
            for at, value in enumerate(sentence.values):
                if sentence.is_estimate or sentence.id in LOOSE or not NUMBER.fullmatch(value.removesuffix(" %")):
                    continue
                wrong = copy.copy(sentence)
                wrong.values = list(sentence.values)
                wrong.values[at] = NUMBER.sub(lambda found: f"{float(found[0].replace(',', '')) + 1:g}", value)
                self.assertTrue(truth.sentence_problems(wrong), wrong)
                changed += 1
        self.assertGreater(changed, 30)

    def test_a_university_whose_calendar_drifts(self):
        self.assert_true(self.university("--students", 700, "--edition", 3, last_year=2011))

    def test_public_files(self):
        if "DESIREPATH_DATA" not in os.environ:
            self.skipTest("DESIREPATH_DATA names no folder with public files")
        for name, last_year, by in (("helsinki_sci_2016", 2014, "cohort"), ("macalester", 2004, ""), ("midfield_toy", 2017, "")):
            with self.subTest(file=name):
                self.setUp()
                self.assert_true(self.truth(pathlib.Path(os.environ["DESIREPATH_DATA"]) / name / "long.csv.gz", last_year, by))


class Ids(unittest.TestCase):
    def test_each_is_used_once(self):
        words = (ROOT / "src/desirepath/reports/report_words.h").read_text()
        named = re.findall(r'inline constexpr Pattern (\w+) =\s*\{\s*"(\w+)"', words)
        self.assertEqual(len(named), words.count("inline constexpr Pattern "))
        self.assertEqual([name for name, _ in named], [identifier for _, identifier in named])
        ids = [identifier for _, identifier in named] + re.findall(r'\{"(limit_\w+)"', words)
        for path in sorted((ROOT / "src/desirepath/reports").glob("*.cpp")):
            ids += re.findall(r'(?:sentence_of\(\s*|Pattern \w+ =\s*)\{\s*"(\w+)",\s*"', path.read_text())
        self.assertGreater(len(ids), 120)
        self.assertEqual(sorted(ids), sorted(set(ids)))


if __name__ == "__main__":
    unittest.main()
