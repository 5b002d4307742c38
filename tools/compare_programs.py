#!/usr/bin/env python3
"""Two builds of the program on one list of commands: same output, same files, and the CPU time of each.

    tools/compare_programs.py OLD NEW [--only WORD] [--repeat N] [--tolerance X] [--speed]

Each command runs in a folder of its program's own, OLD and NEW in turn; of N runs the least CPU time (user and system of the
process) counts. Compared are exit code, stdout, stderr and every file: archives by their arrays and their metadata, the others by
their text. Times are masked. With --tolerance numbers may differ by that much, relative to the larger of the two (in arrays: at
least to a thousandth of the largest element); what moved is listed. --speed runs fewer commands on larger cohorts, seconds long
and on one thread, so that a few per cent can be seen. --only runs the commands that hold WORD and those that make their files.
Ends with 1 if anything differs.
"""
import argparse
import array
import csv
import difflib
import filecmp
import io
import itertools
import json
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile

FIT = "fit u.cohort --quiet --json --restarts 2 --iterations 15 --force"
COMMANDS = [
    "simulate --out u --students 700 --courses 40 --periods 3 --seed 7 --force --json",
    "check u/enrollments.csv --courses u/courses.csv --json",
    "prepare u/enrollments.csv --courses u/courses.csv --out u.cohort --force --json",
    "prepare u/enrollments.csv --courses u/courses.csv --min-cell 25 --out large.cohort --force --quiet",
    "prepare u/enrollments.csv --out left.cohort --absent left --rejects rejects.csv --force --json",
    "simulate --out y --edition 3 --years 6 --students 900 --courses 40 --seed 5 --force",
    "check u/enrollments.csv --courses u/courses.csv",
    "prepare y/enrollments.csv --courses y/courses.csv --out y.cohort --force",
    "describe u.cohort --figures figures --force --json",
    "describe u.cohort",
    "describe y.cohort",
    "describe y.cohort --json",
    "describe y.cohort --csv",
    "describe y.cohort --csv --table courses-per-student",
    "describe y.cohort --csv --table periods",
    "describe y.cohort --csv-safe --table courses",
    "describe y.cohort --csv --table filters",
    "inspect u.cohort",
    "inspect y.cohort --json",
    f"{FIT} --model nb --states 4 --out nb.m",
    f"{FIT} --model tan --states 3 --out tan.m",
    f"{FIT} --model tan --tree per-state --states 2 --out tan2.m",
    f"{FIT} --model gmm --states 2 --out gmm.m",
    f"{FIT} --model gmm --covariance tied --states 2 --out gmm2.m",
    f"{FIT} --model gmm --ridge 0.1 --states 2 --calibrate none --out gmm3.m",
    f"{FIT} --model hmm --states 4 --out hmm.m",
    f"{FIT} --model hmm+tree --states 3 --pseudocount 0.2 --out hmm2.m",
    f"{FIT} --model cmm --states 3 --out cmm.m",
    f"{FIT} --model cmm --covariance diagonal --states 3 --out cmm2.m",
    f"{FIT} --model cmm --covariance factor:2 --states 3 --start random --out cmm3.m",
    f"{FIT} --model cmm+bernoulli --states 4 --state-pseudocount 0.5 --validation 0.2 --out cmmb.m",
    f"{FIT} --model nb --emission probit --covariance factor:2 --states 2 --out probit.m",
    f"{FIT} --model nb --emission hidden-tree --states 2 --tree-states 3 --out htree.m",
    f"{FIT} --model cmm --states 2 --refine policy-gradient --out pg.m",
    f"{FIT} --model gmm --states 2 --refine orthant-em --out oem.m",
    "fit u.cohort --quiet --json --force --model hct --trees 2 --tree-states 6 --iterations 15 --out hct.m",
    "fit u.cohort --quiet --json --force --model hct --trees 2 --tree-states 4 --iterations 8 --retakes never --out hct2.m",
    "fit u.cohort --quiet --json --force --model vae --latent 3 --hidden 10 --epochs 6 --out vae.m",
    f"{FIT} --model nb --states 3 --carry-over --out carry.m",
    f"{FIT} --model cmm+bernoulli --states 3 --carry-over --where 'periods = 3' --out carry2.m",
    f"{FIT} --model nb --states 8 --publish --out public.m",
    f"{FIT} --model cmm+bernoulli --states 6 --publish --out public2.m",
    "fit u.cohort --quiet --json --force --model hct --trees 2 --tree-states 6 --iterations 8 --publish --out public3.m",
    "fit left.cohort --quiet --json --iterations 12 --restarts 1 --force --model cmm+bernoulli --states 3 --out left.m",
    "fit left.cohort --quiet --json --iterations 12 --restarts 1 --force --model nb --states 3 --out left1.m",
    f"{FIT} --model nb --states 4 --warm nb.m --match nb.m --out warm.m",
    "fit y.cohort --quiet --json --force --model cmm+bernoulli --states 4 --restarts 1 --iterations 15 --out y.m",
    "fit y.cohort --quiet --json --force --model hct --trees 2 --tree-states 4 --iterations 8 --out yhct.m",
    "fit u.cohort --model nb --states 3 --restarts 3 --iterations 8 --force --out told.m",
    "fit u.cohort --model nb --states 8 --restarts 1 --iterations 8 --publish --force --out told2.m",
    "fit u.cohort --dry-run --model tan --states 3",
    "fit u.cohort --dry-run --model tan --states 3 --json",
    "inspect hct.m --json",
    "inspect cmmb.m",
    "select u.cohort --model nb --states 2:4 --iterations 20 --restarts 1 --figure k.svg --force",
    "select u.cohort --model cmm --states 2,3 --iterations 8 --restarts 1 --csv",
    "select u.cohort --model nb --states 2,3 --iterations 8 --restarts 1 --pseudocount 0 --json",
    "compare u.cohort --models nb,tan --states 2,3 --iterations 8 --restarts 1 --json",
    "compare u.cohort --models nb,hct --states 2,3 --iterations 8 --restarts 1",
    "compare u.cohort --models nb,tan --states 2 --iterations 8 --restarts 1 --csv",
    "evaluate u.cohort --models nb,vae --states 2,4 --seeds 2 --restarts 1 --iterations 10 --epochs 3 --draws 200",
    "evaluate u.cohort --models nb,hct --states 2 --seeds 1 --restarts 1 --iterations 10 --draws 200 --csv",
    "evaluate u.cohort --models nb,vae --states 2 --seeds 1 --restarts 1 --iterations 10 --epochs 3 --draws 200 --out e --force --json",
    "score nb.m u.cohort --csv",
    "score tan.m u.cohort --json",
    "score cmm.m u.cohort --likelihood density --json",
    "score nb.m u.cohort --leave-one-out --csv",
    "score hct.m u.cohort --explain 3",
    "score hct.m u.cohort --explain 3 --json",
    "score hct.m u.cohort --explain 3 --by residence --csv",
    "score nb.m u.cohort --by major",
    "score nb.m u.cohort --leave-one-out on",
    "score nb.m u.cohort --leave-one-out on --json",
    "score nb.m u.cohort --leave-one-out off --full-precision --json",
    "score cmmb.m u.cohort --contrast 0.2 --major entry_major",
    "score vae.m u.cohort --csv",
    "score vae.m u.cohort",
    "score oem.m u.cohort --precision sampled --csv",
    "states cmm.m",
    "states cmm.m --csv",
    "states hmm.m",
    "states hmm.m --csv",
    "states nb.m --json",
    "states nb.m u.cohort --refits 3",
    "states nb.m u.cohort --refits 2 --json",
    "states nb.m --name all:0=Engineers --csv-safe",
    "states cmmb.m u.cohort --csv",
    "states left.m left.cohort --csv",
    "states cmmb.m --json",
    "states cmmb.m u.cohort --by residence --json",
    "states cmmb.m u.cohort --by residence",
    "states cmmb.m u.cohort --by residence --csv",
    "states y.m y.cohort --by entry",
    "states y.m y.cohort --by entry --json",
    "states cmmb.m --grid --csv",
    "states cmmb.m --grid",
    "states cmmb.m --grid --json",
    "states left.m",
    "states left.m --json",
    "states public2.m --json",
    "states hct.m",
    "states hct.m --csv",
    "states hct.m --json",
    "infer hct.m --took 'CS 101@1' --period 2 --csv",
    "infer hct.m --took 'CS 101@1' --period 2",
    "infer hct.m u.cohort --student S00000042 --known-periods 1",
    "infer hct.m u.cohort --student S00000042 --known-periods 1 --refits 2 --json",
    "infer hct.m u.cohort --known-periods 1 --period 2 --csv",
    "infer hct.m u.cohort --known-periods 1",
    "infer hct.m u.cohort --known-periods 1 --period 2 --total --csv",
    "infer hct.m u.cohort --known-periods 1 --period 2 --total",
    "infer nb.m u.cohort --known-periods 1 --period 2 --total --refits 2 --json",
    "infer yhct.m y.cohort --known-periods 1 --period 2 --total",
    "infer yhct.m y.cohort --known-periods 1 --period 2 --total --json",
    "infer left.m left.cohort --known-periods 1 --top 2 --json",
    "infer left.m left.cohort --known-periods 1",
    "infer left.m left.cohort --known-periods 1 --total",
    "infer hct.m u.cohort --paper-task --json",
    "infer hct.m u.cohort --paper-task --csv",
    "infer cmm.m u.cohort --known-periods 1 --period 2 --total --json",
    "infer cmm.m u.cohort --paper-task",
    "infer vae.m u.cohort --paper-task",
    "infer carry.m --took 'CS 101@1' --period 2 --json",
    "prerequisites hct.m u.cohort --students 60 --csv",
    "prerequisites cmmb.m u.cohort --students 60 --json",
    "prerequisites hct.m u.cohort --students 60 --curriculum",
    "prerequisites hct.m u.cohort --students 60",
    "prerequisites hct.m u.cohort --students 60 --json",
    "prerequisites hct.m u.cohort --students 60 --course 'CS 301' --course 'CS 201'",
    "prerequisites hct.m u.cohort --students 60 --course 'CS 301' --csv",
    "prerequisites hct.m --students 60 --drawn 300",
    "prerequisites hct.m --students 60 --drawn 300 --csv",
    "prerequisites hct.m --students 60 --drawn 300 --json",
    "prerequisites hct.m u.cohort --students 30 --refits 2 --q 1 --csv",
    "prerequisites yhct.m y.cohort --students 60",
    "pathways cmmb.m",
    "pathways cmmb.m --json",
    "pathways cmmb.m u.cohort --by residence --json",
    "pathways cmmb.m u.cohort --by residence --q 1",
    "pathways cmmb.m u.cohort --width probability --csv",
    "pathways cmmb.m u.cohort --width probability --via 'CS 101@1' --json",
    "pathways cmmb.m --via 'CS 101@1'",
    "pathways y.m y.cohort --by entry",
    "pathways y.m y.cohort --by entry --json",
    "pathways left.m left.cohort",
    "pathways left.m left.cohort --json",
    "delays hct.m u.cohort --by residence --json",
    "delays hct.m u.cohort --by residence",
    "delays hct.m u.cohort --by residence --q 1 --csv",
    "delays hct.m u.cohort --goal 'CS 301'",
    "delays hct.m u.cohort --goal 'CS 301' --q 1 --most-by-chance 50 --json",
    "delays hct.m u.cohort --goal 'CS 301' --q 1 --most-by-chance 50",
    "delays yhct.m y.cohort --q 1 --csv",
    "company hct.m u.cohort --json",
    "company hct.m u.cohort --q 1",
    "company hct.m u.cohort --q 1 --csv",
    "plan hct.m --took 'CS 101@1' --known-periods 1 --goal 'CS 301' --json",
    "plan hct.m --took 'CS 101@1' --known-periods 1 --goal 'CS 301'",
    "plan hct.m --took 'CS 101@1' --known-periods 1 --goal 'CS 301' --goal 'CS 201@2' --csv",
    "plan hct.m u.cohort --took 'CS 101@1' --core 'major=Computer Science'",
    "sample hct.m --count 200 --csv",
    "sample hct.m --count 9",
    "sample hct.m --count 20 --json",
    "sample cmm.m --count 50 --no-repeats --csv",
    "sample cmm.m --count 50 --no-repeats",
    "sample cmmb.m u.cohort --student S00000042 --known-periods 1",
    "sample cmmb.m u.cohort --student S00000042 --known-periods 1 --count 3 --csv",
    "sample left.m left.cohort --known-periods 1 --count 1 --json",
    "report cmmb.m u.cohort --answers hct.m --by residence --evaluation e/evaluation.json --figures pictures --out page.html --force --json",
    "report hct.m u.cohort --out page2.html --force --json",
    "report nb.m u.cohort --by residence --q 1 --out page3.html --figures pictures3 --force",
    "report y.m y.cohort --answers yhct.m --by entry --highlight 0,1 --width probability --out page4.html --figures pictures4 --force",
    "report cmm.m u.cohort --answers hct.m --q 1 --name all:0=Engineers --out page5.html --figures pictures5 --force",
    "report cmmb.m u.cohort --answers hct.m --by major --sections summary,flows,delays,plans --q 1 --out page6.html --force",
    "report cmmb.m large.cohort --answers hct.m --by residence --out page8.html --figures pictures8 --force",
    "pathways cmmb.m large.cohort --by residence",
    "states cmmb.m large.cohort --by residence",
    "describe large.cohort",
    "company hct.m large.cohort --q 1",
    "report left.m left.cohort --out page7.html --figures pictures7 --force",
    "split u.cohort --out parts --force --json",
    "split u.cohort --out parts --force",
    "orthant case.json --json",
    "orthant case.json --csv",
    "orthant case.json --estimator sov",
]

