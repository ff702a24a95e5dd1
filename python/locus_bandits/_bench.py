"""Running the benchmark."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from . import _core, _progress
from ._policy import BasePolicy, Policy
from ._problem import Problem, whole
from ._run import Run
from ._worker import Pool


class PythonPolicy(Protocol):
    """What a policy of your own has to do. It is built with ``n_features``, ``n_actions`` and ``seed``, an integer below 2**32."""

    def choose(self, round: int, context: npt.NDArray[np.float32], /) -> int | tuple[int, float | None]:
        """The action for a context, or the action and the probability with which it was chosen."""

    def learn(self, round: int, context: npt.NDArray[np.float32], action: int, reward: float, /) -> object:
        """Takes the reward of an action."""


@dataclass(frozen=True)
class External:
    """A policy of your own, with the name that records and tables give it."""

    factory: Callable[..., PythonPolicy]
    name: str
    version: str | None


def external(
    factory: Callable[..., PythonPolicy], *, name: str | None = None, version: str | None = None, **settings: Any
) -> External:
    """A policy of your own under another name than its class has, or with settings.

    ``settings`` are passed to the factory in addition to ``n_features``, ``n_actions`` and ``seed``. ``version`` is recorded with
    each trial, and a resumed run warns if it differs; by default it is a checksum of the factory's source and settings.
    """
    found = name or getattr(factory, "__name__", None)
    if found is None:
        raise ValueError(f"{factory!r} has no name; give one with name=")
    if version is None:
        version = _fingerprint(factory, settings)
    return External(functools.partial(factory, **settings) if settings else factory, found, version)


def _fingerprint(factory: Callable[..., Any], settings: dict[str, Any]) -> str | None:
    """Changes with the source of the factory and with its settings; None where neither is known."""
    while isinstance(factory, functools.partial):
        settings = {**factory.keywords, **settings}
        factory = factory.func
    try:
        source = inspect.getsource(factory)
    except (OSError, TypeError):
        if not settings:
            return None
        source = ""
    text = source + "".join(f"\n{key}={settings[key]!r}" for key in sorted(settings))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


Item = str | type[BasePolicy] | BasePolicy | External | Callable[..., PythonPolicy]


def _policy(item: Item) -> str | External:
    if isinstance(item, (str, External)):
        return item
    cls = item if isinstance(item, type) else type(item)
    if issubclass(cls, BasePolicy):
        if cls is not Policy and "policy_id" not in vars(cls):
            raise ValueError(
                f"{cls.__name__} is a subclass of a policy, whose methods the benchmark would not call; name the policy by its "
                "text, or wrap it in a class with `choose(round, context)` and `learn(round, context, action, reward)`"
            )
        if isinstance(item, BasePolicy):
            if item.n_observed > 0:
                raise ValueError(f"{cls.__name__} has learned already, but trials begin untrained; name the policy by its text")
            return item.name
        if cls is Policy:
            raise ValueError("Policy does not say which policy is meant; name it by its text")
        return str(vars(cls)["policy_id"])
    if callable(item):
        return external(cast("Callable[..., PythonPolicy]", item))
    raise ValueError(f"found {item!r} among the policies, expected a text or a class with `choose` and `learn`")


def bench(
    problems: Sequence[str | Problem] | None = None,
    policies: Sequence[Item] | None = None,
    *,
    suite: str | os.PathLike[str] = "quick",
    trials: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
    first_trial: int | None = None,
    propensities: bool | None = None,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    processes: int = 1,
    progress: bool = True,
) -> Run:
    """Compares policies on problems, and returns the run. Trials that ``out`` already holds are not repeated.

    Problems are names, such as ``"wheel"``, and ``Problem`` objects; ``data`` is the folder of the data files. Policies are texts,
    such as ``"lu-gauss@paper"``, our classes, and classes of your own. What is not given comes from the ``suite``: ``"quick"``,
    ``"paper"`` or the path of a suite file. If problems are given, ``steps`` defaults to 2000, or to the rows of the smallest own
    problem.

    A policy of your own is a class, or another factory, that is called with ``n_features``, ``n_actions`` and ``seed``, an integer
    below 2**32. It has ``choose(round, context)``, which returns an action, or an action and its probability, and
    ``learn(round, context, action, reward)``. Its trials run after all others, one after another, or at the same time in
    ``processes`` processes. An exception ends its trial, which is recorded as failed; the next call tries it again.

    ``jobs`` threads run the trials of our policies, by default one for each core. ``out`` is the folder of the run; without it, a
    temporary folder vanishes with the returned object. Ctrl-C stops the run when the running policies return from their next call;
    finished trials are kept, and the same call resumes.
    """
    folder = data if data is not None else os.environ.get("LOCUS_DATA") or None
    described = _core.suite(os.fspath(suite), folder)
    if problems is None:
        loaded = [Problem(name, data=folder) for name in described["problems"]]
        loaded += [
            Problem.from_csv(path, label, ignore=i, categorical=c, numeric=n, missing=m, delimiter=d)
            for path, label, i, c, n, m, d in described["csv"]
        ]
        loaded += [Problem.from_npz(path) for path in described["npz"]]
        if described["note"]:
            warnings.warn(described["note"], stacklevel=2)
        default_steps: int = described["steps"]
    else:
        if isinstance(problems, (str, Problem)):
            raise ValueError("problems is one problem, expected a list of problems")
        loaded = [item if isinstance(item, Problem) else Problem(item, data=folder) for item in problems]
        rows = [problem.max_steps for problem in loaded if problem._is_own and problem.max_steps is not None]
        default_steps = min([2000, *rows]) if os.fspath(suite) == "quick" else described["steps"]
    for problem in loaded:
        for note in problem.notes:
            warnings.warn(note, stacklevel=2)
    if isinstance(policies, (str, type, External)):
        raise ValueError("policies is one policy, expected a list of policies")
    named = [_policy(item) for item in (described["policies"] if policies is None else policies)]
    externals = {item.name: item.factory for item in named if isinstance(item, External)}
    processes = whole("processes", processes, 1)
    bar = _progress.bar() if progress else None
    asked: dict[str, Any] = {
        "problems": [problem._problem for problem in loaded],
        "policies": [item if isinstance(item, str) else (item.name, item.version, item.factory) for item in named],
        "trials": whole("trials", described["trials"] if trials is None else trials, 1),
        "first_trial": whole("first_trial", described["first_trial"] if first_trial is None else first_trial, 0),
        "steps": whole("steps", default_steps if steps is None else steps, 1),
        "seed": described["seed"] if seed is None else _core.check_seed(seed),
        "propensities": bool(described["propensities"] if propensities is None else propensities),
        "jobs": (os.cpu_count() or 1) if jobs is None else whole("jobs", jobs, 1),
        # A policy may change the current folder.
        "out": None if out is None else Path(out).expanduser().absolute(),
        "suite": os.fspath(suite) if problems is None else "python",
        "command": ["locus_bandits.bench", *(Path(word).name for word in sys.argv[:1] if word)],
        "show": bar.show if bar else None,
        "processes": processes,
        "submit": None,
    }
    pool = Pool(processes, externals) if processes > 1 and externals else None
    asked["submit"] = pool.submit if pool else None
    if out is None:
        asked["out"] = Path(tempfile.mkdtemp(prefix="locus-"))
    try:
        outcome = _core.run(asked)
    except BaseException:
        if out is None:
            shutil.rmtree(asked["out"], ignore_errors=True)
        raise
    finally:
        if bar:
            bar.close()
        if pool:
            pool.close()
    if outcome["interrupted"]:
        if out is None:
            shutil.rmtree(asked["out"], ignore_errors=True)
            raise KeyboardInterrupt("the trials were in a temporary folder; give `out` to keep them")
        raise KeyboardInterrupt("finished trials are kept; the same call resumes the run")
    run = Run(asked["out"])
    if out is None:
        weakref.finalize(run, shutil.rmtree, asked["out"], ignore_errors=True)
    for warning in outcome["warnings"]:
        warnings.warn(warning, stacklevel=2)
    if outcome["failed"]:
        n = len(outcome["failed"])
        first = outcome["failed"][0]
        warnings.warn(f"{n} of the trials failed; the first is {first}; `trials` has all errors", stacklevel=2)
    return run
