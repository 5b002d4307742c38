"""Names, values and files as nobody means them and somebody has them."""

import gzip
import os
import pathlib
import pty
import resource
import stat
import subprocess
import time
import unittest

from program import KINDS, PROGRAM, ProgramTest

GOOD = pathlib.Path(__file__).parent / "bad_input" / "files"


class Names(ProgramTest):
    def run_bytes(self, *arguments, code=0):
        done = subprocess.run([os.fsencode(str(PROGRAM)), *[a if isinstance(a, bytes) else os.fsencode(str(a)) for a in arguments]],
                              cwd=self.folder, capture_output=True)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        done.stdout.decode(), done.stderr.decode()  # UTF-8, whatever the names are
        return done

    def test_names_that_are_no_utf8(self):
        folder = os.fsencode(self.folder)
        for source in ("good.csv", "good.parquet"):
            name = b"\xff\xfe" + os.fsencode(source)
            with open(os.path.join(folder, name), "wb") as file:
                file.write((GOOD / source).read_bytes())
            self.run_bytes("check", name, "--min-takers", 1, "--json")
            self.run_bytes("check", name, "--min-takers", 1)
            self.run_bytes("prepare", name, "--min-takers", 1, "--out", b"\xfe.cohort", "--json", "--force")
            self.run_bytes("inspect", b"\xfe.cohort", "--json")
            self.run_bytes("fit", b"\xfe.cohort", "--model", "nb", "--states", 2, "--out", b"\xfd.desirepath", "--force", "--json")

    def test_parquet_names_are_no_patterns(self):
        for name in ("a*b.parquet", "[ab].parquet", "year=2020/t.parquet"):
            self.path(name).parent.mkdir(exist_ok=True)
            self.path(name).write_bytes((GOOD / "good.parquet").read_bytes())
            done = self.run_program("check", name, "--min-takers", 1, "--json").json
            self.assertNotIn("year", str(done["sources"]))

    def test_pipes(self):
        self.write_students()
        for command in (["cat", "t.csv"], ["gzip", "-c", "t.csv"]):
            feed = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE)
            done = subprocess.run(self.command("check", f"/dev/fd/{feed.stdout.fileno()}", "--json"), cwd=self.folder, capture_output=True,
                                  text=True, pass_fds=[feed.stdout.fileno()])
            feed.stdout.close()
            feed.wait()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('"students": 160', done.stdout)
        feed = subprocess.Popen(["cat", "t.csv"], cwd=self.folder, stdout=subprocess.PIPE)
        done = subprocess.run(self.command("fit", f"/dev/fd/{feed.stdout.fileno()}", "--model", "nb", "--states", "2", "--out", "m", "--json"),
                              cwd=self.folder, capture_output=True, text=True, pass_fds=[feed.stdout.fileno()])
        feed.stdout.close()
        feed.wait()
        self.assertIn('"students": 160', done.stdout)

    def test_devices_have_no_end(self):
        for command in (("score", "/dev/zero", "t.csv"), ("inspect", "/dev/zero"), ("orthant", "/dev/zero")):
            self.run_program(*command, code=6)

    def test_a_name_like_an_option(self):
        self.write_students("-file")
        self.run_program("check", "--json", "--", "-file")

    def test_files_of_killed_runs_are_removed(self):
        self.write_students()
        dead = subprocess.Popen(["true"])
        dead.wait()
        mine = self.path("notes.partial-x")
        for name in (f"x.cohort.partial-{dead.pid}", f"notes.partial-{os.getpid()}", "notes.partial-x"):
            self.write(name, "half")
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        self.assertFalse(self.path(f"x.cohort.partial-{dead.pid}").exists())
        self.assertTrue(mine.exists())
        self.assertTrue(self.path(f"notes.partial-{os.getpid()}").exists())  # somebody is at it

    def test_for_the_owner_alone(self):
        self.write_students()
        self.run_program("prepare", "t.csv", "--min-takers", 1, "--out", "t.cohort", "--quiet")
        self.fit("--model", "nb", "--states", 2)
        for name in ("t.cohort", "m.desirepath"):
            self.assertEqual(stat.S_IMODE(self.path(name).stat().st_mode), 0o600)


