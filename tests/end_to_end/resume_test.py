"""Training can be stopped at any moment and resumed to the same bytes.

By default Ctrl-C; with --kill N instead SIGKILL at N moments drawn from a fixed seed, several a fit, over all kinds of models.
"""

import random
import signal
import subprocess
import sys
import time
import unittest

from program import ProgramTest

# Enough work that a kill falls into every part of it: k-means, E step, M step, proposals, writing of checkpoint and model.
CASES = {
    "nb": ("--model", "nb", "--states", 6, "--iterations", 60, "--validation", 0.2, "--tolerance", 0, "--restarts", 2),
    "tan": ("--model", "tan", "--states", 4, "--iterations", 25, "--tolerance", 0, "--restarts", 2),
    "cmm": ("--model", "cmm", "--emission", "tree", "--states", 4, "--iterations", 25, "--tolerance", 0, "--restarts", 2),
}
# Killed at any moment: these end by converging, so that kills fall into the return to the best iterate too.
CATALOG = {
    **CASES,
    "hmm": ("--model", "hmm", "--states", 5, "--restarts", 3),
    "per-state": ("--model", "cmm", "--emission", "tree", "--tree", "per-state", "--states", 3),
    "ridge": ("--model", "cmm", "--ridge", 0.05, "--states", 3, "--tolerance", 1e-5),
    "tied ridge": ("--model", "gmm", "--covariance", "tied", "--ridge", 0.3, "--states", 4, "--restarts", 2),
    "full": ("--model", "gmm", "--states", 3, "--iterations", 40),
    "factor": ("--model", "cmm", "--covariance", "factor:2", "--states", 3, "--iterations", 40),
    "diagonal": ("--model", "hmm", "--emission", "gaussian", "--covariance", "diagonal", "--states", 4),
    "probit": ("--model", "cmm", "--emission", "probit", "--covariance", "factor:1", "--states", 2, "--iterations", 8),
    "orthant-em": ("--model", "cmm", "--covariance", "factor:1", "--states", 2, "--iterations", 6, "--refine", "orthant-em"),
    "hct": ("--model", "hct", "--trees", 3, "--tree-states", 3, "--iterations", 8),
    "hct trial": ("--model", "hct", "--trees", 5, "--tree-states", 3),
    "vae": ("--model", "vae", "--latent", 3, "--hidden", 10, "--epochs", 25),
    "hidden-tree": ("--model", "nb", "--emission", "hidden-tree", "--states", 2, "--tree-states", 3, "--iterations", 15),
}


class Resume(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write_students(students=1500, courses=25, kinds=4)
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")

    def arguments(self, case, out="m.desirepath", every=0):
        return ("fit", "t.cohort", *CATALOG[case], "--checkpoint", "c", "--checkpoint-every", every, "--resume", "--out", out, "--quiet")

    def uninterrupted(self, case):
        begin = time.monotonic()
        self.run_program(*self.arguments(case, out="whole.desirepath"), "--force")
        self.assertFalse(self.path("c").exists())
        return time.monotonic() - begin, self.read("whole.desirepath")

    def interrupted(self, case, wait):
        """Starts or resumes, interrupts after a while; whether that stopped it."""
        # --checkpoint-every is far off: what is there, the interruption wrote.
        process = self.start(*self.arguments(case, every=1e6))
        time.sleep(wait)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if process.returncode == 0:
            return False
        self.assertLess(time.monotonic() - sent, 2)
        self.assertEqual(out, "")
        self.assertIn(process.returncode, (130, -signal.SIGINT), err)  # the signal itself while the cohort is read
        if process.returncode == 130 and "--resume" in err:
            kept = self.run_program("inspect", "c", "--json").json
            self.assertEqual(kept["kind"], "checkpoint")
            self.assertLessEqual({"restart", "iteration", "holds"}, set(kept))
            self.assertFalse(self.path("m.desirepath").exists())
        return process.returncode == 130

    def test_interrupt(self):
        draw = random.Random(7)
        for case in CASES:
            with self.subTest(case=case):
                seconds, whole = self.uninterrupted(case)
                stops = 0
                while stops < 3:  # a busy machine may let a run end before the signal comes
                    while not self.path("m.desirepath").exists():
                        stops += self.interrupted(case, 0.02 + draw.random() * seconds / 2)
                        self.assertLess(stops, 300)
                    self.assertEqual(self.read("m.desirepath"), whole)
                    self.assertFalse(self.path("c").exists())
                    self.path("m.desirepath").unlink()

    def test_a_checkpoint_belongs_to_one_fit(self):
        def endless(**changes):
            arguments = list(self.arguments("tan"))
            for name, value in {"iterations": 10**8, **changes}.items():
                arguments[arguments.index(f"--{name}") + 1] = value
            return arguments

        process = self.start(*endless())
        while process.poll() is None and not self.path("c").exists():
            time.sleep(0.005)
        process.kill()
        process.communicate()
        self.assert_fails(*endless(states=7), kind="usage", names=["c", "<other-options>"])
        self.write_students("o.csv", students=50)
        self.assert_fails("fit", "o.csv", *endless()[2:], kind="usage", names=["c", "<other-data>"])
        self.assert_fails("score", "c", "t.csv", kind="input", names=["c", "<is-checkpoint>"])  # no model
        whole = self.read("c")
        for data in (whole[:-1], whole[:100], b""):
            self.path("c").write_bytes(data)
            self.assert_fails(*endless(), kind="input", names=["c"])


class Kill(Resume):
    wanted = 60

    def test_kill_at_random_moments(self):
        draw = random.Random(50)
        kills, round_number = 0, 0
        while kills < self.wanted or round_number < len(CATALOG):  # every kind once at least
            case = list(CATALOG)[round_number % len(CATALOG)]
            round_number += 1
            seconds, whole = self.uninterrupted(case)
            here = 0
            while not self.path("m.desirepath").exists():
                process = self.start(*self.arguments(case))
                try:
                    # Later and later: on a busy machine a fit would else never come further than its last checkpoint.
                    process.communicate(timeout=draw.random() * seconds / 3 * 1.2 ** here)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                    here += 1
                else:
                    self.assertEqual(process.returncode, 0)
            if self.path("c").exists():  # killed between writing the model and removing the checkpoint
                self.path("c").unlink()
            self.assertEqual(self.read("m.desirepath"), whole, case)
            self.path("m.desirepath").unlink()
        print(f"{kills} kills in {round_number} fits")


if __name__ == "__main__":
    if "--kill" in sys.argv:
        at = sys.argv.index("--kill")
        Kill.wanted = int(sys.argv[at + 1])
        del sys.argv[at : at + 2]
        unittest.main(defaultTest="Kill.test_kill_at_random_moments")
    unittest.main(defaultTest="Resume")
