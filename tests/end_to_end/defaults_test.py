"""What is done where nothing is said: the model, rare courses, which column is the period."""

import unittest

from program import ProgramTest


class Model(ProgramTest):
    def test_without_a_name_it_is_the_one_for_states(self):
        self.write_students()
        fit = self.run_program("fit", "t.csv", "--out", "m.desirepath", "--json").json
        self.assertEqual((fit["model"], fit["emission"], fit["states"]), ("cmm", "bernoulli", 2))
        self.assertLess(fit["parameters"], 1000)
        named = self.run_program("fit", "t.csv", "--model", "cmm", "--states", 2, "--iterations", 3, "--out", "n.desirepath", "--json").json
        self.assertEqual(named["emission"], "gaussian")  # the paper's
        given = self.run_program("fit", "t.csv", "--states", 3, "--out", "o.desirepath", "--json").json
        self.assertEqual((given["emission"], given["states"]), ("bernoulli", 3))
        said = self.run_program("fit", "t.csv", "--out", "p.desirepath").err
        self.assertIn("no --model named: cmm+bernoulli with 2 states", said)
        self.assertIn("Which model for which question", self.run_program("fit", "--help").out)

    def test_more_parameters_than_enrollments_are_warned_of(self):
        self.write_students(students=40)
        fit = self.fit("--model", "nb", "--states", 20).json
        self.assertIn("than enrollments", " ".join(fit["warnings"]))
        self.assertNotIn("than enrollments", " ".join(self.fit("--model", "nb", "--states", 2).json["warnings"]))


class RareCourses(ProgramTest):
    def test_ten_takers_where_a_model_is_trained(self):
        self.write_students()
        with open(self.path("t.csv"), "a") as table:
            table.write("".join(f"s{n:04d}a,1,RARE\n" for n in range(9)))
        for verb in (("fit", "t.csv", "--model", "nb", "--states", 2, "--iterations", 3, "--out", "m.desirepath"),
                     ("select", "t.csv", "--model", "nb", "--states", "1,2", "--iterations", 3),
                     ("compare", "t.csv", "--models", "nb", "--states", "1,2", "--iterations", 3)):
            done = self.run_program(*verb)
            self.assertIn("1 course under 10 takers dropped", done.err)
        self.assertNotIn(b"RARE", self.read("m.desirepath"))
        self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--min-takers", 1, "--out", "n.desirepath", "--quiet")
        self.assertIn(b"RARE", self.read("n.desirepath"))
        # Asked about, a table keeps all its courses: this one the model does not know.
        self.assertIn("does not know", self.run_program("score", "m.desirepath", "t.csv", code=3).err)


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
        self.assertIn("the column 'Period' does not count periods of study: for 30 of 30 students", str(done))
        self.assertIn("--periods years-since-entry counts the years from 'Term'", str(done))


if __name__ == "__main__":
    unittest.main()
