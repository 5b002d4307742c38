"""What the end-to-end tests share: the built program in a folder of its own, and small tables to give it.

The program is named by the environment variable DESIREPATH. Every run is checked for what holds always: no NaN or infinity in
any output, and with --json one object with a `schema` field on stdout and nothing else.

What the program says is matched by facts: the kind of an error, names of settings, files, columns and courses, positions, numbers.
Sentences are not: they may be written anew. Where only the words tell two answers apart there is a reason for them (reasons.py).
"""

import csv
import io
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

from reasons import REASONS

PROGRAM = pathlib.Path(os.environ.get("DESIREPATH", "build/release/bin/desirepath")).resolve()
NOT_A_NUMBER = re.compile(r"(?<![\w.])[-+]?(nan|inf|infinity)(?!\w)", re.IGNORECASE)

# Exit codes by their kinds.
KINDS = {"done": 0, "failure": 1, "usage": 2, "input": 3, "quality": 4, "privacy": 5, "disk": 6, "interrupted": 130}


def found(fact, text):
    """Whether a text has a fact, as a word of its own: 1 is not in 10, 0.1 or --min-1; <reason> is one of reasons.py."""
    if fact.startswith("<") and fact.endswith(">"):
        return re.search(REASONS[fact[1:-1]], text) is not None
    left = r"(?<![\w.-])(?<!\d,)" if re.match(r"[\w-]", fact) else ""
    right = r"(?![\w-]|[.,]\d)" if re.search(r"\w$", fact) else ""
    return re.search(left + re.escape(fact) + right, text) is not None


def line_with(text, *facts):
    """The first line that has all of these facts, or None."""
    words = [str(int(fact) if isinstance(fact, float) and fact.is_integer() else fact) for fact in facts]
    return next((line for line in text.splitlines() if all(found(word, line) for word in words)), None)


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def error(self):
        """The line that says why it failed, without the warnings before it."""
        return next((line for line in self.err.splitlines() if not line.startswith("desirepath: warning: ")), "")

    @property
    def header(self):
        return self.out.splitlines()[0]


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return self.folder / name

    def write(self, name, text):
        self.path(name).write_text(text)
        return name

    def read(self, name):
        return self.path(name).read_bytes()

    def command(self, *arguments):
        return [str(PROGRAM), *map(str, arguments)]

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_program(self, *arguments, code=0, preexec=None):
        done = subprocess.run(self.command(*arguments), cwd=self.folder, capture_output=True, text=True, preexec_fn=preexec)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        for text in (done.stdout, done.stderr):
            self.assertIsNone(NOT_A_NUMBER.search(text), text)
        if code not in (0, 4):
            if "--json" in arguments and done.stdout:
                told = json.loads(done.stdout)
                self.assertTrue(told["schema"].startswith("desirepath/"))
                if told["schema"] == "desirepath/error/1":
                    self.assertEqual(told["exit_code"], code)
                    self.assertIn(f"desirepath: {told['error']}", done.stderr)
            else:
                self.assertEqual(done.stdout, "")
            errors = [line for line in done.stderr.splitlines() if not line.startswith("desirepath: warning: ")]
            self.assertEqual(len(errors), 1, done.stderr)
            self.assertTrue(errors[0].startswith("desirepath: "), done.stderr)
        if code == 0 and "--json" in arguments:
            self.assertTrue(json.loads(done.stdout)["schema"].startswith("desirepath/"))
        return Outcome(done.returncode, done.stdout, done.stderr)

    def assert_says(self, text, *facts):
        """Some line of the text has all of these facts."""
        self.assertIsNotNone(line_with(text, *facts), f"no line with {facts} in:\n{text}")

    def assert_never_says(self, text, *facts):
        self.assertIsNone(line_with(text, *facts), f"{facts} in:\n{text}")

    def assert_fails(self, *arguments, kind, names=()):
        """Ends with an error of this kind, whose line has all of these facts."""
        done = self.run_program(*arguments, code=KINDS[kind])
        self.assert_says(done.error, *names)
        return done

    def assert_all(self, things, holds):
        """That something holds of each of some things, of which there must be one at least."""
        things = list(things)
        self.assertTrue(things, "there is nothing that it could hold of")
        for thing in things:
            self.assertTrue(holds(thing), thing)

    def fit(self, *arguments, code=0, out="m.desirepath", cohort="t.csv"):
        """`fit` of a table to a file, as JSON. Tables of tests are small: courses of few takers stay."""
        if str(cohort).endswith(".csv") and "--min-takers" not in arguments:
            arguments = ("--min-takers", 1, *arguments)
        return self.run_program("fit", cohort, "--out", out, "--json", "--quiet", "--force", *arguments, code=code)

    def assert_fit_fails(self, *arguments, kind, names=(), **files):
        done = self.fit(*arguments, code=KINDS[kind], **files)
        self.assert_says(done.error, *names)
        return done

    def write_students(self, name="t.csv", students=160, courses=10, periods=3, kinds=2, unknown=0.15, seed=1, weights=None):
        """A long table: each student of a kind with courses of its own; some periods missing, some without courses.

        weights: number -> weight, written as a column; or "copies": as many students instead.
        """
        draw = random.Random(seed)
        with_column = weights is not None and weights != "copies"
        lines = ["student,period,course" + (",weight" if with_column else "")]
        for number in range(students):
            rows = []
            kind = draw.randrange(kinds)
            missing = [draw.random() < unknown for _ in range(periods)]
            missing[draw.randrange(periods)] = False  # everybody is seen at least once
            for period in range(1, periods + 1):
                if missing[period - 1]:
                    continue
                taken = [c for c in range(courses) if draw.random() < (0.6 if (c + period) % kinds == kind else 0.12)]
                rows += [(period, f"C{c:02d}") for c in taken] or [(period, "")]
            weight = student_weight(number)
            names = [f"s{number:04d}{chr(97 + i)}" for i in range(weight if weights == "copies" else 1)]
            for student in names:
                for period, course in rows:
                    lines.append(f"{student},{period},{course}" + (f",{weight}" if with_column else ""))
        return self.write(name, "\n".join(lines) + "\n")


def student_weight(number):
    return 2 if number % 3 == 0 else 1


def close(a, b, relative=1e-9):
    return abs(a - b) <= relative * max(1, abs(a), abs(b))
