#!/usr/bin/python3
"""One table beside the packages people use today: the same answer, and the CPU time both took in one run.

    benchmarks/peers.py [--program build/release/bin/desirepath] [--tasks classes,gaussian,chain,orthant,middle] [--students 2000]

Each row fits or asks the same thing of both, from the same start where the peer takes one:

- classes: mixtures of Bernoullis; flexmix (FLXMCmvbinary) from the same labels, e1071's lca from three random starts of its own
- gaussian: Gaussian mixtures with full covariances; scikit-learn (the same ridge) and mclust (VVV, no floor: one step) from the same labels
- chain: hidden Markov models with independent courses; pomegranate from the same parameters, iteration by iteration
- orthant: probabilities of Gaussian orthants; mvtnorm's pmvnorm (more: benchmarks/orthant_speed.py)
- middle: the middle year from the others; a logistic regression a course (more: benchmarks/middle_year.py)

`difference` is ours less theirs, of the quantity named; `ratio` is their CPU time over ours, the start of each program included
for both (of the chain: that of the fit alone for the peer). All with one thread. Packages: tools/setup.sh bench; a row whose package
is missing says so.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

ROWS = []


def note(peer, task, ours, theirs, our_seconds, their_seconds):
    ROWS.append((peer, task, f"{ours:.6g}", f"{theirs:.6g}", f"{ours - theirs:+.2g}", f"{our_seconds:.2f}", f"{their_seconds:.2f}",
                 f"{their_seconds / our_seconds:.1f}"))
    print("  ".join(ROWS[-1]), flush=True)


def missing(peer, task):
    ROWS.append((peer, task, "not installed", "", "", "", "", ""))
    print("  ".join(ROWS[-1]), flush=True)


def timed(command):
    """Standard output and CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def has_r(package):
    try:
        return subprocess.run(["Rscript", "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"],
                              capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def run_r(script, *arguments):
    """Numbers a script prints, and the CPU seconds of R."""
    out, seconds = timed(["Rscript", "-e", script, *arguments])
    return [float("nan") if word == "NA" else float(word) for word in out.split()], seconds


class Work:
    """A cohort drawn at random, as the program reads it and as peers do."""

    def __init__(self, program, folder, taken, labels):
        """taken: students by periods by courses; labels: students by periods, or students."""
        self.program, self.folder, self.taken = program, folder, taken
        students, periods, courses = taken.shape
        with open(folder / "rows.csv", "w") as out:
            out.write("student,period,course\n")
            for s in range(students):
                for t in range(periods):
                    there = np.flatnonzero(taken[s, t])
                    out.write("".join(f"s{s:06d},{t + 1},c{c:03d}\n" for c in there) or f"s{s:06d},{t + 1},\n")
        with open(folder / "courses.csv", "w") as out:
            out.write("course\n" + "".join(f"c{c:03d}\n" for c in range(courses)))
        labels = np.broadcast_to(labels.reshape(students, -1), (students, periods))
        with open(folder / "labels.csv", "w") as out:
            out.write("student,period,state\n")
            for s in range(students):
                out.write("".join(f"s{s:06d},{t + 1},{labels[s, t]}\n" for t in range(periods)))
        timed([program, "prepare", folder / "rows.csv", "--courses", folder / "courses.csv", "--min-takers", 0, "--out",
               folder / "rows.cohort", "--quiet"])
        np.savetxt(folder / "x.csv", taken.reshape(students, -1).astype(int), fmt="%d", delimiter=",")
        np.savetxt(folder / "labels.txt", labels[:, 0] + 1, fmt="%d")

    def fit(self, *options):
        out, seconds = timed([self.program, "fit", self.folder / "rows.cohort", "--out", self.folder / "model", "--force", "--json", "--quiet",
                              "--threads", 1, "--restarts", 1, "--start", self.folder / "labels.csv", "--state-pseudocount", 0, *options])
        return json.loads(out), seconds


def kinds_of_students(random, students, periods, courses, kinds, sharp, level=-0.6):
    """Bits of students of some kinds, and the kinds of which some are wrong: a start for all."""
    share = 1 / (1 + np.exp(-random.normal(level, sharp, size=(kinds, courses))))
    kind = random.integers(kinds, size=(students, periods) if periods > 1 else (students, 1))
    taken = random.random((students, periods, courses)) < share[kind]
    wrong = random.random(kind.shape) < 0.3
    return taken, np.where(wrong, random.integers(kinds, size=kind.shape), kind)


FLEXMIX = """
suppressMessages(library(flexmix)); a <- commandArgs(TRUE)
x <- as.matrix(read.csv(a[1], header = FALSE)); z <- scan(a[2], quiet = TRUE)
f <- flexmix(x ~ 1, cluster = z, model = FLXMCmvbinary(), control = list(minprior = 0, tolerance = 1e-12, iter.max = 2000))
cat(format(as.numeric(logLik(f)), digits = 15))
"""
LCA = """
suppressMessages(library(e1071)); a <- commandArgs(TRUE); set.seed(1)
x <- as.matrix(read.csv(a[1], header = FALSE)); best <- -Inf
for (i in 1:3) best <- max(best, lca(x, k = as.integer(a[2]), niter = 300)$logl)
cat(format(best, digits = 15))
"""
MCLUST = """
suppressMessages(library(mclust)); a <- commandArgs(TRUE)
x <- 2 * as.matrix(read.csv(a[1], header = FALSE)) - 1; z <- unmap(scan(a[2], quiet = TRUE))
m <- mstep(data = x, modelName = "VVV", z = z)
cat(format(estep(data = x, modelName = "VVV", parameters = m$parameters)$loglik, digits = 15))
"""


def classes(program, folder, students):
    random = np.random.default_rng(1)
    taken, labels = kinds_of_students(random, students, 1, 24, 4, 1.2)
    work = Work(program, folder, taken, labels)
    ours, seconds = work.fit("--model", "nb", "--states", 4, "--pseudocount", 0, "--tolerance", 1e-13, "--iterations", 5000)
    task = f"4 latent classes, {students} students, 24 courses: log-likelihood"
    if has_r("flexmix"):
        (theirs,), peer = run_r(FLEXMIX, folder / "x.csv", folder / "labels.txt")
        note("flexmix", task, ours["log_likelihood"], theirs, seconds, peer)
    else:
        missing("flexmix", task)
    # lca counts all patterns there could be: few courses.
    taken, labels = kinds_of_students(random, students, 1, 10, 3, 1.5)
    other = folder / "few"
    other.mkdir()
    work = Work(program, other, taken, labels)
    ours, seconds = work.fit("--model", "nb", "--states", 3, "--pseudocount", 0, "--tolerance", 1e-13, "--iterations", 5000)
    task = f"3 latent classes, {students} students, 10 courses (3 starts of its own): log-likelihood"
    if has_r("e1071"):
        (theirs,), peer = run_r(LCA, other / "x.csv", 3)
        note("e1071 lca", task, ours["log_likelihood"], theirs, seconds, peer)
    else:
        missing("e1071 lca", task)


def gaussian(program, folder, students):
    random = np.random.default_rng(2)
    taken, labels = kinds_of_students(random, students, 1, 30, 4, 0.8)
    work = Work(program, folder, taken, labels)
    # Without a floor the density of -1/+1 has no bound, and mclust ends with NA: one step of both.
    ours, seconds = work.fit("--model", "gmm", "--states", 4, "--ridge", 1e-12, "--tolerance", 0, "--iterations", 1)
    task = f"4 full covariances, {students} students, 30 courses, one M and E step: log-density"
    if has_r("mclust"):
        (theirs,), peer = run_r(MCLUST, folder / "x.csv", folder / "labels.txt")
        note("mclust VVV", task, ours["trace"][0], theirs, seconds, peer)
    else:
        missing("mclust VVV", task)
    taken, labels = kinds_of_students(random, students, 1, 100, 5, 0.8)
    other = folder / "wide"
    other.mkdir()
    work = Work(program, other, taken, labels)
    ours, seconds = work.fit("--model", "gmm", "--states", 5, "--ridge", 0.01, "--tolerance", 0, "--iterations", 20)
    script = """
import sys, numpy, warnings
from sklearn.mixture import GaussianMixture
warnings.simplefilter("ignore")
x = 2 * numpy.loadtxt(sys.argv[1], delimiter=",") - 1
z = numpy.eye(5)[numpy.loadtxt(sys.argv[2]).astype(int) - 1]
mixture = GaussianMixture(5, reg_covar=0.01, max_iter=20, tol=0, init_params="random")
mixture._initialize_parameters = lambda X, random_state: mixture._initialize(X, z)
mixture.fit(x)
print(repr(mixture.score(x) * len(x)))
"""
    try:
        out, peer = timed(["/usr/bin/python3", "-c", script, other / "x.csv", other / "labels.txt"])
    except SystemExit:
        return missing("scikit-learn", "Gaussian mixtures")
    note("scikit-learn", f"5 full covariances, {students} students, 100 courses, 20 iterations: log-density", ours["log_likelihood"],
         float(out), seconds, peer)


def chain(program, folder, students):
    random = np.random.default_rng(3)
    periods, courses, kinds, iterations = 4, 8, 3, 150
    taken, labels = kinds_of_students(random, students, periods, courses, kinds, 1.2)
    work = Work(program, folder, taken, labels)
    ours, seconds = work.fit("--model", "hmm", "--states", kinds, "--pseudocount", 0, "--tolerance", 0, "--iterations", iterations)
    task = f"hidden Markov model, 3 states, {students} students, 4 periods, 8 courses, {iterations} iterations: log-likelihood"
    try:
        import pomegranate as pg
    except ImportError:
        return missing("pomegranate", task)
    first = np.array([(labels[:, 0] == k).mean() for k in range(kinds)])
    steps = np.array([[((labels[:, :-1] == a) & (labels[:, 1:] == b)).sum() for b in range(kinds)] for a in range(kinds)], float)
    steps /= steps.sum(axis=1, keepdims=True)
    shares = np.array([taken[labels == k].mean(axis=0) for k in range(kinds)])
    begin = time.process_time()
    model = pg.HiddenMarkovModel()
    states = [pg.State(pg.IndependentComponentsDistribution([pg.BernoulliDistribution(p) for p in shares[k]]), name=str(k)) for k in range(kinds)]
    model.add_states(states)
    for a in range(kinds):
        model.add_transition(model.start, states[a], first[a])
        for b in range(kinds):
            model.add_transition(states[a], states[b], steps[a, b])
    model.bake()
    rows = [taken[s].astype(float) for s in range(students)]
    start = sum(model.log_probability(row) for row in rows)
    model.fit(rows, max_iterations=iterations, stop_threshold=-1e300, edge_inertia=0, distribution_inertia=0, n_jobs=1)
    found = sum(model.log_probability(row) for row in rows)
    print(f"pomegranate at the common start: ours {ours['trace'][0]:.9g}, theirs {start:.9g}")
    note("pomegranate", task, ours["log_likelihood"], found, seconds, time.process_time() - begin)


def orthant(program, folder, _):
    random = np.random.default_rng(4)
    d = 60
    loadings = random.normal(0, 0.6, size=(d, 3))
    sigma = loadings @ loadings.T + np.eye(d)
    mu = random.normal(-0.8, 0.5, size=d)
    x = (random.multivariate_normal(mu, sigma) > 0).astype(int)
    (folder / "case.json").write_text(json.dumps({"name": "peer", "d": d, "x": x.tolist(), "mu": mu.tolist(), "Sigma": sigma.ravel().tolist()}))
    out, seconds = timed([program, "orthant", folder / "case.json", "--json", "--threads", 1])
    answer = json.loads(out)
    task = f"an orthant of {d} courses: log-probability"
    if not has_r("mvtnorm"):
        return missing("mvtnorm", task)
    np.savetxt(folder / "sigma.csv", sigma, delimiter=",")
    np.savetxt(folder / "mu.csv", np.stack([mu, x], axis=1), delimiter=",")
    (theirs, error), peer = run_r("""
suppressMessages(library(mvtnorm)); a <- commandArgs(TRUE); set.seed(1)
S <- unname(as.matrix(read.csv(a[1], header = FALSE))); m <- as.matrix(read.csv(a[2], header = FALSE)); x <- m[, 2]
p <- pmvnorm(ifelse(x > 0, 0, -Inf), ifelse(x > 0, Inf, 0), m[, 1], sigma = S,
             algorithm = GenzBretz(maxpts = 1e6, abseps = 0, releps = 1e-3))
cat(format(log(as.numeric(p)), digits = 15), attr(p, "error") / as.numeric(p))
""", folder / "sigma.csv", folder / "mu.csv")
    note("mvtnorm", f"{task} (standard errors {answer['standard_error'] or 0:.1g}, {error / 3.5:.1g})", answer["log_probability"], theirs,
         seconds, peer)


def middle(program, folder, students):
    timed([program, "simulate", "--out", folder / "uni", "--students", students, "--courses", 60, "--quiet"])
    timed([program, "prepare", folder / "uni" / "enrollments.csv", "--courses", folder / "uni" / "courses.csv", "--out", folder / "uni.cohort", "--quiet"])
    script = pathlib.Path(__file__).parent / "middle_year.py"
    out, _ = timed(["/usr/bin/python3", script, folder / "uni.cohort", "--program", program, "--seeds", 1, "--boosting", "no"])
    found = {}
    for line in out.splitlines():
        for name in ("logistic regression", "hct"):
            if line.startswith(f"split 1 {name}"):
                words = line.split()
                found[name] = [float(words[words.index(what) + 1]) for what in ("accuracy", "cross-entropy")]
    for i, what in enumerate(("accuracy", "cross-entropy")):
        ours, theirs = found["hct"][i], found["logistic regression"][i]
        ROWS.append(("scikit-learn, a classifier a course", f"middle year, {students} students, 60 courses: {what}", f"{ours:.4f}",
                     f"{theirs:.4f}", f"{ours - theirs:+.4f}", "", "", ""))
        print("  ".join(ROWS[-1]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/bin/desirepath")
    parser.add_argument("--tasks", default="classes,gaussian,chain,orthant,middle")
    parser.add_argument("--students", type=int, default=2000)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    for task in options.tasks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            globals()[task](program, pathlib.Path(folder), options.students)
    print("\n| peer | what | ours | theirs | difference | CPU s, ours | CPU s, theirs | ratio |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for row in ROWS:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
