#!/usr/bin/env python3
"""`desirepath orthant` from outside: known answers by every estimator, the forms of output, errors in one line.

    orthant_test.py PROGRAM
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import KINDS, line_with

PROGRAM = sys.argv.pop()
# Three equicorrelated courses at rho = 1/2 and mean 0: all signs alike has probability 1/4 (exactly).
EQUAL = {"x": [1, 1, 1], "mean": 0, "rho": 0.5}
ESTIMATORS = ["paper", "sov", "tilted", "ep", "factor"]


class OrthantTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_case(self, case, *options):
        path = pathlib.Path(self.folder.name) / "case.json"
        path.write_text(case if isinstance(case, str) else json.dumps(case))
        return subprocess.run([PROGRAM, "orthant", str(path), *options], capture_output=True, text=True)

    def answer(self, case, *options):
        run = self.run_case(case, "--json", *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_every_estimator_knows_a_closed_form(self):
        for name in ESTIMATORS:
            with self.subTest(estimator=name):
                found = self.answer(EQUAL, "--estimator", name)
                self.assertEqual(found["estimator"], name)
                self.assertEqual(found["schema"], "desirepath/orthant/1")
                self.assertGreaterEqual(found["seconds"], 0)
                error = abs(found["log_probability"] - math.log(0.25))
                if name == "ep":
                    self.assertIsNone(found["standard_error"])
                    self.assertEqual(found["samples"], 0)
                    self.assertLess(error, 0.01)
                else:
                    self.assertGreater(found["samples"], 0)
                    # t with 7 degrees of freedom: beyond 6 once in 2,000.
                    self.assertLess(error, 6 * found["standard_error"] + 1e-12)
                self.assertEqual("upper_bound" in found, name == "tilted")
                if name == "tilted":
                    self.assertGreaterEqual(found["upper_bound"], math.log(0.25))

    def test_the_structure_decides_where_none_is_named(self):
        self.assertEqual(self.answer(EQUAL)["estimator"], "factor")
        self.assertEqual(self.answer({"x": [1, 1], "mean": 0, "neighbour_corr": -0.5})["estimator"], "tilted")

    def test_samples_are_those_asked_for(self):
        self.assertEqual(self.answer(EQUAL, "--samples", "64")["samples"], 64)

    def test_same_seed_same_answer_for_any_number_of_threads(self):
        answers = []
        for threads in ["1", "2", "5"]:
            found = self.answer(EQUAL, "--threads", threads, "--estimator", "sov")
            del found["seconds"]
            answers.append(found)
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_other_forms_of_output(self):
        text = self.run_case(EQUAL)
        self.assertRegex(text.stdout, r"-1\.386\d")
        self.assertIsNotNone(line_with(text.stdout, 3, "factor"), text.stdout)
        lines = self.run_case(EQUAL, "--csv", "--estimator", "ep").stdout.splitlines()
        self.assertEqual(lines[0], "log_probability,standard_error,upper_bound,estimator,samples")
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[1].endswith(",,,ep,0"))

    def test_no_hit_is_null_with_the_reason(self):
        found = self.answer({"x": [1] * 30, "mean": -6, "rho": 0}, "--estimator", "paper", "--samples", "8")
        self.assertIsNone(found["log_probability"])
        self.assertIsNone(found["standard_error"])
        self.assertTrue(found["note"])

    def test_errors_say_what_where_and_what_to_do(self):
        for case, options, kind, names in [
            ({"x": [1, 0], "rho": 0.5}, [], "input", ["case.json", "mu"]),
            ({"mean": 0, "rho": 0.5}, [], "input", ["case.json", "'x'"]),
            ({"x": [1, 0], "mu": [0, 0], "Sigma": [1, 2, 2, 1]}, [], "input", ["case.json", 1, -3]),
            ('{"x": [1,\n}', [], "input", ["case.json:2"]),
            (EQUAL, ["--estimator", "titled"], "usage", ["titled", "tilted"]),
            (EQUAL, ["--samples", "0"], "usage", ["--samples"]),
            ({"x": [1, 1], "mean": 0, "neighbour_corr": -0.5}, ["--estimator", "factor"], "usage", ["factor"]),
        ]:
            with self.subTest(names=names):
                run = self.run_case(case, *options)
                self.assertEqual(run.returncode, KINDS[kind], run.stderr)
                self.assertEqual(run.stdout, "")
                self.assertEqual(len(run.stderr.splitlines()), 1)
                self.assertIsNotNone(line_with(run.stderr, *names), f"no {names} in {run.stderr}")
        missing = subprocess.run([PROGRAM, "orthant", self.folder.name + "/none.json"], capture_output=True, text=True)
        self.assertEqual(missing.returncode, KINDS["disk"])


unittest.main()
