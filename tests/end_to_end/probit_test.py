#!/usr/bin/env python3
"""Probit models through the program: fit, score, options that make no sense.

    probit_test.py PROGRAM
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import KINDS, line_with

PROGRAM = str(pathlib.Path(sys.argv.pop()).resolve())


class ProbitTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.run_program("simulate", "--out", "university", "--students", "300", "--courses", "40", "--periods", "3")
        cls.run_program("prepare", "university/enrollments.csv", "--out", "all.cohort")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def run_program(cls, *arguments, code=0):
        run = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=cls.folder)
        assert run.returncode == code, run.stderr
        return run

    def fit(self, *options):
        run = self.run_program("fit", "all.cohort", "--emission", "probit", "--states", "2", "--restarts", "1",
                               "--iterations", "8", "--force", "--json", "--out", "m.desirepath", *options)
        return json.loads(run.stdout)

    def test_every_time_structure_fits_and_scores(self):
        for model in ["nb", "hmm", "cmm"]:
            with self.subTest(model=model):
                fit = self.fit("--model", model)
                self.assertEqual(fit["likelihood_kind"], "mass")
                objective = fit["objective_trace"]
                self.assertEqual(sorted(objective), objective)
                score = json.loads(self.run_program("score", "m.desirepath", "all.cohort", "--full-precision", "--json").stdout)
                # What fit reports is of the parameters in the file: calibrated ones.
                self.assertAlmostEqual(score["mean_log_likelihood"] * score["students"], fit["log_likelihood"], places=5)

    def test_factors_and_nodes_are_those_asked_for(self):
        # Per state and course an intercept and Q slopes, less the rotations.
        fits = {q: self.fit("--model", "nb", "--covariance", f"factor:{q}") for q in [1, 2, 3]}
        counts = {q: fit["parameters"] for q, fit in fits.items()}
        bits = 3 * fits[1]["courses"]
        self.assertEqual(counts[2] - counts[1], 2 * (bits - 1))
        self.assertEqual(counts[3] - counts[2], 2 * (bits - 2))

    def test_options_that_make_no_sense_are_refused(self):
        for options, names in [
            (["--covariance", "full"], ["--covariance", "full", "factor:Q"]),
            (["--covariance", "factor:x"], ["--covariance", "factor:x", "factor:Q"]),
            (["--covariance", "factor:0"], ["--covariance", "factor:0", "factor:Q", 1]),
            (["--covariance", "factor:99"], [1, 16]),
            (["--nodes", "33"], ["--nodes", 32]),
            (["--slope-variance", "0"], ["--slope-variance"]),
            (["--slope-correlation", "1"], ["--slope-correlation"]),
        ]:
            with self.subTest(options=options):
                run = self.run_program("fit", "all.cohort", "--emission", "probit", "--out", "n.desirepath", *options,
                                       code=KINDS["usage"])
                self.assertIsNotNone(line_with(run.stderr, *names), f"no {names} in {run.stderr}")
                self.assertFalse((self.folder / "n.desirepath").exists())


unittest.main()