class Values(ProgramTest):
    def test_seeds(self):
        self.write_students()
        for seed in ("-1", "18446744073709551616", "1e3", "0x10", ""):
            self.run_program("split", "t.csv", "--out", "parts", f"--seed={seed}", code=2)
        self.run_program("split", "t.csv", "--min-takers", 1, "--out", "parts", "--seed", 18446744073709551615, "--quiet")

    def test_the_same_command_gives_the_same_cohort(self):
        self.write_students()
        for chance in ("random() < 0.5", "RANDOM ( ) < 0.5", "now() > '2020-01-01'", "current_date > '2020-01-01'", "uuid() > 'a'"):
            self.assert_fails("check", "t.csv", "--where", chance, kind="usage", names=["--where", "<changes>"])
        self.run_program("check", "t.csv", "--where", "course <> 'random'", "--json")

    def test_an_empty_column_says_nothing_of_time(self):
        for term, notes in (("", 0), ("2019 Fall", 1)):
            self.write("t.csv", "student,period,course,term\n" + "".join(f"s{i},{i % 2 + 1},C{i % 3},{term}\n" for i in range(60)))
            said = self.run_program("check", "t.csv", "--min-takers", 1, "--json").json["notes"]
            self.assertEqual(sum("'period'" in note and "'term'" in note for note in said), notes, said)

    def test_values_that_stop_no_training(self):
        """Those that are accepted train; the others are refused before it begins."""
        accepted = refused = 0
        weights = ("1e12", "1e15", "1e-15", "1e-6", "1e9")
        self.write_students(unknown=0, periods=2)
        rows = self.path("t.csv").read_text().splitlines()
        for number, weight in enumerate(weights):
            lines = [rows[0] + ",weight"] + [f"{row},{weight if row.startswith('s0003') else 1}" for row in rows[1:]]
            self.write(f"w{number}.csv", "\n".join(lines) + "\n")
        cases = [("t.csv", "--covariance", shape, "--covariance-prior", f"1e-{n}") for n in (1, 2, 3, 4, 6, 8, 10, 12)
                 for shape in ("full", "tied", "diagonal", "factor:2")]
        cases += [("t.csv", "--covariance", shape, "--ridge", f"1e-{n}") for n in (3, 6, 9, 12, 16) for shape in ("full", "tied", "diagonal", "factor:2")]
        cases += [(f"w{number}.csv", "--weights", "weight", "--covariance", shape) for number in range(len(weights)) for shape in ("full", "tied")]
        for table, *more in cases:
            for model in ("cmm", "gmm"):
                done = subprocess.run(self.command("fit", table, "--model", model, "--states", 3, "--out", "m", "--force", "--quiet", "--iterations", 150, *more),
                                      cwd=self.folder, capture_output=True, text=True)
                with self.subTest(table=table, model=model, more=more):
                    self.assertIn(done.returncode, (0, 2, 3), done.stderr)
                accepted += done.returncode == 0
                refused += done.returncode != 0
        print(f"{accepted} trained, {refused} refused")
        self.assertGreater(accepted, 60)


class Shown(ProgramTest):
    def test_controls_are_escaped(self):
        self.write("t.csv", "student,period,course\n" + "".join(f"s{i},1,\u009b31mred\u202e\n" for i in range(20)))
        self.run_program("fit", "t.csv", "--model", "nb", "--states", 1, "--out", "m", "--quiet")
        parent, child = pty.openpty()
        for command in (("states", "m"), ("states", "m", "--csv")):
            subprocess.run(self.command(*command), cwd=self.folder, stdout=child, stderr=child)
            shown = os.read(parent, 1 << 16).decode()
            self.assertIn("red", shown)
            self.assertNotIn("\u009b", shown)
            self.assertNotIn("\u202e", shown)
        os.close(parent)
        os.close(child)
        piped = self.run_program("states", "m", "--csv").out
        self.assertIn("\u009b31mred", piped)  # data for a program stays as it is

    def test_noncharacters_in_figures(self):
        self.write("t.csv", "student,period,course,school\n" + "".join(f"s{i},1,c{i % 3},\ufffe\uffff & co\n" for i in range(60)))
        self.run_program("describe", "t.csv", "--figures", "f", "--quiet")
        for figure in self.path("f").iterdir():
            text = figure.read_text()
            self.assertNotIn("\ufffe", text)
            self.assertNotIn("\uffff", text)

    def test_rows_are_not_offered(self):
        self.write("t.csv", "".join(f"Jane{i},{1 + i % 2},Math{i % 4}\n" for i in range(40)))
        done = self.run_program("check", "t.csv", "--map", "student=Jane", "--map", "period=1", "--map", "course=1", code=2)
        self.assertNotIn("Jane0", done.err)

    def test_unknown_courses(self):
        self.write_students()
        self.run_program("fit", "t.csv", "--model", "nb", "--states", 2, "--out", "m", "--quiet")
        self.write("new.csv", "student,period,course\na,1,C0l\na,1,C02\nb,1,Secret\n")
        done = self.assert_fails("score", "m", "new.csv", kind="input", names=[2, "--verbose"])
        self.assertNotIn("Secret", done.err)
        self.assert_fails("score", "m", "new.csv", "--verbose", kind="input", names=["Secret", "C0l", "<nearest>"])

    def test_no_core_is_dumped(self):
        self.write_students(students=400)
        process = self.start("fit", "t.csv", "--model", "nb", "--states", 3, "--tolerance", 0, "--iterations", 10**8, "--out", "m", "--quiet")
        limits = pathlib.Path(f"/proc/{process.pid}/limits")
        core = []
        deadline = time.monotonic() + 30
        while core != ["0", "0"] and time.monotonic() < deadline:
            core = [line.split()[4:6] for line in limits.read_text().splitlines() if line.startswith("Max core file size")][0]
        process.kill()
        process.communicate()
        self.assertEqual(core, ["0", "0"])


