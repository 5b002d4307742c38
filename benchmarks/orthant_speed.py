#!/usr/bin/python3
"""Orthant probabilities beside R's mvtnorm and SciPy, in one run: CPU time at equal accuracy.

    benchmarks/orthant_speed.py [--driver build/release/bin/orthant_speed] [--sizes 20,100,500] [--runs 5]

Random problems of two families: `factor` (five factors, few of many courses taken) and `full` (an autoregressive
covariance mixed with a Wishart one). For each the answer is found by our estimator with many points (its standard error
is far below the errors compared). The peers run with the number of points given; we run with the fewest points, in
powers of two, whose error over several seeds is no larger. Errors are root mean squares of log P over the seeds.
Needs python3-numpy, python3-scipy, r-base-core, r-cran-mvtnorm.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from scipy.stats import multivariate_normal, norm

R_SCRIPT = """
suppressMessages(library(mvtnorm))
a <- commandArgs(TRUE)
d <- as.integer(a[2]); runs <- as.integer(a[3]); maxpts <- as.integer(a[4])
v <- readBin(a[1], "double", d + d * d + d)
mu <- v[1:d]; S <- matrix(v[(d + 1):(d + d * d)], d); x <- v[(d + d * d + 1):(d + d * d + d)]
lower <- ifelse(x > 0, 0, -Inf); upper <- ifelse(x > 0, Inf, 0)
for (r in 1:runs) {
  set.seed(r)
  t <- system.time(p <- pmvnorm(lower, upper, mu, sigma = S,
                                algorithm = GenzBretz(maxpts = maxpts, abseps = 0, releps = 1e-6)))
  cat(format(log(as.numeric(p)), digits = 17), t[[1]] + t[[2]], "\\n")
}
"""


def problem(family, d, rng):
    if family == "factor":
        q = 5
        share = 1 / (np.arange(d) + 3.0)
        share *= min(6.0, 0.2 * d) / share.sum()
        loadings = 0.6 * rng.standard_normal((d, q))
        mu = norm.ppf(np.minimum(share, 0.8)) * np.sqrt(1 + (loadings ** 2).sum(1))
        noise = np.ones(d)
        x = (mu + loadings @ rng.standard_normal(q) + rng.standard_normal(d) > 0).astype(int)
        case = {"mu": mu.tolist(), "q": q, "Lambda": loadings.ravel().tolist(), "D": noise.tolist()}
        sigma = loadings @ loadings.T + np.diag(noise)
    else:
        lags = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
        w = rng.standard_normal((2 * d, d))
        w = w.T @ w
        scale = 1 / np.sqrt(np.diag(w))
        sigma = 0.7 * 0.6 ** lags + 0.3 * w * np.outer(scale, scale)
        mu = -1.0 + 0.5 * rng.standard_normal(d)
        x = (rng.multivariate_normal(mu, sigma) > 0).astype(int)
        case = {"mu": mu.tolist(), "Sigma": sigma.ravel().tolist()}
    case.update(name=f"{family}_d{d}", d=d, x=x.tolist())
    return case, mu, sigma, x


def ours(driver, path, estimator, samples, runs):
    out = subprocess.run([driver, path, estimator, str(samples), str(runs)], check=True, capture_output=True, text=True)
    rows = np.array([[float(v) for v in line.split()] for line in out.stdout.splitlines()])
    return rows[:, 0], rows[:, 1], rows[:, 2]


def rms(values, truth):
    errors = np.asarray(values) - truth
    return math.inf if not np.all(np.isfinite(errors)) else float(np.sqrt(np.mean(errors ** 2)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--driver", default=str(root / "build/release/bin/orthant_speed"))
    parser.add_argument("--sizes", default="20,50,100,200,500,1000")
    parser.add_argument("--families", default="factor,full")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--points", type=int, default=25000, help="maxpts of mvtnorm and SciPy")
    options = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="orthant-speed-"))
    (work / "run.R").write_text(R_SCRIPT)
    print("| family | d | log P | mvtnorm error | CPU s | SciPy error | CPU s | ours | points | error | CPU s "
          "| mvtnorm / ours | SciPy / ours |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for family in options.families.split(","):
        estimator = {"factor": "factor", "full": "tilted"}[family]
        for d in [int(s) for s in options.sizes.split(",")]:
            case, mu, sigma, x = problem(family, d, np.random.default_rng(1000 + d))
            path = work / f"{case['name']}.json"
            path.write_text(json.dumps(case))
            reference, errors, _ = ours(options.driver, path, estimator, 65536 if d <= 200 else 32768, 1)
            truth = reference[0]

            binary = work / "problem.bin"
            np.concatenate([mu, sigma.ravel(), x.astype(float)]).tofile(binary)
            out = subprocess.run(["Rscript", work / "run.R", binary, str(d), str(options.runs), str(options.points)],
                                 check=True, capture_output=True, text=True)
            rows = np.array([[float(v) for v in line.split()] for line in out.stdout.splitlines()])
            mvtnorm_error, mvtnorm_seconds = rms(rows[:, 0], truth), rows[:, 1].mean()

            sign = 2 * x - 1
            scipy_values, scipy_seconds = [], []
            for run in range(options.runs if d <= 500 else 1):
                begin = time.process_time()
                p = multivariate_normal.cdf(sign * mu, np.zeros(d), sigma * np.outer(sign, sign),
                                            maxpts=options.points, abseps=0, releps=1e-6)
                scipy_seconds.append(time.process_time() - begin)
                scipy_values.append(math.log(p) if p > 0 else -math.inf)
            scipy_error = rms(scipy_values, truth)

            def until(target):
                """The fewest points whose error is no larger than the target."""
                samples = 8
                while True:
                    values, _, seconds = ours(options.driver, path, estimator, samples, 8)
                    found = rms(values, truth)
                    if found <= target or samples >= 16384:
                        return samples, found, float(np.median(seconds))
                    samples *= 2

            samples, our_error, our_seconds = until(mvtnorm_error)
            against_scipy = until(scipy_error)[2] if math.isfinite(scipy_error) else math.inf
            text = lambda value: f"{value:.1e}" if math.isfinite(value) else "fails"
            print(f"| {family} | {d} | {truth:.2f} | {text(mvtnorm_error)} | {mvtnorm_seconds:.3f} | {text(scipy_error)} "
                  f"| {np.mean(scipy_seconds):.3f} | {estimator} | 8 x {samples} | {our_error:.1e} | {our_seconds:.5f} "
                  f"| {mvtnorm_seconds / our_seconds:.0f} "
                  f"| {f'{np.mean(scipy_seconds) / against_scipy:.0f}' if math.isfinite(scipy_error) else '-'} |",
                  flush=True)
            if errors[0] > 0.3 * min(mvtnorm_error, our_error):
                print(f"note: the reference's own standard error is {errors[0]:.1e}", file=sys.stderr)


if __name__ == "__main__":
    main()
