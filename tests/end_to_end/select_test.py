"""`select`: criteria that follow from their formulas, weights, the figure."""

import math
import unittest
import xml.etree.ElementTree as tree

from program import ProgramTest, close, student_weight


class Select(ProgramTest):
    def test_criteria(self):
        self.write_students(students=200, kinds=3)
        done = self.run_program("select", "t.csv", "--model", "nb", "--states", "1:4", "--held-out", 0.25, "--json").json
        self.assertEqual(done["schema"], "desirepath/select/1")
        self.assertEqual((done["training_students"], done["validation_students"]), (150, 50))
        rows = done["rows"]
        self.assertEqual([row["states"] for row in rows], [1, 2, 3, 4])
        for row in rows:
            self.assertTrue(close(row["bic"], -2 * row["log_likelihood"] + row["parameters"] * math.log(150)))
            self.assertTrue(close(row["aic"], -2 * row["log_likelihood"] + 2 * row["parameters"]))
            self.assertGreaterEqual(row["icl"], row["bic"] - 1e-9 * row["bic"])  # the entropy of the states is not negative
        self.assertEqual(rows[0]["icl"], rows[0]["bic"])  # one state leaves no doubt
        for name, best in (("bic", min), ("aic", min), ("icl", min), ("held_out", max)):
            self.assertEqual(done["best"][name], best(rows, key=lambda row: row[name])["states"])
        self.assertEqual([row["parameters"] for row in rows], [30 * k + k - 1 for k in (1, 2, 3, 4)])

    def test_csv_figure_and_text(self):
        self.write_students(students=80)
        done = self.run_program("select", "t.csv", "--model", "hmm", "--emission", "bernoulli", "--states", "1,3", "--figure", "k.svg",
                                "--csv", "--quiet")
        self.assertEqual(done.header, "states,parameters,log_likelihood,bic,aic,icl,likelihood_kind,held_out,standard_error,iterations,converged")
        self.assertEqual([row["states"] for row in done.rows], ["1", "3"])
        tree.parse(self.path("k.svg"))
        self.run_program("select", "t.csv", "--model", "nb", "--states", "1,2", "--figure", "k.svg", code=6)  # it exists
        self.assertRegex(self.run_program("select", "t.csv", "--model", "nb", "--states", "1:2").out, r"(?m)^ *1 .*\n *2 ")

    def test_weight_2_is_the_row_twice(self):
        # Everybody trains the same way whichever the weights; the held-out part is drawn by id, so that of the copies is
        # another one: what must agree is what rests on training alone, with a start that does not depend on copies.
        self.write_students("weighted.csv", weights=student_weight)
        done = self.run_program("select", "weighted.csv", "--model", "nb", "--states", "2", "--weights", "weight", "--json").json
        row, = done["rows"]
        self.run_program("split", "weighted.csv", "--out", "parts", "--json")  # the parts exist as files, too
        weight = (row["bic"] + 2 * row["log_likelihood"]) / row["parameters"]
        training = math.exp(weight)  # students in BIC's penalty: by weight, not by head
        self.assertGreater(training, 1.2 * done["training_students"])
        self.assertAlmostEqual(training, round(training), 6)

    def test_impossible_students_are_no_mean(self):
        rows = "".join(f"s{i},1,{'X' if i % 2 else 'Y'}\n" for i in range(30)) + "odd,1,Z\n"
        for seed in range(1, 60):  # a split that holds the odd one out
            self.write("t.csv", "student,period,course\n" + rows)
            done = self.run_program("select", "t.csv", "--model", "nb", "--states", "1", "--held-out", 0.4, "--pseudocount", 0,
                                    "--min-takers", 1, "--seed", seed, "--json")
            if done.json["rows"][0]["held_out"] is None:
                break
        self.assertIsNone(done.json["rows"][0]["held_out"])
        self.assertIsNone(done.json["best"]["held_out"])
        self.assert_says(done.err, 1, "<impossible>")
        text = self.run_program("select", "t.csv", "--model", "nb", "--states", "1", "--held-out", 0.4, "--pseudocount", 0, "--seed", seed,
                                "--min-takers", 1, "--figure", "k.svg").out
        self.assert_says(text, "<impossible>")
        self.assertNotIn("nan", self.path("k.svg").read_text().lower())

    def test_refusals(self):
        self.write_students(students=20)
        for states in ("5:2", "0:3", "a", "2:9:0", ""):
            with self.subTest(states=states):
                self.run_program("select", "t.csv", "--model", "nb", "--states", states, code=2)
        self.run_program("select", "t.csv", "--model", "nb", "--held-out", 0, code=2)
        self.run_program("select", "t.csv", "--model", "nb", "--held-out", 1, code=2)
        # What belongs to one fit is not taken and then ignored.
        for option in (("--validation", "0.2"), ("--match", "m")):
            self.assert_fails("select", "t.csv", "--model", "nb", *option, kind="usage", names=[option[0], "desirepath select --help"])

    def test_threads_do_not_change_a_byte(self):
        self.write_students(students=600)
        outputs = [self.run_program("select", "t.csv", "--model", "tan", "--states", "1:3", "--restarts", 2, "--iterations", 5, "--csv",
                                    "--threads", threads).out for threads in (1, 2, 3, 7)]
        self.assertEqual(outputs, [outputs[0]] * 4)

    def test_the_size_of_a_committee_is_its_tree_states(self):
        self.write_students()
        done = self.run_program("select", "t.csv", "--model", "hct", "--trees", 2, "--iterations", 4, "--tree-states", "2,4", "--json").json
        self.assertEqual([row["states"] for row in done["rows"]], [2, 4])
        self.assert_fails("select", "t.csv", "--model", "hct", "--states", "2:4", kind="usage", names=["hct", "--tree-states"])
        done = self.run_program("select", "t.csv", "--model", "vae", "--epochs", 3, "--hidden", 4, "--states", "1,2", "--json").json
        self.assertEqual(done["likelihood_kind"], "lower_bound")
        self.assertEqual([row["states"] for row in done["rows"]], [1, 2])
        self.run_program("select", "t.csv", "--model", "nb", "--tree-states", "2", "--states", "2", code=2)


if __name__ == "__main__":
    unittest.main()
