"""Runs the peers and ours on the same rounds, and prints the table. `run` calls it in an environment of its own."""

import argparse
import csv
import io
import math
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

# Before NumPy is loaded: one thread each, so that CPU times are comparable.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import locus_bandits as lb
from rivals import RIVALS

PROBLEMS = ["mushroom", "financial", "statlog", "jester", "wheel", "covertype", "adult", "census-10k"]
OURS = ["locus", "lin-pool", "lu-gauss", "lin-full-post", "uniform"]
STEPS = 2000
# Trials that neither ours nor the peers were tuned on.
FIRST_TRIAL, TRIALS = 250, 10


def main():
    parser = argparse.ArgumentParser(prog="bench/rivals/run", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="the folder of the data files (default: LOCUS_DATA)")
    parser.add_argument("--out", metavar="DIR", default="runs/rivals", help="the folder of the run (default: runs/rivals)")
    parser.add_argument("--policies", metavar="NAMES", help="only these policies, separated by commas")
    parser.add_argument("--table", action="store_true", help="print the table of --out, and run nothing")
    parser.add_argument("--quick", action="store_true", help="run one short trial of one peer, on a problem without a file")
    arguments = parser.parse_args()
    if arguments.quick:
        with tempfile.TemporaryDirectory() as folder:
            quick(folder)
        return
    known = [*OURS, *RIVALS]
    names = arguments.policies.split(",") if arguments.policies else known
    for name in names:
        if name not in known:
            parser.error(f"--policies has {name!r}, expected some of {', '.join(known)}")
    if not arguments.table:
        play(names, arguments.out, arguments.data)
    print(markdown(lb.Run(arguments.out), names))


def play(names, out, data):
    """Runs the trials that are missing: ours, then each peer by itself."""
    problems = [lb.Problem(name, data=data) for name in PROBLEMS]
    ours = [name for name in names if name in OURS]
    for group in [ours, *([name] for name in names if name in RIVALS)]:
        if group:
            print(", ".join(group), file=sys.stderr, flush=True)
            policies = [peer(name) if name in RIVALS else name for name in group]
            lb.bench(problems, policies, trials=TRIALS, first_trial=FIRST_TRIAL, steps=STEPS, seed=0, out=out, jobs=1)


def quick(folder):
    """Ends with an error if the trial fails."""
    name = "vw-squarecb"
    run = lb.bench(["wheel"], ["uniform", peer(name)], trials=1, steps=200, out=folder, progress=False)
    errors = [error for error in run.trials["error"] if error]
    if errors:
        sys.exit(f"error: {errors[0]}")
    print(markdown(run, [name, "uniform"]))


def peer(name):
    factory, distribution = RIVALS[name]
    return lb.external(factory, name=name, version=version(distribution))


def markdown(run, names):
    """Normalized cumulative regret ± standard error, and CPU µs a step: the median over trials, averaged over problems."""
    regret, runtime = (cells(run.table(metric)) for metric in ("cumulative", "runtime"))
    problems = [name for name in PROBLEMS if any(problem == name for _, problem in regret)]
    names = [name for name in names if any(policy == name for policy, _ in regret)]
    lines = [["policy", "mean regret", *problems, "CPU µs a step"], ["---", *["---:"] * (len(problems) + 2)]]
    for name in sorted(names, key=lambda name: (value(regret, name, "mean_value", "mean"), name)):
        seconds = [value(runtime, name, problem, "median") for problem in problems]
        step = sum(seconds) / len(seconds) / run.trials["steps"][0] * 1e6
        time = "–" if math.isinf(step) else f"{step:.0f}" if step >= 10 else f"{step:.1f}"
        lines.append([f"`{name}`", *(with_error(regret, name, column) for column in ["mean_value", *problems]), time])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(table):
    return {(row["policy"], row["problem"]): row for row in csv.DictReader(io.StringIO(table.to_csv()))}


def value(table, policy, problem, column):
    """A number of a table, infinite where there is none."""
    return float(table.get((policy, problem), {}).get(column) or math.inf)


def with_error(table, policy, problem):
    mean, error = (value(table, policy, problem, column) for column in ("mean", "se"))
    return "–" if math.isinf(mean) else f"{mean:.1f}" if math.isinf(error) else f"{mean:.1f} ± {error:.1f}"


if __name__ == "__main__":
    main()