# Seconds of CPU each. Those that only make what is measured have no time of their own.
MADE_FOR_SPEED = [
    "simulate --out huge --students 100000 --courses 200 --periods 4 --seed 5 --force --quiet",
    "simulate --out big --students 30000 --courses 200 --periods 4 --seed 3 --force --quiet",
    "prepare big/enrollments.csv --absent unknown --out big.cohort --force --quiet",
    "simulate --out mid --students 4000 --courses 80 --periods 4 --seed 4 --force --quiet",
    "prepare mid/enrollments.csv --absent unknown --out mid.cohort --force --quiet",
]
LONG = "--tolerance 0 --threads 1 --force --quiet --json"
SPEED = [
    f"fit big.cohort --model nb --states 8 --restarts 1 --iterations 120 {LONG} --out nb.m",
    f"fit mid.cohort --model tan --states 4 --restarts 1 --iterations 20 {LONG} --out tan.m",
    f"fit mid.cohort --model cmm --states 4 --restarts 1 --iterations 20 {LONG} --out cmm.m",
    f"fit big.cohort --model hct --trees 1 --tree-states 16 --iterations 8 {LONG} --out hct.m",
    "prepare huge/enrollments.csv --courses huge/courses.csv --absent unknown --threads 1 --out ingest.cohort --force --json",
    "infer hct.m big.cohort --known-periods 1 --total --threads 1 --csv",
    "infer cmm.m mid.cohort --paper-task --threads 1 --json",
]

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?(?![\w])")
MEASURED = re.compile(r'("[^"]*(?:seconds|bytes)[^"]*": )(?:[-+.\deE]+|{[^{}]*})')  # a field of JSON as it is written
ELEMENTS = {"F64": "d", "I64": "q", "I32": "i", "U8": "B"}


