"""What is done where nothing is said: the model, rare courses, which column is the period."""

import unittest

from program import ProgramTest


class Periods(ProgramTest):
    def write_two_candidates(self):
        # Period: the hour of the day a class meets.
        rows = [f"s{n},{2018 + y} Fall,{1 + (n + c) % 9},C{c}" for n in range(30) for y in range(3) for c in range(4)]
        self.write("t.csv", "Student,SESSION,Period,Course\n" + "\n".join(rows) + "\n")

    def test_a_mapped_term_wins(self):
        self.write_two_candidates()
        done = self.run_program("prepare", "t.csv", "--map", "term=SESSION", "--out", "t.cohort", "--json").json
        self.assertEqual(self.run_program("inspect", "t.cohort", "--json").json["periods"], ["1", "2", "3"])
        self.assertIn("two columns could say the period: 'Period' and the term 'SESSION'; periods are counted from the term",
                      str(done))

    def test_two_names_are_said_aloud(self):
        self.write_two_candidates()
        self.write("u.csv", self.path("t.csv").read_text().replace("SESSION", "Term"))
        done = self.run_program("prepare", "u.csv", "--out", "u.cohort", "--json").json
        self.assertEqual(len(self.run_program("inspect", "u.cohort", "--json").json["periods"]), 9)
        self.assertIn("the period is taken as it stands", str(done))


if __name__ == "__main__":
    unittest.main()