LITTLE = 700 << 20


def with_little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (LITTLE, LITTLE))


class Databases(ProgramTest):
    def make(self, name, sql):
        subprocess.run([os.environ["MAKE_DATABASE"], self.path(name), sql], check=True)

    def test_a_dot_in_the_name_of_a_table(self):
        rows = "AS SELECT 's' || i AS student, 1 AS period, 'C' || (i % 3) AS course FROM range(30) t(i)"
        self.make("d.duckdb", f'CREATE TABLE "a.b" {rows}; CREATE SCHEMA a; CREATE TABLE a.c {rows}; CREATE TABLE "we""ird" {rows}')
        for table in ("a.b", "a.c", 'we"ird'):
            self.assertEqual(self.run_program("check", "d.duckdb", "--table", table, "--json").json["rows_kept"], 30)
        self.assert_fails("check", "d.duckdb", kind="usage", names=["d.duckdb", "--table", "a.b", "we"])

    def test_a_view_that_joins_everything_to_everything(self):
        view = "SELECT 's' || a.i || '-' || b.i AS student, 1 AS period, 'C' AS course FROM range(100000) a(i), range(100000) b(i)"
        self.make("join.duckdb", f"CREATE VIEW v AS {view}")
        self.make("sorted.duckdb", f"CREATE VIEW v AS {view} ORDER BY student DESC")
        unsorted = self.run_program("check", "join.duckdb", "--threads", 1, code=KINDS["input"], preexec=with_little_memory)
        self.assert_says(unsorted.error, "MiB", "<memory>")
        done = self.run_program("check", "sorted.duckdb", "--threads", 1, code=KINDS["failure"], preexec=with_little_memory)
        self.assertRegex(done.error, r"DuckDB.*\d+MB")


class Bombs(ProgramTest):
    def check_in_little_memory(self, rows, code):
        with gzip.open(self.path("bomb.csv.gz"), "wb", compresslevel=1) as file:
            file.write(b"student,period,course\n")
            for chunk in rows:
                file.write(chunk)
        return self.run_program("check", "bomb.csv.gz", "--min-takers", 1, "--threads", 1, code=code, preexec=with_little_memory)

    def test_rows_beyond_the_memory(self):
        block = "".join(f"s%{j % 100},1,{j // 100}\n" for j in range(100_000)).encode()
        different = (block.replace(b"%", b"%d-" % i) for i in range(120))
        done = self.check_in_little_memory(different, code=KINDS["input"])
        self.assert_says(done.error, "MiB", "<memory>")

    def test_equal_rows_cost_no_memory(self):
        done = self.check_in_little_memory((b"a,1,b\n" * 100_000 for _ in range(140)), code=0)
        self.assert_says(done.out, "14,000,000", 1, "13,999,999")

    def test_rows_that_come_again_cost_no_memory(self):
        block = "".join(f"s{i},1,c{i % 7}\n" for i in range(50_000)).encode()
        done = self.check_in_little_memory((block for _ in range(300)), code=0)
        self.assert_says(done.out, "15,000,000", "50,000", "14,950,000")

    def test_deep_json(self):
        self.write("deep.json", '{"x":' + "[" * 200_000 + "]" * 200_000 + "}")
        self.run_program("orthant", "deep.json", code=3)
        header = b'{"__metadata__":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_000 + b"}"
        self.path("deep.cohort").write_bytes(len(header).to_bytes(8, "little") + header)
        self.run_program("inspect", "deep.cohort", code=3)


if __name__ == "__main__":
    unittest.main()