def masked(text):
    """Text without what two runs of one program differ in: times, and memory that was in use."""
    text = MEASURED.sub(r"\1_", text)
    header = text.split("\n", 1)[0].split(",")
    if any(is_measured(name) for name in header):
        rows = [["_" if is_measured(name) else cell for name, cell in zip(header, row)] for row in csv.reader(io.StringIO(text))]
        return "\n".join(",".join(row) for row in [header, *rows[1:]])
    return re.sub(r"\d+(\.\d+)? (s|ms|min)\b", r"_ \2", text)


def is_measured(name):
    return "seconds" in name or "bytes" in name


class Difference:
    """What differs between two values, and what only moved within the tolerance."""

    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.differing, self.moved = [], []

    def numbers(self, where, pairs, largest=0.0):
        """Notes how far pairs of numbers are apart, where they are."""
        worst, count, example = 0.0, 0, None
        for a, b in pairs:
            if a == b or (a != a and b != b):
                continue
            scale = max(abs(a), abs(b), 1e-3 * largest)
            relative = abs(a - b) / scale if scale < float("inf") else float("inf")
            count += 1
            if not relative <= worst:
                worst, example = relative, (a, b)
        if count == 0:
            return
        told = f"{where}: {count} number{'s' * (count != 1)}, by up to {worst:.1e} ({example[0]!r} and {example[1]!r})"
        (self.moved if worst <= self.tolerance else self.differing).append(told)

    def text(self, where, a, b):
        if a == b:
            return
        if self.tolerance > 0 and NUMBER.sub("#", a) == NUMBER.sub("#", b):
            self.numbers(where, zip(*([number(x) for x in NUMBER.findall(text)] for text in (a, b))))
            return
        old, new = a.split("\n"), b.split("\n")
        if len(old) + len(new) < 2000:
            lines = list(difflib.unified_diff(old, new, "old", "new", "", "", 0, ""))
        else:  # difflib would take minutes: the lines that differ at the same place
            lines = [line for x, y in itertools.zip_longest(old, new, fillvalue="") if x != y for line in ("-" + x, "+" + y)]
        shown = [line if len(line) < 300 else around_difference(line, lines) for line in lines[:24]]
        self.differing.append("\n   ".join([f"{where}: other text", *shown]))

    def archive(self, where, a, b):
        (old, old_data), (new, new_data) = a, b
        self.text(f"{where} metadata", metadata_text(old), metadata_text(new))
        names = [sorted(set(header) - {"__metadata__"}) for header in (old, new)]
        if names[0] != names[1]:
            self.differing.append(f"{where}: other arrays: {', '.join(sorted(set(names[0]) ^ set(names[1])))}")
            return
        for name in names[0]:
            (x, old_raw), (y, new_raw) = ((header[name], data[slice(*header[name]["data_offsets"])])
                                          for header, data in ((old, old_data), (new, new_data)))
            if (x["shape"], x["dtype"]) != (y["shape"], y["dtype"]):
                self.differing.append(f"{where} {name}: {x['dtype']} {x['shape']} and {y['dtype']} {y['shape']}")
            elif old_raw != new_raw:
                values = [array.array(ELEMENTS[x["dtype"]], raw) for raw in (old_raw, new_raw)]
                largest = max((abs(v) for v in values[0] if abs(v) < float("inf")), default=0.0)
                self.numbers(f"{where} {name}", zip(*values), largest)

    def files(self, old_folder, new_folder):
        names = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) for folder in (old_folder, new_folder)]
        for name in sorted(set(names[0]) ^ set(names[1])):
            self.differing.append(f"{name}: written by {'OLD' if name in names[0] else 'NEW'} alone")
        for name in sorted(set(names[0]) & set(names[1])):
            if filecmp.cmp(old_folder / name, new_folder / name, shallow=False):
                continue
            a, b = ((folder / name).read_bytes() for folder in (old_folder, new_folder))
            archives = [archive_parts(data) for data in (a, b)]
            if all(archives):
                self.archive(name, *archives)
            else:
                self.text(name, *(masked(data.decode("utf-8", "replace")) for data in (a, b)))
        return len(names[0])


