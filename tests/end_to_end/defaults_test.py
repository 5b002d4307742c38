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
        self.assert_says(said, "--model", "cmm+bernoulli", 2)
        options, _, guide = self.run_program("fit", "--help").out.partition("Examples:")[0].rpartition("\n\n")[0].rpartition("\n\n")
        self.assertIn("--min-takers", options)
        for model in ("cmm+bernoulli", "hct", "nb", "tan", "gmm", "vae"):  # which model for which question, behind the options
            self.assert_says(guide, model)

    def test_more_parameters_than_enrollments_are_warned_of(self):
        self.write_students(students=40)
        fit = self.fit("--model", "nb", "--states", 20).json
        self.assert_says("\n".join(fit["warnings"]), f"{fit['parameters']:,}", "<more-than>")
        self.assert_never_says("\n".join(self.fit("--model", "nb", "--states", 2).json["warnings"]), "<more-than>")


class RareCourses(ProgramTest):
    def test_ten_takers_where_a_model_is_trained(self):
        self.write_students()
        with open(self.path("t.csv"), "a") as table:
            table.write("".join(f"s{n:04d}a,1,RARE\n" for n in range(9)))
        for verb in (("fit", "t.csv", "--model", "nb", "--states", 2, "--iterations", 3, "--out", "m.desirepath"),
                     ("select", "t.csv", "--model", "nb", "--states", "1,2", "--iterations", 3),
                     ("compare", "t.csv", "--models", "nb", "--states", "1,2", "--iterations", 3)):
            done = self.run_program(*verb)
            self.assert_says(done.err, 1, 10, "<dropped>")
        self.assertNotIn(b"RARE", self.read("m.desirepath"))
        self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--min-takers", 1, "--out", "n.desirepath", "--quiet")
        self.assertIn(b"RARE", self.read("n.desirepath"))
        # Asked about, a table keeps all its courses: this one the model does not know.
        self.assert_fails("score", "m.desirepath", "t.csv", kind="input", names=[1, 9, "--ignore-unseen"])


class Periods(ProgramTest):
    def write_two_candidates(self):
        # Period: the hour of the day a class meets.
        rows = [f"s{n},{2018 + y} Fall,{1 + (n + c) % 9},C{c}" for n in range(30) for y in range(3) for c in range(4)]
        self.write("t.csv", "Student,SESSION,Period,Course\n" + "\n".join(rows) + "\n")

    def test_a_mapped_term_wins(self):
        self.write_two_candidates()
        done = self.run_program("prepare", "t.csv", "--map", "term=SESSION", "--out", "t.cohort", "--json").json
        self.assertEqual(self.run_program("inspect", "t.cohort", "--json").json["periods"], ["1", "2", "3"])
        self.assert_says("\n".join(done["notes"]), "Period", "SESSION", "--periods")

    def test_two_names_are_said_aloud(self):
        self.write_two_candidates()
        self.write("u.csv", self.path("t.csv").read_text().replace("SESSION", "Term"))
        done = self.run_program("prepare", "u.csv", "--out", "u.cohort", "--json").json
        self.assertEqual(len(self.run_program("inspect", "u.cohort", "--json").json["periods"]), 9)
        self.assert_says("\n".join(done["notes"]), "Period", "30 of 30 students", "--periods years-since-entry", "Term")


if __name__ == "__main__":
    unittest.main()
