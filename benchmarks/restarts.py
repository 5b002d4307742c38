#!/usr/bin/env python3
"""How often a start finds the best there is: random starts with and without what is known beforehand.

    benchmarks/restarts.py COHORT [--program build/release/bin/desirepath] [--states 4] [--restarts 40] [--seed 1]

The paper says of the contextual model that "enforcing this structure allows us to incorporate priors that significantly improve the chances
of training a plausible model". Compared, with Bernoulli states, from random starts: `cmm` with K states a period; `hmm` with K times T states,
which holds the `cmm` as a special case but has to find the order of periods by itself; each with the defaults' pseudocounts and with none. A
start is a success when its objective (log-likelihood, and log-prior where there are pseudocounts) is within 0.01 % of the best start of its kind. `in one period`: of the students of a state, the share in the period
where it has most, weighted by students: 1 where every state belongs to one period, as in a `cmm`. Last, the start that is the default.
"""

import argparse
import csv
import io
import json
import pathlib
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort")
    parser.add_argument("--program", default="build/release/bin/desirepath")
    parser.add_argument("--states", default=4, type=int)
    parser.add_argument("--restarts", default=40, type=int)
    parser.add_argument("--seed", default=1, type=int)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        model = str(pathlib.Path(folder) / "m.desirepath")

        def run(*arguments):
            return subprocess.run([options.program, *map(str, arguments), "--seed", str(options.seed)], check=True, capture_output=True,
                                  text=True).stdout

        periods = json.loads(run("describe", options.cohort, "--json"))["periods"]
        periods = periods if isinstance(periods, int) else len(periods)
        print(f"{'model':6} {'K':>4} {'pseudocounts':12} {'start':8} {'within 0.01 %':>14} {'best':>11} {'median below':>13} {'worst below':>12} {'in one period':>14}")
        for name, states in (("cmm", options.states), ("hmm", options.states * periods)):
            for prior in (True, False):
                for start in ("random", "default"):
                    more = [] if prior else ["--pseudocount", 0, "--state-pseudocount", 0]
                    if start == "random":
                        more += ["--start", "random"]
                    fit = json.loads(run("fit", options.cohort, "--model", name, "--emission", "bernoulli", "--states", states, "--restarts",
                                         options.restarts if start == "random" else 1, *more, "--out", model, "--force", "--json", "--quiet"))
                    scores = sorted((r["objective"] for r in fit["restarts"]), reverse=True)
                    best = scores[0]
                    near = sum(score > best - 1e-4 * abs(best) for score in scores)
                    rows = list(csv.DictReader(io.StringIO(run("states", model, options.cohort, "--csv"))))
                    weight = {}
                    for row in rows:
                        key = row["state"], row["period"]
                        weight[key] = weight.get(key, 0) + float(row["probability"])
                    of_state = {}
                    for (state, _), value in weight.items():
                        of_state.setdefault(state, []).append(value)
                    staged = sum(max(values) for values in of_state.values()) / sum(weight.values()) if name == "hmm" else 1.0
                    print(f"{name:6} {states:4d} {'default' if prior else 'none':12} {start:8} {near:6d} of {len(scores):3d} {best:12.1f} "
                          f"{best - scores[len(scores) // 2]:13.1f} {best - scores[-1]:12.1f} {staged:14.3f}", flush=True)


if __name__ == "__main__":
    main()
