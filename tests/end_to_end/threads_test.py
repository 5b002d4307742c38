"""Large tables are read by several threads: the same bytes for any number of them, and from every kind of file."""

import collections
import csv
import gzip
import os
import random
import subprocess
import unittest

from program import ProgramTest

ROWS = 450_000
GRADES = ["A", "B+", "F", "W", "NA", ""]


def records():
    """Rows in no order, most of them good; the parts of a file that threads read meet the same students and courses."""
    draw = random.Random(20)
    for number in range(ROWS):
        student = f"s{draw.randrange(9000):05d}"
        year = draw.randrange(4)
        term = f"{2010 + int(student[1:]) % 3 + year} {draw.choice(('Fall', 'Spring'))}"
        course = f"{draw.choice(('MATH', 'CHEM', 'HIST'))} {draw.randrange(100, 140)}"
        row = [student, term, course, draw.choice(GRADES), str(2 + draw.randrange(4)), f"M{int(student[1:]) % 7 + year // 2}", str(number)]
        kind = draw.randrange(2000)
        if kind == 0:
            row[0] = ""
        elif kind == 1:
            row[1] = f"sometime {number % 9}"
        elif kind == 2:
            row[2] = "NA"
        elif kind == 3:
            row[4] = "many"
        yield row


COLUMNS = ["student", "term", "course", "grade", "units", "major", "line"]
OPTIONS = ["--full-time-units", 1, "--part-time", "drop-periods", "--withdrawn", "drop", "--max-bad", 0.5]


class Threads(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = list(records())

    def write_csv(self, name, quote=csv.QUOTE_MINIMAL):
        with open(self.path(name), "w", newline="") as file:
            writer = csv.writer(file, quoting=quote, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(self.rows)
        return name

    def prepared(self, source, threads, *options):
        """The cohort's bytes, the report, and the rejects."""
        done = self.run_program("prepare", source, "--out", "a.cohort", "--rejects", "r.csv", "--force", "--json", "--threads", threads,
                                *options)
        return self.read("a.cohort"), done.json, self.read("r.csv")

    def check(self, source, *options, threads=(2, 3, 7)):
        one = self.prepared(source, 1, *options)
        for number in threads:
            other = self.prepared(source, number, *options)
            self.assertEqual(one[1], other[1], number)
            self.assertTrue(one[2] == other[2], f"{source}: other rejects by {number} threads")
            self.assertTrue(one[0] == other[0], f"{source}: another cohort by {number} threads")
        return one

    def expected_rejects(self):
        """What is wrong with each record, by number: column and facts; named are the first five terms that nobody can read."""
        expected, named = {}, []
        for number, (student, term, course, _, units, *_) in enumerate(self.rows, 2):
            if not student:
                expected[number] = ("student", ("<no-value>",))
            elif course == "NA":
                expected[number] = ("course", ("<missing-word>",))
            elif term.startswith("sometime"):
                if term not in named and len(named) < 5:
                    named.append(term)
                expected[number] = ("term", (term, "<not-understood>") if term in named else ("<not-understood>",))
            elif units == "many":
                expected[number] = ("units", ("units", "<not-a-number>"))
        return expected

    def test_text(self):
        cohort, report, rejects = self.check(self.write_csv("t.csv"), *OPTIONS)
        self.assertGreater(self.path("t.csv").stat().st_size, 3 << 22)
        expected = self.expected_rejects()
        told = {int(row["record"]): (row["column"], row["reason"]) for row in csv.DictReader(rejects.decode().splitlines())}
        self.assertEqual({number: column for number, (column, _) in told.items()}, {number: column for number, (column, _) in expected.items()})
        words = {}  # one reason, one wording, and another for every other
        for number, (_, facts) in expected.items():
            words.setdefault(facts, set()).add(told[number][1])
        for facts, reasons in words.items():
            self.assertEqual(len(reasons), 1, reasons)
            self.assert_says(*reasons, *facts)
        self.assertEqual(len(set.union(*words.values())), len(words))
        counts = collections.Counter(reason for _, reason in told.values())
        self.assertEqual({line["reason"]: line["rows"] for line in report["rejected"]}, dict(counts))
        self.assertEqual(report["rows_in"], ROWS)
        grades = collections.Counter(row[3] for number, row in enumerate(self.rows, 2) if number not in expected and row[3] not in ("", "NA"))
        self.assertEqual({line["grade"]: line["rows"] for line in report["grades"]}, dict(grades))
        with gzip.open(self.path("t.csv.gz"), "wb", 1) as packed:
            packed.write(self.read("t.csv"))
        self.assertEqual(self.check("t.csv.gz", *OPTIONS, threads=(3,))[1]["enrollments"], report["enrollments"])

    def test_text_in_quotes(self):
        lines = 80_000
        self.rows[ROWS // 3][3] = ("A" * 60 + "\n") * lines  # a cell that is longer than what one thread is given
        try:
            _, report, _ = self.check(self.write_csv("q.csv", csv.QUOTE_ALL), *OPTIONS)
        finally:
            self.rows[ROWS // 3][3] = "A"
        self.assertGreater(sum(line["rows"] for line in report["rejected"]), lines - 10)

    def test_a_condition(self):
        self.write_csv("t.csv")
        self.check("t.csv", *OPTIONS, "--where", "grade IS DISTINCT FROM 'F'", "--map", "course=split_part(course, ' ', 1)",
                   threads=(3,))

    def test_databases(self):
        self.write_csv("t.csv")
        text = self.prepared("t.csv", 1, *OPTIONS)
        read = f"SELECT * FROM read_csv('{self.path('t.csv')}', all_varchar = true, auto_detect = false, header = true, columns = " + \
            "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in COLUMNS) + "})"
        make = [os.environ["MAKE_DATABASE"]]
        subprocess.run([*make, ":memory:", f"COPY ({read}) TO '{self.path('t.parquet')}' (FORMAT parquet, ROW_GROUP_SIZE 30720)"], check=True)
        # Rows that are gone leave holes in the numbers a table gives its rows.
        subprocess.run([*make, self.path("t.duckdb"), f"CREATE TABLE e AS (SELECT *, false AS gone FROM ({read})) UNION ALL "
                        f"(SELECT *, true FROM ({read}) LIMIT 130000) UNION ALL (SELECT *, false FROM ({read}) LIMIT 0); "
                        "DELETE FROM e WHERE gone; ALTER TABLE e DROP COLUMN gone"], check=True)
        for source in ("t.parquet", "t.duckdb"):
            with self.subTest(source):
                made = self.check(source, *OPTIONS)
                self.check(source, *OPTIONS, "--where", "units <> '3'", "--map", "course=course || ' x'", threads=(3,))
                for key in ("rows_in", "rows_kept", "students", "courses", "enrollments", "grades"):
                    self.assertEqual(made[1][key], text[1][key], key)
                where = [[(int(row["record"]), row["column"], row["reason"]) for row in csv.DictReader(rejects.decode().splitlines())]
                         for rejects in (made[2], text[2])]
                self.assertEqual([(record + 1, *rest) for record, *rest in where[0]], where[1])  # text has a header


if __name__ == "__main__":
    unittest.main()