def number(text):
    return float(text.replace(",", ""))


def around_difference(line, lines):
    """Of a long line, what surrounds the place where it and its twin part."""
    twin = next((other for other in lines if other[0] != line[0] and len(other) > 300), line)
    at = next((i for i, (x, y) in enumerate(zip(line[1:], twin[1:])) if x != y), 0)
    return f"{line[0]}... {line[1 + max(0, at - 100):at + 150]} ..."


def archive_parts(data):
    """Header and data of a file the program wrote; None for others."""
    try:
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        return (header, data[8 + length:]) if "__metadata__" in header else None
    except (struct.error, ValueError, TypeError):
        return None


def metadata_text(header):
    """Metadata as text, JSON in it spelled out; not the digest, which is of what is compared anyway."""
    told = {}
    for key, value in header["__metadata__"].items():
        try:
            told[key] = json.loads(value)
        except ValueError:
            told[key] = value
    told.pop("digest", None)
    return MEASURED.sub(r"\1_", json.dumps(told, indent=1, sort_keys=True))


def run(program, folder, command):
    """Exit code, stdout, stderr, and seconds of CPU."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([program, *shlex.split(command)], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(masked(file.read().decode("utf-8", "replace")))
        return process.returncode, *texts, usage.ru_utime + usage.ru_stime


def needed(commands, word):
    """The commands that hold the word, and those that write what these read."""
    made_by = {}
    for index, command in enumerate(commands):
        words = shlex.split(command)
        for option in ("--out", "--figure", "--rejects"):
            if option in words:
                made_by.setdefault(words[words.index(option) + 1], index)
    wanted = {index for index, command in enumerate(commands) if word in command}
    waiting = list(wanted)
    while waiting:
        index = waiting.pop()
        for part in shlex.split(commands[index]):
            source = made_by.get(part, made_by.get(part.split("/")[0]))
            if source is not None and source not in wanted and source < index:
                wanted.add(source)
                waiting.append(source)
    return wanted


def table(rows, repeat):
    print(f"\nCPU seconds (user + system), least of {repeat}")
    print(f"{'old':>8} {'new':>8} {'ratio':>7}  command")
    rows = [*rows, ("total", sum(row[1] for row in rows), sum(row[2] for row in rows))]
    for name, a, b in rows:
        print(f"{a:8.2f} {b:8.2f} {b / a if a > 0 else 1:7.3f}  {name if len(name) < 110 else name[:107] + '...'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=0.0)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    commands = [*MADE_FOR_SPEED, *SPEED] if options.speed else COMMANDS
    wanted = needed(commands, options.only)
    programs = [os.path.abspath(program) for program in (options.old, options.new)]
    difference = Difference(options.tolerance)
    times, failed = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folders = [pathlib.Path(scratch, name) for name in ("old", "new")]
        for folder in folders:
            folder.mkdir()
            (folder / "case.json").write_text(json.dumps(
                {"x": [1, 0, 1], "mu": [0.1, -0.2, 0.3], "Lambda": [[0.5], [0.4], [0.1]], "D": [1, 1, 1]}))
        for index in sorted(wanted):
            command = commands[index]
            measured = command not in MADE_FOR_SPEED
            least, first = [float("inf")] * 2, [None, None]
            for round_number in range(options.repeat if measured else 1):
                for which in ((0, 1) if (index + round_number) % 2 == 0 else (1, 0)):
                    done = run(programs[which], folders[which], command)
                    least[which] = min(least[which], done[3])
                    first[which] = first[which] or done
            if measured:
                times.append((command, *least))
            a, b = first
            if a[0] != 0:
                failed.append(f"{command}: exit {a[0]}: {a[2].strip()[-300:]}")
            if a[0] != b[0]:
                difference.differing.append(f"{command}: exit {a[0]} and {b[0]}: {b[2].strip()[-300:]}")
            difference.text(f"stdout of {command}", a[1], b[1])
            difference.text(f"stderr of {command}", a[2], b[2])
        files = difference.files(*folders)
    table(times, options.repeat)
    for title, lines in (("Moved", difference.moved), ("Differ", difference.differing), ("Failed", failed)):
        if lines:
            print(f"\n{title}")
            print("\n".join(f"== {line}" for line in lines))
    print(f"\n{len(wanted)} commands, {files} files: {len(difference.differing)} differ, {len(difference.moved)} moved within the tolerance, "
          f"{len(failed)} failed")
    sys.exit(1 if difference.differing or failed else 0)


main()
