"""Problems of the benchmark: built in, from arrays, from data frames and from files."""

from __future__ import annotations

import operator
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

import numpy as np
import numpy.typing as npt

from . import _core


def whole(name: str, value: Any, least: int) -> int:
    """The number, if it is a whole one and at least so high."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number < 2**63:
        raise ValueError(f"{name} is {value!r}, expected an integer of at least {least}")
    return number


class ProblemInfo(TypedDict):
    """A built-in problem before it is loaded."""

    id: str
    n_features: int
    n_actions: int
    n_action_features: int
    rows: int | None
    rewards: str
    file: str | None


def problems() -> list[ProblemInfo]:
    """Every built-in problem: its sizes, what its rewards are, and the data file that it needs."""
    return _core.problems()


class Problem:
    """A problem, loaded and ready for trials.

    ``Problem("wheel")`` is a built-in one; those with a data file look for it in the folder ``data``, or in the folder that the
    environment variable LOCUS_DATA names.
    """

    _problem: _core.ProblemBase
    _is_own: bool

    def __init__(self, name: str, *, data: str | os.PathLike[str] | None = None) -> None:
        folder = data if data is not None else os.environ.get("LOCUS_DATA") or None
        self._problem = _core.ProblemBase._load(name, folder)
        self._is_own = False

    @classmethod
    def _own(cls, core: _core.ProblemBase) -> Problem:
        problem = cls.__new__(cls)
        problem._problem = core
        problem._is_own = True
        return problem

    @classmethod
    def from_arrays(
        cls, X: npt.ArrayLike, rewards: npt.ArrayLike, *, optimal: npt.ArrayLike | None = None, name: str = "arrays"
    ) -> Problem:
        """Contexts (T, C) and the reward of every action (T, A), played in their order.

        Regret is measured against the best reward of each round, or against ``optimal`` (T,), its best expected reward. Without
        noise in the rewards the two are the same.
        """
        # A list shows its type as an array.
        best = None if optimal is None else np.asanyarray(optimal)
        return cls._own(_core.ProblemBase._from_rounds(name, X, rewards, best))

    @classmethod
    def from_labels(cls, X: npt.ArrayLike, labels: npt.ArrayLike, *, name: str = "labels") -> Problem:
        """Features (N, C) and one label a row: the actions are the labels, and naming the right one earns 1.

        Every trial draws rows without replacement and standardizes the features.
        """
        texts = []
        for row, label in enumerate(cast("Any", labels)):
            value = label.item() if isinstance(label, np.generic) else label
            # None, NaN, and what pandas and NumPy's masks have in their place.
            is_missing = value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType")
            if is_missing or (isinstance(value, float) and value != value):
                raise ValueError(f"the label of row {row} is missing; drop the row first")
            if isinstance(value, (np.ndarray, list, tuple)):
                raise ValueError("the labels have more than one dimension, expected one")
            texts.append(str(value))
        return cls._own(_core.ProblemBase._from_labels(name, X, texts))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str,
        *,
        name: str = "frame",
        ignore: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        missing: Literal["drop", "category", "median"] = "drop",
    ) -> Problem:
        """A pandas or polars data frame with a column of labels, read as the command reads a CSV file.

        Numeric columns are features, text columns become indicators of their values; identifiers and columns with too many
        values are ignored.
        """
        if not name or Path(name).name != name:
            raise ValueError(f"the problem is called {name!r}, expected a name without folders")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.csv"
            if hasattr(frame, "to_csv"):
                frame.to_csv(path, index=False)
            elif hasattr(frame, "write_csv"):
                frame.write_csv(path)
            else:
                raise ValueError(f"found {type(frame).__name__}, expected a pandas or polars data frame")
            return cls.from_csv(
                path, label, ignore=ignore, categorical=categorical, numeric=numeric, missing=missing
            )

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        label: str,
        *,
        ignore: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        missing: Literal["drop", "category", "median"] = "drop",
        delimiter: str = ",",
    ) -> Problem:
        """A CSV file with a header and a column of labels, as ``locus bench --csv`` reads it."""
        columns = list(ignore), list(categorical), list(numeric)
        return cls._own(_core.ProblemBase._from_csv(path, label, *columns, missing, delimiter))

    @classmethod
    def from_npz(cls, path: str | os.PathLike[str]) -> Problem:
        """An NPZ file with the arrays ``contexts``, ``rewards`` and perhaps ``optimal``, as ``locus bench --npz`` reads it."""
        return cls._own(_core.ProblemBase._from_npz(path))

    @property
    def name(self) -> str:
        """The name of the problem in records and tables."""
        return self._problem.name

    @property
    def n_features(self) -> int:
        """The number of features of a context."""
        return self._problem.n_features

    @property
    def n_actions(self) -> int:
        """The number of actions; 0 if actions have features."""
        return self._problem.n_actions

    @property
    def n_action_features(self) -> int:
        """The number of features of an action; 0 if actions are only numbered."""
        return self._problem.n_action_features

    @property
    def max_steps(self) -> int | None:
        """The most steps that a trial can have; None where rounds are generated."""
        return self._problem.max_steps

    @property
    def notes(self) -> list[str]:
        """Warnings about the data, such as dropped rows."""
        return self._problem.notes

    def rounds(
        self, steps: int = 2000, *, seed: int = 0, trial: int = 0
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The rounds that ``bench`` plays in a trial: contexts (T, C), rewards (T, A) and the best reward of each round (T,)."""
        return self._problem.rounds(whole("steps", steps, 1), seed=_core.check_seed(seed), trial=whole("trial", trial, 0))

    def candidates(self, steps: int = 2000, *, seed: int = 0, trial: int = 0) -> npt.NDArray[np.float32]:
        """The features of every candidate in the same rounds (T, K, F), for a problem whose actions have features."""
        return self._problem.candidates(
            whole("steps", steps, 1), seed=_core.check_seed(seed), trial=whole("trial", trial, 0)
        )

    def policy_seed(self, policy: str, *, seed: int = 0, trial: int = 0) -> int:
        """The seed that ``bench`` gives a policy of ours in a trial: with it and ``rounds``, a trial can be replayed step by step."""
        return self._problem.policy_seed(policy, seed=_core.check_seed(seed), trial=whole("trial", trial, 0))

    def __repr__(self) -> str:
        return repr(self._problem)
