"""Calls of the system that fail: the old file stays, nothing is left behind, and the reason is one line."""

import os
import pathlib
import resource
import signal
import subprocess
import unittest

from program import ProgramTest

FAULTS = pathlib.Path(os.environ["DESIREPATH_FAULTS"]).resolve()


class Faults(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write_students(students=300)
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        self.run_program("fit", "t.cohort", "--model", "nb", "--states", 3, "--out", "whole", "--quiet")

    def failing(self, fault, *arguments, timeout=120):
        environment = {**os.environ, "LD_PRELOAD": str(FAULTS), "FAULT": fault}
        return subprocess.run(self.command(*arguments), cwd=self.folder, capture_output=True, text=True, env=environment, timeout=timeout)

    def files(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def test_writing(self):
        commands = {
            "fit": ("fit", "t.cohort", "--model", "nb", "--states", 2, "--out", "a", "--quiet"),
            "replace": ("fit", "t.cohort", "--model", "nb", "--states", 2, "--out", "whole", "--force", "--quiet"),
            "prepare": ("prepare", "t.csv", "--min-takers", 1, "--out", "b", "--quiet"),
            "checkpoint": ("fit", "t.cohort", "--model", "nb", "--states", 2, "--out", "a", "--checkpoint", "c", "--quiet"),
        }
        for name, command in commands.items():
            for fault in ("write:1", "fsync:1", "linkat:1", "rename:1" if name in ("replace", "checkpoint") else "link:1"):
                with self.subTest(command=name, fault=fault):
                    before = self.files()
                    done = self.failing(fault, *command)
                    # Where names cannot be linked, files are renamed.
                    self.assertEqual(done.returncode, 0 if fault == "link:1" else 6, done.stderr)
                    if fault == "link:1":
                        self.path(command[command.index("--out") + 1]).unlink()
                    else:
                        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                    self.assertEqual(self.files(), before)

    def test_split_writes_all_or_none(self):
        for fault in ("write:3", "fsync:2", "fsync:3", "linkat:3"):
            with self.subTest(fault=fault):
                done = self.failing(fault, "split", "t.cohort", "--out", "parts", "--quiet")
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertEqual(list(self.path("parts").glob("*")), [])
                self.assertEqual(list(self.path("parts").glob(".*")), [])

    def students(self, folder):
        """Of each part of a split, read as every command reads it; a part that is not there has none."""
        found = {}
        for part in ("training", "validation", "hold-out"):
            done = subprocess.run(self.command("score", "whole", f"{folder}/{part}.cohort", "--csv", "--quiet"),
                                  cwd=self.folder, capture_output=True, text=True)
            found[part] = [line.split(",")[0] for line in done.stdout.splitlines()[1:]]
        return found

    def split(self, folder, seed, fault=None):
        arguments = ("split", "t.cohort", "--out", folder, "--seed", seed, "--force", "--quiet")
        return self.failing(fault, *arguments) if fault else self.run_program(*arguments)

    def test_a_split_that_is_killed_is_the_old_or_the_new(self):
        self.split("old", 1)
        self.split("new", 2)
        ends = []
        for fault in ("kill:1", "kill:2", "kill:3", "kill:4", "term:1", "term:3"):
            for before in (False, True):
                with self.subTest(fault=fault, before=before):
                    folder = f"parts-{fault[:4]}{fault[5:]}-{before}"
                    self.path(folder).mkdir()
                    self.path(folder).joinpath("notes.txt").write_text("mine")
                    if before:
                        self.split(folder, 1)
                    done = self.split(folder, 2, fault)
                    if fault.startswith("term"):
                        self.assertEqual(done.returncode, 130, done.stderr)
                        self.assertEqual(len(list(self.path(folder).iterdir())), 4 if before else 1)  # nothing is left behind
                    parts = self.students(folder)
                    everybody = [student for part in parts.values() for student in part]
                    self.assertEqual(len(everybody), len(set(everybody)))
                    old = self.students("old") if before else {"training": [], "validation": [], "hold-out": []}
                    self.assertIn(parts, (old, self.students("new")))
                    ends.append(parts == old)
                    self.split(folder, 2)
                    self.assertEqual(sorted(path.name for path in self.path(folder).iterdir()),
                                     ["hold-out.cohort", "notes.txt", "training.cohort", "validation.cohort"])
                    self.assertEqual(self.students(folder), self.students("new"))
        self.assertEqual(set(ends), {True, False})

    def test_no_more_threads(self):
        fit = ("fit", "t.cohort", "--model", "nb", "--states", 3, "--threads", 8, "--out", "a", "--force", "--quiet")
        for number in (1, 2, 5):
            done = self.failing(f"thread:{number}", *fit, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.read("a"), self.read("whole"))
        done = self.failing("thread:1", "simulate", "--students", 1200, "--threads", 4, "--out", "u", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_program("simulate", "--students", 1200, "--threads", 1, "--out", "v", "--quiet")
        self.assertEqual(self.read("u/enrollments.csv"), self.read("v/enrollments.csv"))

    def test_address_space(self):
        limit = 400 << 20  # each thread asks for 8 MiB and more
        done = self.run_program("fit", "t.cohort", "--model", "nb", "--states", 3, "--threads", 200, "--out", "a", "--quiet",
                                preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(self.read("a"), self.read("whole"), done.err)

    def test_limits_count_as_memory(self):
        limit = 700 << 20
        self.write_students("wide.csv", students=400, courses=1200, periods=2)
        self.run_program("prepare", "wide.csv", "--min-takers", 1, "--out", "wide.cohort", "--quiet")
        fit = ("fit", "wide.cohort", "--model", "gmm", "--covariance", "full", "--states", 8, "--iterations", 1, "--out", "b", "--threads", 1, "--quiet")
        done = self.run_program(*fit, code=2, preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assert_says(done.error, "<needs-memory>", "MiB")

    def test_memory(self):
        fit = ("fit", "t.cohort", "--model", "nb", "--states", 3, "--threads", 2, "--out", "whole", "--force", "--quiet")
        before = self.files()
        ends = set()
        for number in range(1, 40):
            done = self.failing(f"memory:{number}", *fit)
            ends.add(done.returncode)
            self.assertIn(done.returncode, (0, 1, 6), done.stderr)
            if done.returncode != 0:
                self.assert_says(done.stderr, "<no-memory>")
                self.assertEqual(self.files(), before)
        self.assertIn(1, ends)

    def test_sigterm_ends_it(self):
        environment = {**os.environ, "LD_PRELOAD": str(FAULTS), "FAULT": "thread:2"}
        process = subprocess.Popen(self.command("fit", "t.cohort", "--model", "nb", "--states", 3, "--threads", 4, "--tolerance", 0,
                                                "--iterations", 10**8, "--out", "z", "--quiet"), cwd=self.folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main()
