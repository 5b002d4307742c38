"""What --dry-run says of memory, held against what the program takes."""

import os
import subprocess
import unittest

from program import ProgramTest

CASES = {
    "nb": ("--model", "nb", "--states", 8),
    "tan": ("--model", "tan", "--states", 4),
    "wide chain": ("--model", "cmm", "--emission", "bernoulli", "--states", 64),
    "full": ("--model", "gmm", "--covariance", "full", "--states", 2),
    "hidden tree": ("--model", "nb", "--emission", "hidden-tree", "--states", 2),
}


class Memory(ProgramTest):
    def peak(self, *arguments):
        process = subprocess.Popen(self.command(*arguments), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_estimates(self):
        self.write_students(students=2500, courses=80, periods=3)
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        for name, case in CASES.items():
            fit = ("fit", "t.cohort", *case, "--iterations", 1, "--restarts", 2, "--threads", 2, "--out", "m", "--force", "--quiet")
            said = self.run_program(*fit, "--dry-run", "--json").json["bytes"]
            took = self.peak(*fit)
            print(f"{name}: said {said / 1e6:.0f} MB, took {took / 1e6:.0f} MB")
            with self.subTest(name):
                self.assertLess(took, 1.15 * said)
                self.assertLess(said, 3 * took)


if __name__ == "__main__":
    unittest.main()
