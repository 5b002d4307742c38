#!/usr/bin/env python3
"""Bad, and odd but good, inputs: what the program answers to each, as `cases.tsv` lists it.

    tests/end_to_end/bad_input/run.py PATH/TO/desirepath [CASE ...]

Of every case: the exit code; the facts it is told with; that a failure is one line on stderr and leaves no file behind; that rows
in = kept + filtered + rejected, as stated and in the rejects file; that no planted student (each has SECRET in the name) shows on
stdout, on stderr or among the rejects. Cases that count rows or name fields of the JSON are run a second time, with --json. Written
for Python 3 without packages.
"""

import collections
import csv
import gzip
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from program import KINDS, found, line_with  # noqa: E402
from reasons import REASONS  # noqa: E402

STUDENT = b"STUDENT-SECRET-4711"
HEADER = b"student,period,course\n"
ROW = STUDENT + b",1,MATH 101\n"


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1:]


def unpacked(name):
    return lambda: gzip.decompress(pathlib.Path(name + ".packed").read_bytes())


# What cannot be kept small, or depends on the format of the day: made in the working folder, by name.
GENERATORS = {
    "line_of_10_megabytes.csv": lambda: HEADER + ROW + STUDENT + b",2," + b"x" * 10_000_000 + b"\n" + ROW,
    "quoted_cell_of_10_megabytes.csv": lambda: (
        HEADER + ROW + STUDENT + b',2,"' + (b"x" * 99 + b"\n") * 100_000 + b'"\n' + ROW),
    "no_line_end_in_10_megabytes.csv": lambda: STUDENT * 500_000,
    "header_of_20000_columns.csv": lambda: b",".join(b"c%d" % c for c in range(20_000)) + b"\n" + STUDENT + b"\n",
    "zeros_of_10_megabytes.csv.gz": lambda: gzip.compress(b"\0" * 10_000_000, mtime=0),
    "one_table.duckdb": unpacked("one_table.duckdb"),
    "two_tables.duckdb": unpacked("two_tables.duckdb"),
    "no_table.duckdb": unpacked("no_table.duckdb"),
    "cut_short.duckdb": lambda: unpacked("one_table.duckdb")()[:5000],
    "damaged_inside.duckdb": lambda: flipped(unpacked("one_table.duckdb")(), 12_290),
    "cut_short.cohort": lambda: pathlib.Path("good.cohort").read_bytes()[:-100],
    "cut_in_the_header.cohort": lambda: pathlib.Path("good.cohort").read_bytes()[:50],
    "one_bit_flipped.cohort": lambda: flipped(pathlib.Path("good.cohort").read_bytes(), -20),
    "longer.cohort": lambda: pathlib.Path("good.cohort").read_bytes() + STUDENT,
    "newer.cohort": lambda: pathlib.Path("good.cohort").read_bytes().replace(
        b'"format_version":"1"', b'"format_version":"9"'),
    "huge_header.cohort": lambda: (2**62).to_bytes(8, "little") + pathlib.Path("good.cohort").read_bytes()[8:],
    "other_safetensors.cohort": lambda: (16).to_bytes(8, "little") + b'{"a":"SECRET"}  ',
    "cut_short.desirepath": lambda: pathlib.Path("good.desirepath").read_bytes()[:-10],
    "one_bit_flipped.desirepath": lambda: flipped(pathlib.Path("good.desirepath").read_bytes(), -30),
}
# Cut at every few bytes, each must be refused.
CUT_ANYWHERE = ["good.csv.gz", "good.csv.zst", "good.parquet", "good.cohort", "good.desirepath"]
MADE_BY_THE_PROGRAM = ["prepare good.csv --min-takers 1 --out good.cohort",
                       "fit good.cohort --model nb --states 2 --out good.desirepath"]


# What the matching of facts itself must tell apart.
MATCHING = [("1", "1 row of 10", True), ("1", "row 10, 0.1, 1.5, 1,000 and 2-1", False), ("t.csv", "t.csv:3: no", True), ("t.csv", "not.csv", False),
            ("--min", "--min-takers", False), ("--map", "(--map course=X)", True), ("xz", "packed.xz", False), ("<too-few-fields>", "too many", False)]


