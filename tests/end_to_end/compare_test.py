"""`compare`: models on one split, paired errors, one recommendation; what is stopped loses one fit."""

import math
import time
import unittest

from program import ProgramTest, close, student_weight

QUICK = ("--restarts", 1, "--iterations", 30)


class Compare(ProgramTest):
    def test_models_on_one_split(self):
        self.write_students(students=300, kinds=3)
        done = self.run_program("compare", "t.csv", "--models", "nb,cmm+bernoulli,tan", "--states", "1,2,3", *QUICK, "--json").json
        self.assertEqual(done["schema"], "desirepath/compare/1")
        self.assertEqual(done["likelihood_kind"], "mass")
        rows = done["rows"]
        self.assertEqual([(row["model"], row["states"]) for row in rows],
                         [(model, k) for model in ("nb", "cmm+bernoulli", "tan") for k in (1, 2, 3)])
        best = max(rows, key=lambda row: row["held_out"])
        self.assertEqual(done["best"], {"model": best["model"], "states": best["states"]})
        for row in rows:
            self.assertEqual(row["likelihood_kind"], "mass")
            self.assertTrue(close(row["difference"], row["held_out"] - best["held_out"], 1e-6))
            # Paired: the same students, so less than the errors of both means together.
            self.assertLess(row["difference_error"], math.hypot(row["standard_error"], best["standard_error"]))
        self.assert_says(done["recommendation"], best["model"], best["states"], "<recommended>")
        # The same split as select's: one model's rows are select's.
        selected = self.run_program("select", "t.csv", "--model", "nb", "--states", "1,2,3", *QUICK, "--json").json
        for row, other in zip(rows[:3], selected["rows"], strict=True):
            self.assertTrue(close(row["held_out"], other["held_out"]))

    def test_gaussian_states_are_compared_by_mass(self):
        self.write_students(students=120, courses=5)
        rows = self.run_program("compare", "t.csv", "--models", "nb,cmm", "--states", 2, *QUICK, "--csv").rows
        self.assertEqual({row["likelihood_kind"] for row in rows}, {"mass"})
        self.assert_all(rows, lambda row: float(row["held_out"]) < 0)

    def test_an_end_of_the_range_is_warned_of(self):
        self.write_students(students=400, kinds=3)
        done = self.run_program("compare", "t.csv", "--models", "nb", "--states", "1,2", *QUICK)
        self.assert_says(done.err, 2, "<end-of-range>")
        self.assert_says(done.out, "nb", 2, "<recommended>")
        self.assert_says(self.run_program("select", "t.csv", "--model", "nb", "--states", "1,2", *QUICK).err, 2, "<end-of-range>")

    def test_refused_before_anything_is_read(self):
        for arguments in (("--models", "nb,tam"), ("--models", "nb+gausian"), ("--states", "5:2"), ("--models", "nb,vae")):
            self.run_program("compare", "not-there.csv", *arguments, code=2)

    def test_dry_run(self):
        self.write_students()
        done = self.run_program("compare", "t.csv", "--models", "nb,tan", "--states", "2,4", "--dry-run")
        self.assert_says(done.out, 4)
        done = self.run_program("select", "t.csv", "--model", "tan", "--states", "2:6", "--dry-run")
        self.assert_says(done.out, 5)
        for sweep in (("compare", "t.csv", "--models", "nb"), ("select", "t.csv", "--model", "nb")):
            table = self.run_program(*sweep, "--states", "2,3", "--dry-run", "--csv").out.splitlines()
            self.assertEqual(table[0], "bytes,seconds_per_iteration,distinct_rows")
            self.assertEqual(len(table), 2)

    def stopped_it_loses_one_fit(self, common, another):
        whole = self.run_program(*common).out
        with_file = (*common, "--checkpoint", "c")
        process = self.start(*with_file)
        while not self.path("c").exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(2)
        process.communicate()
        self.assertIn(process.returncode, (130, 0))
        if process.returncode == 130:
            kept = self.read("c")
            self.run_program(*with_file, code=6)  # not replaced unasked
            self.assert_fails(*another, "--checkpoint", "c", "--resume", kind="usage", names=["c", "<another-run>"])
            self.assertEqual(self.read("c"), kept)
        self.assertEqual(self.run_program(*with_file, "--resume").out, whole)
        self.assertFalse(self.path("c").exists())

    def test_stopped_it_loses_one_fit(self):
        self.write_students(students=400)
        self.stopped_it_loses_one_fit(("compare", "t.csv", "--models", "nb,tan,hmm,cmm+bernoulli", "--states", "2:5", "--csv"),
                                      ("compare", "t.csv", "--models", "nb"))

    def test_a_selection_that_is_stopped_loses_one_fit(self):
        self.write_students(students=400)
        common = ("select", "t.csv", "--model", "tan", "--restarts", 2, "--csv", "--states")
        self.stopped_it_loses_one_fit((*common, "2:9"), (*common, "2:8"))
        self.assert_fails(*common, "2:3", "--resume", kind="usage", names=["--resume", "--checkpoint"])

    def test_weighted_students(self):
        self.write_students(students=300, weights=student_weight)
        common = ("--states", "1,2,3", *QUICK, "--json")
        plain, weighted = (self.run_program("compare", "t.csv", "--models", "nb", *common, *more).json["rows"]
                           for more in ((), ("--weights", "weight")))
        selected = self.run_program("select", "t.csv", "--model", "nb", *common, "--weights", "weight").json["rows"]
        for row, other, unweighted in zip(weighted, selected, plain):
            for name in ("held_out", "standard_error"):
                self.assertTrue(close(row[name], other[name]))
                self.assertFalse(close(row[name], unweighted[name], 1e-6))
        self.run_program("compare", "t.csv", "--models", "nb", "--weights", "wieght", code=2)


class Criteria(ProgramTest):
    def test_void_with_more_parameters_than_students(self):
        self.write_students(students=60)
        done = self.run_program("select", "t.csv", "--model", "nb", "--states", "1,4", "--json").json
        small, large = done["rows"]
        self.assertIsNotNone(small["bic"])
        self.assertIsNone(large["bic"])
        self.assertEqual((done["best"]["bic"], large["likelihood_kind"]), (1, "mass"))
        self.assert_says(self.run_program("select", "t.csv", "--model", "nb", "--states", "1,4").out, "BIC", "<void>")


if __name__ == "__main__":
    unittest.main()
