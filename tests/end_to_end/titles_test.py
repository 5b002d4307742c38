"""Titles of courses, given by a column of the table, reach every table and page; CSV and JSON keep to the names."""

import random
import unittest

from program import ProgramTest

TITLES = {
    "MATH 10": "First Steps in Algebra", "MATH 20": "Curves and Areas", "MATH 30": "Spaces of Many Dimensions",
    "CHEM 10": "Atoms at Rest", "CHEM 20": "Atoms in Motion", "CHEM 30": "Slow Reactions",
    "HIST 10": "Empires and Trade", "HIST 20": "Archives of Cities", "HIST 30": "Wars Nobody Won",
    "POET 10": "Reading Aloud", "POET 20": "Sonnets", "POET 30": "Verse Without Rhyme",
}


def records():
    """Two kinds of students; a course 20 follows its 10, a 30 its 20."""
    draw = random.Random(5)
    for number in range(240):
        subjects = ("MATH", "CHEM") if number % 2 == 0 else ("HIST", "POET")
        begun = dict.fromkeys(("MATH", "CHEM", "HIST", "POET"), 0)
        for period in (1, 2, 3):
            for subject in begun:
                likely = 0.85 if subject in subjects else 0.15
                if begun[subject] < 3 and draw.random() < likely:
                    begun[subject] += 1
                    yield f"s{number:03d}", period, f"{subject} {10 * begun[subject]}"
            if not any(begun.values()):
                yield f"s{number:03d}", period, ""


class Titles(ProgramTest):
    def setUp(self):
        super().setUp()
        lines = ["student,period,course,what,area"]
        lines += [f"{s},{p},{c},{TITLES.get(c, '')},{c.split(' ')[0]}" for s, p, c in records()]
        self.write("t.csv", "\n".join(lines) + "\n")
        self.run_program("prepare", "t.csv", "--map", "label=what", "--map", "subject=area", "--out", "a.cohort")
        self.run_program("fit", "a.cohort", "--model", "cmm", "--emission", "bernoulli", "--states", 2, "--out", "m.desirepath")

    def check(self, *command, least=1):
        """Titles in the words; in CSV the names alone, in JSON beside a title at most."""
        words = self.run_program(*command).out
        found = [name for name, title in TITLES.items() if title in words]
        self.assertGreaterEqual(len(found), least, words)
        rows = self.run_program(*command, "--csv").out
        json = self.run_program(*command, "--json").out
        for name in found:
            self.assertIn(name, json, command)
            self.assertNotIn(f"{name} {TITLES[name]}", json, command)
            if command[0] != "score":  # what is unusual is said in words
                self.assertNotIn(f"{name} {TITLES[name]}", rows, command)
        return words

    def names_bare(self, words):
        """Names of courses in the words that no title follows."""
        bare = []
        for name, title in TITLES.items():
            bare += [name] * (words.count(name) - words.count(f"{name} {title}"))
        return bare

    def test_tables_of_courses(self):
        model, cohort = "m.desirepath", "a.cohort"
        for command, least in ((("states", model), 6), (("states", model, "--grid"), 6),
                               (("prerequisites", model, cohort), 4),
                               (("prerequisites", model, cohort, "--course", "MATH 20"), 1),
                               (("delays", model, cohort, "--q", 1), 4), (("delays", model, cohort, "--q", 1, "--goal", "MATH 30"), 4),
                               (("company", model, cohort), 2),
                               (("plan", model, "--took", "MATH 10@1", "--goal", "CHEM 30"), 3),
                               (("infer", model, "--took", "MATH 10@1"), 4),
                               (("infer", model, cohort, "--known-periods", "1", "--total"), 4),
                               (("score", model, cohort, "--explain", 3), 2), (("sample", model, "--count", 20), 6)):
            with self.subTest(" ".join(map(str, command))):
                words = self.check(*command, least=least)
                asked = [word for word in command if word in TITLES]  # the user's own words may be said again
                self.assertEqual([name for name in self.names_bare(words) if name not in asked], [], words)

    def test_states_are_called_by_titles(self):
        for command in (("pathways", "m.desirepath", "a.cohort"), ("pathways", "m.desirepath")):
            words = self.run_program(*command).out
            self.assertTrue(any(title in words for title in TITLES.values()), words)
            self.assertEqual(self.names_bare(words), [])

    def test_trees(self):
        self.run_program("fit", "a.cohort", "--model", "hct", "--trees", 2, "--out", "t.desirepath")
        self.assertEqual(self.names_bare(self.check("states", "t.desirepath", least=4)), [])

    def test_the_cohort_itself(self):
        described = self.run_program("describe", "a.cohort", "--csv", "--table", "courses").rows
        self.assertEqual({row["course"]: row["label"] for row in described}, TITLES)
        words = self.run_program("describe", "a.cohort").out
        self.assertTrue(any(title in words for title in TITLES.values()), words)

    def test_figures(self):
        # A course is a band of its own where there are no subjects.
        short = [line.rsplit(",", 1)[0] for line in self.path("t.csv").read_text().replace(" ", "").splitlines()]
        self.write("n.csv", "\n".join(short) + "\n")
        self.run_program("prepare", "n.csv", "--map", "label=what", "--map", "course=substr(course, 5)", "--out", "n.cohort")
        self.run_program("describe", "n.cohort", "--figures", "figures")
        drawn = "".join(file.read_text() for file in self.path("figures").iterdir())
        self.assertTrue(any(title.replace(" ", "") in drawn for title in TITLES.values()))


if __name__ == "__main__":
    unittest.main()