class Runner:
    def __init__(self, program):
        self.program = str(pathlib.Path(program).resolve())
        self.failures = []
        self.out = pathlib.Path("out")
        # Where mounting is not allowed a full disk is stood in for by a limit on the size of files.
        probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=8k probe /mnt"]
        self.may_mount = shutil.which("unshare") and subprocess.run(probe, capture_output=True).returncode == 0

    def start(self, words, under):
        """Runs the program, where `under` says so: as nobody, with out/small on a disk of 8 KiB, with files that may not
        grow beyond 4 KiB, or with stdout on a full device."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120}
        command = [self.program, *words]
        if under == "nobody" and os.geteuid() == 0:  # root may read and write everything
            copy = self.copy_for_anyone()
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, *words]
            options["env"] = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(copy).parent)}
        elif under == "full-disk" and self.may_mount:
            mount = 'mount -t tmpfs -o size=8k,mode=777 small out/small && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", mount, "sh", *command]
        elif under in ("file-limit", "full-disk"):
            options["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        elif under == "full-stdout":
            with open("/dev/full", "wb") as full:
                return subprocess.run(command, **{**options, "stdout": full})
        return subprocess.run(command, **options)

    def copy_for_anyone(self):
        """The program and its own library where any user may read them: the build folder may lie in a closed home."""
        folder = pathlib.Path("program").resolve()
        if not folder.exists():
            folder.mkdir(mode=0o755)
            settings = (pathlib.Path(self.program).parent.parent / "CMakeCache.txt").read_text()
            for path in [self.program, *re.findall(r"^DuckDB_LIBRARY:\w+=(.+)$", settings, re.MULTILINE)]:
                shutil.copy(path, folder)
        return str(folder / pathlib.Path(self.program).name)

    def expect(self, case, condition, what):
        if not condition:
            self.failures.append(f"{case}: {what}")

    def check_counts(self, case, stated, report):
        """The accounting of the JSON, where there is one; `stated` is 'in = kept + filtered + rejected'."""
        counts = None
        if "rows_in" in report:
            counts = [report["rows_" + name] for name in ("in", "kept", "filtered", "rejected")]
            self.expect(case, counts[0] == sum(counts[1:]), f"rows are lost: {counts}")
            for name in ("filtered", "rejected"):
                by_reason = sum(entry["rows"] for entry in report[name])
                self.expect(case, by_reason == report["rows_" + name], f"{name} by reason sums to {by_reason}")
        wanted = numbers_in(stated)
        self.expect(case, not wanted or counts == wanted, f"rows (in, kept, filtered, rejected) {counts}, expected {wanted}")

    def check_rejects(self, case, stated):
        rejects = self.out / "rejects.csv"
        if rejects.exists():
            with rejects.open(encoding="utf-8", newline="") as file:
                lines = list(csv.reader(file))
            self.expect(case, "SECRET" not in str(lines).upper(), "the rejects file names a student")
            self.expect(case, not stated or len(lines) - 1 == numbers_in(stated)[3], "the rejects file does not hold every rejected row")

    def check(self, case, result, kind, groups):
        """How it ends, and that each group of facts stands in a line: of the error, or of any output where it goes well."""
        stdout = (result.stdout or b"").decode("utf-8", "replace")
        stderr = result.stderr.decode("utf-8", "replace")
        self.expect(case, result.returncode == KINDS[kind], f"exit code {result.returncode}, expected {KINDS[kind]} ({kind})")
        text = stdout + stderr if kind == "done" else stderr
        for facts in groups:
            self.expect(case, line_with(text, *facts), f"no line with {facts} in '{text.strip()}'")
        self.expect(case, "SECRET" not in (stdout + stderr).upper(), "the output names a student")
        if kind != "done":
            self.expect(case, stderr.startswith("desirepath: ") and stderr.count("\n") == 1, f"not one line: '{stderr}'")
        return stdout

    def check_fields(self, case, groups, report):
        """Facts of one field: the number it is, or an entry that has them all."""
        for field, facts in groups:
            value = report.get(field)
            entries = value if isinstance(value, list) else [value]
            texts = [entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False) for entry in entries]
            self.expect(case, any(all(found(fact, text) for fact in facts) for text in texts), f"no {facts} in {field}: {value}")

    def make_out(self):
        """What is there before each run; gives the paths."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(mode=0o777)
        self.out.chmod(0o777)
        (self.out / "kept.cohort").write_text("kept")
        locked = self.out / "locked"
        locked.mkdir(mode=0o555)
        for name in ("small", "full"):
            (self.out / name).mkdir(mode=0o777)
        (self.out / "full" / "validation.cohort").write_text("kept")
        shutil.copy("good.csv", self.out / "unreadable.csv")
        (self.out / "unreadable.csv").chmod(0)
        return set(self.out.rglob("*"))

    def run(self, case):
        name, kind = case["case"], case["kind"]
        lines, fields = facts_of(case["says"])
        if case["under"] == "full-disk" and not self.may_mount:
            lines = [["File too large" if fact == "No space left on device" else fact for fact in facts] for facts in lines]
        # In words, and where the JSON says more, as JSON.
        for form in ([], ["--json"]):
            if form and not (fields or case["rows"]):
                break
            before = self.make_out()
            words = shlex.split(case["command"])
            words += [word for word in form if word not in words]
            stdout = self.check(name, self.start(words, case["under"]), kind, lines if not form or kind != "done" else [])
            if form:
                report = json.loads(stdout)
                self.check_counts(name, case["rows"], report)
                self.check_fields(name, fields, report)
            elif case["rows"] and "--json" not in words and case["command"].startswith("check"):
                counts = [f"{count:,}" for count in numbers_in(case["rows"])]
                self.expect(name, line_with(stdout, *counts), f"no line with {counts} in '{stdout}'")
            self.check_rejects(name, case["rows"])
            if kind != "done":
                left = [str(path) for path in self.out.rglob("*") if path not in before and path.name != "rejects.csv"]
                self.expect(name, not left, f"left behind: {left}")
                self.expect(name, (self.out / "kept.cohort").read_text() == "kept", "a file that was there is changed")

    def run_cuts(self, name):
        data = pathlib.Path(name).read_bytes()
        cut = pathlib.Path("cut_" + name)
        for length in sorted({*range(1, len(data), max(1, len(data) // 24)), len(data) - 1}):
            cut.write_bytes(data[:length])
            command = ["check", str(cut)] if "csv" in name or "parquet" in name else ["inspect", str(cut)]
            self.check(f"{name} cut at byte {length} of {len(data)}", self.start(command, ""), "input", [[str(cut)]])


def numbers_in(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def facts_of(says):
    """Groups of facts that stand in one line, and groups of a field of the JSON."""
    lines, fields = [], []
    for group in says.split(" && ") if says else []:
        field, facts = re.fullmatch(r"(?:\$(\w+): )?(.*)", group).groups()
        (fields.append((field, facts.split(" & "))) if field else lines.append(facts.split(" & ")))
    return lines, fields


def main():
    wanted = set(sys.argv[2:])
    runner = Runner(sys.argv[1])
    with (HERE / "cases.tsv").open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        cases = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    names = collections.Counter(case["case"] for case in cases)
    runner.failures += [f"{name}: listed twice" for name, count in names.items() if count > 1]
    runner.failures += [f"'{fact}' in '{text}' is not {known}" for fact, text, known in MATCHING if found(fact, text) != known]
    files = sorted(path.name for path in (HERE / "files").iterdir())
    commands = "\n".join(case["command"] for case in cases)
    for name in itertools.chain(files, GENERATORS):
        base = name.removesuffix(".packed")
        if not re.search(r"(^|[\s/'])" + re.escape(base) + r"($|[\s'])", commands, re.M) and not wanted:
            runner.failures.append(f"{name}: no case uses it")
    tests = "\n".join(path.read_text() for path in (HERE / "cases.tsv", *HERE.parent.glob("*_test.py")))
    runner.failures += [f"{reason}: no test uses it" for reason in REASONS if f"<{reason}>" not in tests]

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.chmod(folder, 0o777)
        for name in files:
            shutil.copy(HERE / "files" / name, name)
        for command in MADE_BY_THE_PROGRAM:
            subprocess.run([runner.program, *shlex.split(command), "--quiet"], check=True, stdout=subprocess.DEVNULL)
            pathlib.Path(shlex.split(command)[-1]).chmod(0o644)  # some cases run as another user
        for name, make in GENERATORS.items():
            pathlib.Path(name).write_bytes(make())
        for case in cases:
            if not wanted or case["case"] in wanted:
                runner.run(case)
        if not wanted:
            for name in CUT_ANYWHERE:
                runner.run_cuts(name)
        os.chdir("/")

    for failure in runner.failures:
        print(failure)
    print(f"{len(cases)} cases, {len(runner.failures)} failures")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
