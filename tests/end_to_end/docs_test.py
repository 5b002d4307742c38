"""Every command that README.md, docs/ and the help texts show is run as it stands, and ends well; what the pages name exists.

Files that commands need are here under the names they give them, made by the program itself.
"""

import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from program import NOT_A_NUMBER, PROGRAM, ProgramTest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Shown, and not run here: what a command begins with, and why.
NOT_RUN = {
    "make ": "builds, installs or tests; this test is part of it",
    "tools/": "as make",
    "cmake ": "as make", "ctest ": "as make", "build/": "as make", "DESIREPATH=": "as make",
    "benchmarks/": "minutes long, beside packages or on files from elsewhere",
}
# Of the help texts.
NOT_RUN_HERE = {"desirepath demo": "a minute long; tools/check_pages.sh runs it, this test a smaller one"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# FILE, DIR, ... stand for something; within quotes capitals are SQL.
PLACEHOLDER = re.compile(r"""\b[A-Z]{2,}\b(?=(?:[^"]*"[^"]*")*[^"]*$)|\.\.\.|\[""")


def fenced(page, language):
    return [body for found, body in FENCE.findall(page.read_text()) if found == language]


def between_backticks(page):
    return [" ".join(text.split()) for text in re.findall(r"`([^`]+)`", FENCE.sub("", page.read_text()))]


def runs(command):
    if any(command.startswith(begin) for begin in NOT_RUN):
        return False
    assert command.startswith("desirepath "), f"run it, or say in NOT_RUN why not: {command}"
    return not PLACEHOLDER.search(command)


class Commands(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prepared = pathlib.Path(folder.name)

        def program(*arguments):
            subprocess.run([PROGRAM, *arguments, "--quiet"], cwd=cls.prepared, check=True, stdout=subprocess.DEVNULL)

        program("simulate", "--out", ".", "--students", "240", "--courses", "30", "--periods", "4")
        program("prepare", "enrollments.csv", "--courses", "courses.csv", "--out", "all.cohort")
        program("fit", "all.cohort", "--model", "cmm+bernoulli", "--states", "3", "--out", "all.desirepath")
        program("fit", "all.cohort", "--model", "hct", "--trees", "2", "--iterations", "5", "--out", "answers.desirepath")
        (cls.prepared / "case.json").write_text(json.dumps({"x": [1, 0, 1], "mean": 0, "rho": 0.5}))
        with open(cls.prepared / "enrollments.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        # As other systems hand them out.
        extract = [dict(EMPLID=row["student"], CAREER="UGRD", term=row["term"],
                        **dict(zip(("SUBJECT", "CATALOG_NBR"), row["course"].split()))) for row in rows]
        terms = [dict(EMPLID=row["student"], period=row["period"], course=row["course"]) for row in rows]
        new = [dict(student="n" + row["student"], period=row["period"], course=row["course"]) for row in rows[:100]]
        taken = {(row["student"], row["course"]) for row in rows}
        courses = sorted({course for _, course in taken})[:8]
        students = [{"student": student, "campus": ("north", "south")[number % 2]}
                    for number, student in enumerate(sorted({student for student, _ in taken}))]
        wide = [{"student": student, **{course: int((student, course) in taken) for course in courses}}
                for student in sorted({student for student, _ in taken})]
        for name, table in (("extract.csv", extract), ("new.csv", new), ("wide.csv", wide), ("students.csv", students)):
            with open(cls.prepared / name, "w", newline="") as file:
                cls.write_table(file, table)
        (cls.prepared / "terms").mkdir()
        for part in (0, 1):
            with gzip.open(cls.prepared / "terms" / f"{part}.csv.gz", "wt", newline="") as file:
                cls.write_table(file, terms[part::2])

    @staticmethod
    def write_table(file, rows):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

    def give(self, names):
        for name in names:
            source = self.prepared / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, self.path(name))

    def run_shell(self, command):
        environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        self.assertIsNone(NOT_A_NUMBER.search(done.stdout + done.stderr), command)
        return done

    def test_pages(self):
        for page in PAGES:
            with self.subTest(page=page.relative_to(ROOT)):
                self.setUp()
                self.give(["enrollments.csv", "courses.csv"])  # what users bring; a page makes the rest itself, in its order
                if page.name == "data_format.md":
                    self.give(["students.csv", "wide.csv"])
                for block in fenced(page, "sh"):
                    for line in block.splitlines():
                        if runs(line):
                            self.run_shell(line)
                self.give(name for name in ("all.cohort", "all.desirepath", "answers.desirepath") if not self.path(name).exists())
                for command in between_backticks(page):
                    if command.startswith("desirepath ") and runs(command):
                        self.run_shell(command)

    def test_data_of_the_pages(self):
        page = ROOT / "docs" / "data_format.md"
        table, = fenced(page, "csv")
        self.write("t.csv", table)
        self.run_program("check", "t.csv", "--min-takers", 1, "--json")
        mapping, = fenced(page, "toml")
        self.write("m.toml", mapping)
        self.give(["extract.csv"])
        kept = self.run_program("prepare", "extract.csv", "--mapping", "m.toml", "--out", "m.cohort", "--json").json
        self.assertGreater(kept["rows_kept"], 0)

    def test_help(self):
        verbs = re.findall(r"^  (\w+) ", self.run_program("--help").out.split("Subcommands:")[1].split("\n\n")[0], re.MULTILINE)
        self.assertGreater(len(verbs), 10)
        for verb in verbs:
            text = self.run_program(verb, "--help").out
            examples = [line.strip() for line in text[text.index("Examples:"):].splitlines()[1:] if line.strip()]
            self.assertGreaterEqual(len(examples), 2, verb)
            for example in examples:
                if example in NOT_RUN_HERE:
                    continue
                with self.subTest(example=example):
                    self.setUp()
                    made = re.findall(r"--(?:out|figure|figures) (\S+)", example)
                    self.give(path.name for path in self.prepared.iterdir() if path.name not in made)
                    self.assertTrue(example.startswith(f"desirepath {verb}"), example)
                    self.run_shell(example)
                    for name in made:
                        self.assertTrue(self.path(name).exists(), example)


class Names(unittest.TestCase):
    """Files that pages name are there."""

    def test_links(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}")

    def test_files(self):
        folders = [ROOT, ROOT / "src" / "desirepath"]
        names = {path.name for top in ("src", "apps", "tests", "tools", "benchmarks", "docs") for path in (ROOT / top).rglob("*.*")}
        path = re.compile(r"(?:[a-z_]+/)+[a-z_.]+")  # also without its ending, for .h and .cpp together
        name = re.compile(r"[a-z_]+\.(?:h|cpp|py|sh|md)")
        for page in PAGES:
            text = re.sub(r"^\|.*\| not yet \|$", "", page.read_text(), flags=re.MULTILINE)
            for word in re.findall(r"`([^`\s]+)`", FENCE.sub("", text)):
                found = True
                if path.fullmatch(word) and (ROOT / "src" / "desirepath" / word.split("/")[0]).exists() or word.startswith("tests/"):
                    found = any((folder / word).exists() or list(folder.glob(word + ".*")) for folder in folders)
                elif name.fullmatch(word):
                    found = word in names
                self.assertTrue(found, f"{page.relative_to(ROOT)} names {word}")


if __name__ == "__main__":
    unittest.main()
