#!/usr/bin/env python3
"""One EM iteration of a hidden tree over timings: this program beside the same EM with dense messages in numpy, CPU seconds.

    benchmarks/hidden_tree_peer.py COHORT [--program build/release/bin/desirepath] [--tree-states 16]

Both do the messages up and down every course of one tree and all expected counts, with periods missing as they are; numpy works on all
students at once, matrix products a course, one thread, and is given what each student knows of each course's timing beforehand. The program's time is the difference between 60 and 20 iterations of one tree,
one thread, run to the last (a tolerance of 0: otherwise a trial with students set aside comes first, and doubles what is done). The tree is a chain of courses in numpy: the shape does not matter to dense messages.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402


def known_timings(path, retake=0.1):
    """e_j(v) of every student: students by courses by timings, 0 never."""
    raw = pathlib.Path(path).read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + length])

    def array(name, kind):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(raw[8 + length + begin:8 + length + end], kind)

    schema = json.loads(header["__metadata__"]["schema"])
    periods, courses = len(schema["periods"]), len(schema["courses"])
    begin, bits = array("enrollments.row_begin", np.int64), array("enrollments.bits", np.int32)
    present = array("status", np.uint8).reshape(-1, periods) == 1
    taken = np.zeros((len(present), periods, courses), bool)
    rows = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    taken[rows // periods, bits // courses, bits % courses] = True
    known = np.ones((len(present), courses, periods + 1))
    for v in range(periods + 1):
        for t in range(1, periods + 1):
            bit, here = taken[:, t - 1], present[:, t - 1, None]
            if v == 0 or t < v:
                chance = ~bit
            elif t == v:
                chance = bit
            else:
                chance = np.where(bit, retake, 1 - retake)
            known[:, :, v] *= np.where(here, chance, 1)
    return known


def dense_iteration(known, links, timings, start):
    """Courses in a chain 0 - 1 - 2 ...: up from the last, down from the first."""
    students, courses, _ = known.shape
    given = [known[:, j] @ timings[j].T for j in range(courses)]
    belief, message = [None] * courses, [None] * courses
    scale = np.zeros(students)
    for j in reversed(range(courses)):
        belief[j] = given[j] * message[j + 1] if j + 1 < courses else given[j]
        peak = belief[j].max(axis=1, keepdims=True)
        belief[j] = belief[j] / peak
        scale += np.log(peak[:, 0])
        message[j] = belief[j] @ links[j].T
    post = belief[0] * start
    total = post.sum(axis=1, keepdims=True)
    post = post / total
    counts = []
    for j in range(courses):
        if j > 0:
            g = post / message[j]
            counts.append(links[j] * (g.T @ belief[j]))
            post = belief[j] * (g @ links[j])
        share = post / given[j]
        counts.append(timings[j] * (share.T @ known[:, j]))
        # Who had the course and could take it again: the timing of every student.
        counts.append((known[:, j] * (share @ timings[j])).sum(axis=0))
    return scale.sum() + np.log(total).sum(), counts


def cpu(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, arguments)), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort")
    parser.add_argument("--program", default="build/release/bin/desirepath")
    parser.add_argument("--tree-states", type=int, default=16)
    options = parser.parse_args()
    known = known_timings(options.cohort)
    states, draw = options.tree_states, np.random.default_rng(1)
    courses, periods = known.shape[1], known.shape[2] - 1
    links = [draw.dirichlet(np.ones(states), states) for _ in range(courses)]
    timings = [draw.dirichlet(np.ones(periods + 1), states) for _ in range(courses)]
    times = []
    for _ in range(5):
        begin = time.process_time()
        dense_iteration(known, links, timings, np.full(states, 1 / states))
        times.append(time.process_time() - begin)
    dense = min(times)
    with tempfile.TemporaryDirectory() as folder:
        def fit(iterations):
            return min(cpu([options.program, "fit", options.cohort, "--model", "hct", "--trees", 1, "--tree-states", states, "--iterations",
                            iterations, "--tolerance", 0, "--threads", 1, "--out", f"{folder}/m", "--force", "--quiet"]) for _ in range(3))
        ours = (fit(60) - fit(20)) / 40
    print(f"{known.shape[0]} students, {courses} courses, {periods} periods, H = {states}: dense numpy {dense:.4f} CPU s an iteration, "
          f"desirepath {ours:.4f}: {dense / ours:.1f} times")


if __name__ == "__main__":
    main()
