#!/usr/bin/env python3
"""Two builds of the program on one list of commands: same output, same arrays in every file they write.

    tools/compare_programs.py OLD NEW [--only WORD]

Times are masked. Prints what differs and ends with 1 if anything does.
"""
import argparse
import difflib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

FIT = "fit u.cohort --quiet --json --restarts 2 --iterations 15 --force"
COMMANDS = [
    "simulate --out u --students 700 --courses 40 --periods 3 --seed 7 --json",
    "check u/enrollments.csv --courses u/courses.csv --json",
    "prepare u/enrollments.csv --courses u/courses.csv --out u.cohort --force --json",
    "prepare u/enrollments.csv --out left.cohort --absent left --force --json",
    "describe u.cohort --json",
    "inspect u.cohort",
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
    f"{FIT} --model cmm --states 2 --refine policy-gradient --out pg.m",
    f"{FIT} --model gmm --states 2 --refine orthant-em --out oem.m",
    "fit left.cohort --quiet --json --iterations 12 --restarts 1 --force --model cmm+bernoulli --states 3 --out left.m",
    "fit left.cohort --quiet --json --iterations 12 --restarts 1 --force --model nb --states 3 --out left1.m",
    f"{FIT} --model nb --states 4 --warm nb.m --match nb.m --out warm.m",
    "fit u.cohort --dry-run --model tan --states 3",
    "select u.cohort --model nb --states 2:4 --iterations 20 --restarts 1",
    "select u.cohort --model cmm --states 2,3 --iterations 8 --restarts 1 --csv",
    "score nb.m u.cohort --csv",
    "score tan.m u.cohort --json",
    "score cmm.m u.cohort --likelihood density --json",
    "score nb.m u.cohort --leave-one-out --csv",
    "states cmm.m",
    "states nb.m --json",
    "states cmmb.m u.cohort --csv",
    "states left.m",
    "split u.cohort --out parts --force --json",
    "orthant case.json --json",
]


def masked(text):
    text = re.sub(r'"(seconds|bytes)": [-0-9.e]+', r'"\1": _', text)
    text = re.sub(r'"seconds_per_iteration": [-0-9.e]+', '"seconds_per_iteration": _', text)
    return re.sub(r"\d+(\.\d+)? s\b", "_ s", text)


def arrays(path):
    """Name -> (shape, bytes) of a file the program wrote; None for other files."""
    data = open(path, "rb").read()
    try:
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
    except (struct.error, ValueError):
        return None
    header.pop("__metadata__")
    begin = 8 + length
    return {name: (entry["shape"], data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]])
            for name, entry in header.items()}


def run(program, folder, commands):
    with open(os.path.join(folder, "case.json"), "w") as file:
        json.dump({"x": [1, 0, 1], "mu": [0.1, -0.2, 0.3], "Lambda": [[0.5], [0.4], [0.1]], "D": [1, 1, 1]}, file)
    outputs = []
    for command in commands:
        done = subprocess.run([program, *command.split()], cwd=folder, capture_output=True, text=True)
        outputs.append((done.returncode, masked(done.stdout), done.stderr))
    return outputs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    commands = [c for c in COMMANDS if options.only in c or c.split()[0] in ("simulate", "prepare")]
    differing = 0
    with tempfile.TemporaryDirectory() as old_folder, tempfile.TemporaryDirectory() as new_folder:
        old = run(os.path.abspath(options.old), old_folder, commands)
        new = run(os.path.abspath(options.new), new_folder, commands)
        for command, a, b in zip(commands, old, new):
            if a[:2] == b[:2]:
                continue
            differing += 1
            print(f"== {command}: exit {a[0]} and {b[0]}\n   {a[2].strip()[-300:]}\n   {b[2].strip()[-300:]}")
            print("\n".join(list(difflib.unified_diff(a[1].split("\n"), b[1].split("\n"), "old", "new", "", "", 0))[:24]))
        for name in sorted(os.listdir(old_folder)):
            path = os.path.join(old_folder, name)
            if not os.path.isfile(path):
                continue
            other = os.path.join(new_folder, name)
            if not os.path.exists(other) or arrays(path) != arrays(other):
                differing += 1
                print(f"== {name}: other arrays")
    print(f"{len(commands)} commands, {differing} differ")
    sys.exit(1 if differing else 0)


main()
