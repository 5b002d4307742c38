#!/usr/bin/env python3
"""Runs the tests of a build folder and counts their cases.

    tools/run_tests.py PRESET [arguments of ctest ...]

An entry of ctest is a program with many cases. The closing line counts cases, with those that were skipped:
"N passed, N failed, N skipped". Ends with the exit status of ctest.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cases(output):
    """(passed, failed, skipped) of one entry's output; None where it runs no framework of cases."""
    total = [0, 0, 0]
    known = False
    for passed in re.findall(r"^\[  PASSED  \] (\d+) tests?\.", output, re.MULTILINE):
        known, total[0] = True, total[0] + int(passed)
    for number, word in re.findall(r"^ *(\d+) FAILED TEST(S?)$", output, re.MULTILINE):
        known, total[1] = True, total[1] + int(number)
    for skipped in re.findall(r"^\[  SKIPPED \] (\d+) tests?, listed below:", output, re.MULTILINE):
        known, total[2] = True, total[2] + int(skipped)
    for ran in re.findall(r"^Ran (\d+) tests? in ", output, re.MULTILINE):
        known, total[0] = True, total[0] + int(ran)
    for ending in re.findall(r"^(?:OK|FAILED) \((.*)\)$", output, re.MULTILINE):
        for word, number in re.findall(r"(\w+)=(\d+)", ending):
            place = {"failures": 1, "errors": 1, "skipped": 2}.get(word)
            if place:
                total[place] += int(number)
                total[0] -= int(number)
    return total if known else None


def main():
    preset, arguments = sys.argv[1], sys.argv[2:]
    status = subprocess.run(["ctest", "--preset", preset, *arguments], cwd=ROOT).returncode
    log = ROOT / "build" / preset / "Testing" / "Temporary" / "LastTest.log"
    totals = [0, 0, 0]
    for entry in re.split(r"^-{58}\n(?=\d+/\d+ Testing: )|^\d+/\d+ Testing: ", log.read_text(errors="replace"), flags=re.MULTILINE)[1:]:
        if not entry:
            continue
        passed = "\nTest Passed." in entry
        found = cases(entry)
        if found is None:
            skipped = "\nTest Skipped." in entry or "\nTest Not Run" in entry
            found = (0, 0, 1) if skipped else (1, 0, 0) if passed else (0, 1, 0)
        elif not passed and found[1] == 0:
            found[1] += 1  # it crashed, or ran out of time
        totals = [a + b for a, b in zip(totals, found)]
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped", flush=True)
    sys.exit(status if status or not totals[1] else 1)


main()
