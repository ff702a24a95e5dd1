"""What Python adds to a decision, and how long a trial takes beside other libraries.

    maturin develop --release -F timing && python benchmarks/overhead.py
    pip install mabwiser contextualbandits && python benchmarks/overhead.py --data DIR

Times are taken by turns in one process, and the fastest turn counts. Pin it to one core of an idle machine:
``taskset -c 0``. With ``--data`` a trial of ``lin-full-post`` on Statlog, driven step by step from Python, is compared with
Thompson sampling of MABWiser and contextualbandits on the same rounds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import locus_bandits as lb
from locus_bandits import _core

TURNS = 30


def fastest(calls: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The fastest of several turns, the calls by turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(TURNS):
        for name, call in calls.items():
            best[name] = min(best[name], call())
    return best


def trained(policy: str, n_features: int, n_actions: int) -> tuple[lb.Policy, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, n_features)).astype(np.float32)
    built = lb.Policy(policy, n_features=n_features, n_actions=n_actions, seed=1)
    built.learn(X, np.arange(1000) % n_actions, rng.normal(size=1000))
    return built, X


def overhead(policy: str, n_features: int, n_actions: int, propensity: bool) -> None:
    """One line for a policy and a size."""
    built, X = trained(policy, n_features, n_actions)
    contexts = list(X)

    def one_by_one() -> float:
        choose = built.choose
        start = time.perf_counter()
        for context in contexts:
            choose(context, propensity=propensity)
        return time.perf_counter() - start

    def batch() -> float:
        start = time.perf_counter()
        built.choose_many(X, propensity=propensity)
        return time.perf_counter() - start

    times = fastest(
        {
            "python": one_by_one,
            "rust": lambda: _core.time_choose(built, X, propensity, 5000),  # type: ignore[attr-defined]
            "python batch": batch,
            "rust batch": lambda: _core.time_choose_many(built, X, propensity, 5000),  # type: ignore[attr-defined]
        }
    )
    micro = {name: 1e6 * seconds / len(X) for name, seconds in times.items()}
    added = micro["python"] - micro["rust"]
    ratio = times["python batch"] / times["rust batch"]
    print(
        f"{policy:<15} C {n_features:>3} A {n_actions:>2} {'propensity' if propensity else 'action    '}"
        f"  {micro['rust']:>7.2f}  {micro['python']:>7.2f}  {added:>+6.2f}"
        f"   {micro['rust batch']:>7.2f}  {micro['python batch']:>7.2f}  {ratio:>5.2f} x"
    )


def trial_of_ours(problem: lb.Problem, contexts: Any, rewards: Any) -> float:
    policy = lb.Policy("lin-full-post", n_features=problem.n_features, n_actions=problem.n_actions, seed=1)
    start = time.perf_counter()
    for t, context in enumerate(contexts):
        action = policy.choose(context, propensity=False).action
        policy.learn(context, action, rewards[t, action])
    return time.perf_counter() - start


def trial_of_mabwiser(problem: lb.Problem, contexts: Any, rewards: Any) -> float:
    from mabwiser.mab import MAB, LearningPolicy

    arms = list(range(problem.n_actions))
    mab = MAB(arms, LearningPolicy.LinTS(alpha=0.1), seed=1)
    start = time.perf_counter()
    for t, context in enumerate(contexts):
        row = context[None, :]
        action = t % problem.n_actions if t < 2 * problem.n_actions else mab.predict(row)
        (mab.fit if t == 0 else mab.partial_fit)([action], [rewards[t, action]], row)
    return time.perf_counter() - start


def trial_of_contextualbandits(problem: lb.Problem, contexts: Any, rewards: Any) -> float:
    from contextualbandits.online import LinTS

    policy = LinTS(problem.n_actions, v_sq=0.1, random_state=1)
    start = time.perf_counter()
    for t, context in enumerate(contexts):
        row = context[None, :].astype(np.float64)
        action = t % problem.n_actions if t < 2 * problem.n_actions else int(policy.predict(row)[0])
        policy.partial_fit(row, np.array([action]), np.array([rewards[t, action]]))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder of the benchmark's data files")
    data = parser.parse_args().data
    if hasattr(_core, "time_choose"):
        print(f"microseconds a decision, fastest of {TURNS} turns of 1000 decisions")
        print(f"{'':<42}   {'Rust':>7}  {'Python':>7}  {'added':>6}   {'batch':>7}  {'Python':>7}  {'ratio':>7}")
        for propensity in (False, True):
            for policy in ("uniform", "lin-full-post", "lin-pool", "lu-gauss[minibatches=2]", "locus[minibatches=2]"):
                for shape in ((7, 7), (54, 7), (117, 2)):
                    overhead(policy, *shape, propensity)
    else:
        print("without `maturin develop --release -F timing` the calls of Rust cannot be timed")
    if data:
        problem = lb.Problem("statlog", data=data)
        contexts, rewards, _ = problem.rounds(2000)
        trials = {"lin-full-post": trial_of_ours, "MABWiser LinTS": trial_of_mabwiser}
        trials["contextualbandits LinTS"] = trial_of_contextualbandits
        best = dict.fromkeys(trials, float("inf"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(3):
                for name, play in trials.items():
                    try:
                        best[name] = min(best[name], play(problem, contexts, rewards))
                    except ModuleNotFoundError as error:
                        print(f"{name}: {error}")
        print("\nseconds of a trial of 2000 steps on Statlog, fastest of 3")
        for name, seconds in best.items():
            print(f"{name:<25} {seconds:>8.3f}  {seconds / best['lin-full-post']:>7.1f} x")


if __name__ == "__main__":
    main()
