#!/usr/bin/env python3
"""Gaussian mixtures beside scikit-learn's: the same answer from the same start, and the CPU time of an iteration.

    benchmarks/gaussian_peers.py [--task parity|speed|all] [--program build/release/bin/desirepath]
                                 [--students 10000] [--courses 500] [--states 10] [--shares 0.08,0.02]

Parity: gmm with --ridge R from soft labels against GaussianMixture(reg_covar=R) from the same responsibilities; the largest
relative difference of the log-likelihood over 15 iterations. Speed: CPU seconds of one iteration of a cmm with full
covariances against one of the pooled GaussianMixture (all student-periods in one matrix), with OpenBLAS left to itself and
told the processor's kind; the fastest counts. Run with Debian's /usr/bin/python3 (tools/setup.sh bench).
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy


def write_cohort(folder, taken, program):
    """taken: students by periods by courses."""
    students, periods, courses = taken.shape
    with open(folder / "rows.csv", "w") as out:
        out.write("student,period,course\n")
        for s in range(students):
            for t in range(periods):
                there = numpy.flatnonzero(taken[s, t])
                for c in there:
                    out.write(f"s{s:07d},{t + 1},c{c:04d}\n")
                if not len(there):
                    out.write(f"s{s:07d},{t + 1},\n")
    with open(folder / "courses.csv", "w") as out:
        out.write("course\n" + "".join(f"c{c:04d}\n" for c in range(courses)))
    subprocess.run([program, "prepare", folder / "rows.csv", "--courses", folder / "courses.csv", "--min-takers", "0", "--out",
                    folder / "rows.cohort", "--force", "--quiet"], check=True)
    return folder / "rows.cohort"


def draw(students, periods, courses, share, seed):
    """Correlated bits: a few hidden kinds of student and a few factors shift what each course needs."""
    random = numpy.random.default_rng(seed)
    kinds, factors = 6, 8
    level = random.normal(size=courses) * 0.6
    kind = random.normal(size=(kinds, courses)) * 0.5
    loading = random.normal(size=(factors, courses)) * 0.35
    latent = level + kind[random.integers(kinds, size=(students, periods))]
    latent += random.normal(size=(students, periods, factors)) @ loading + random.normal(size=latent.shape)
    return latent > numpy.quantile(latent, 1 - share)


def fit(program, cohort, arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "fit", cohort, "--out", cohort.with_suffix(".desirepath"), "--force", "--json", "--quiet",
                           "--restarts", "1", "--tolerance", "0", *arguments], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parity(options):
    from sklearn.mixture import GaussianMixture
    worst = 0
    for ridge in (1e-2, 1e-6):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            taken = draw(600, 1, 30, 0.2, 1)
            cohort = write_cohort(folder, taken, options.program)
            random = numpy.random.default_rng(2)
            weights = random.dirichlet(numpy.ones(4), size=600)
            with open(folder / "labels.csv", "w") as out:
                out.write("student,period,state,weight\n")
                for s in range(600):
                    for k in range(4):
                        out.write(f"s{s:07d},1,{k},{float(weights[s, k])!r}\n")
            ours, _ = fit(options.program, cohort, ["--model", "gmm", "--states", "4", "--start", folder / "labels.csv",
                                                       "--ridge", str(ridge), "--state-pseudocount", "0", "--iterations", "15"])
            x = 2.0 * taken[:, 0, :] - 1
            peer = GaussianMixture(4, covariance_type="full", reg_covar=ridge)
            peer._check_parameters(x)
            peer._initialize(x, weights)
            theirs = []
            for _ in range(16):
                mean, log_responsibilities = peer._e_step(x)
                theirs.append(mean * 600)
                peer._m_step(x, log_responsibilities)
            difference = max(abs(a - b) / abs(b) for a, b in zip(ours["trace"], theirs))
            worst = max(worst, difference)
            print(f"parity: ridge {ridge:g}: log-likelihood {theirs[0]:.6f} .. {theirs[-1]:.6f}, "
                  f"largest relative difference over {len(theirs)} E steps {difference:.1e}")
    if worst > 1e-8:
        sys.exit("parity: differs by more than 1e-8")


PEER = """
import sys, time, numpy
from sklearn.mixture import GaussianMixture
from sklearn.exceptions import ConvergenceWarning
import warnings; warnings.simplefilter("ignore", ConvergenceWarning)
import threadpoolctl
x = numpy.load(sys.argv[1]); states = int(sys.argv[2])
random = numpy.random.default_rng(0)
mixture = GaussianMixture(states, covariance_type="full", reg_covar=1e-3)
mixture._check_parameters(x)
mixture._initialize(x, random.dirichlet(numpy.ones(states), size=len(x)))
mixture._e_step(x)
begin = time.process_time()
for _ in range(2):
    _, r = mixture._e_step(x)
    mixture._m_step(x, r)
seconds = (time.process_time() - begin) / 2
blas = [(d.get("internal_api"), d.get("version"), d.get("architecture"), d.get("num_threads")) for d in threadpoolctl.threadpool_info() if d["user_api"] == "blas"]
print(seconds, blas)
"""


def speed(options):
    for share in [float(s) for s in options.shares.split(",")]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            taken = draw(options.students, 4, options.courses, share, 3)
            cohort = write_cohort(folder, taken, options.program)
            arguments = ["--model", "cmm", "--states", str(options.states), "--start", "random"]
            _, few = fit(options.program, cohort, arguments + ["--iterations", "2"])
            _, many = fit(options.program, cohort, arguments + ["--iterations", "12"])
            ours = (many - few) / 10
            x = 2.0 * taken.reshape(-1, options.courses) - 1
            numpy.save(folder / "x.npy", x)
            best = None
            for kind in ("", "SkylakeX", "Haswell"):
                environment = dict(os.environ)
                if kind:
                    environment["OPENBLAS_CORETYPE"] = kind
                seconds, blas = subprocess.run([sys.executable, "-c", PEER, folder / "x.npy", str(options.states)], check=True,
                                               capture_output=True, text=True, env=environment).stdout.split(" ", 1)
                print(f"speed: scikit-learn, OPENBLAS_CORETYPE={kind or 'unset'}: {float(seconds):.2f} CPU s an iteration, {blas.strip()}")
                best = min(float(seconds), best or float(seconds))
            print(f"speed: {share:.0%} ones, {options.students} students, 4 periods, {options.courses} courses, {options.states} "
                  f"states: ours {ours:.3f} CPU s an iteration; ratio {best / ours:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="all", choices=["parity", "speed", "all"])
    parser.add_argument("--program", default="build/release/bin/desirepath")
    parser.add_argument("--students", type=int, default=10000)
    parser.add_argument("--courses", type=int, default=500)
    parser.add_argument("--states", type=int, default=10)
    parser.add_argument("--shares", default="0.08,0.02")
    options = parser.parse_args()
    if options.task in ("parity", "all"):
        parity(options)
    if options.task in ("speed", "all"):
        speed(options)


if __name__ == "__main__":
    main()
