from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, final, overload

from typing_extensions import Self, disjoint_base

import numpy as np
import numpy.typing as npt

from ._policy import PolicyInfo
from ._problem import ProblemInfo

__all__ = [
    "BUILD",
    "Decision",
    "FitReport",
    "NumericError",
    "PolicyBase",
    "ProblemBase",
    "Snapshot",
    "check_seed",
    "main",
    "play_trial",
    "policies",
    "problems",
    "report",
    "run",
    "suite",
    "table",
    "trials",
]

BUILD: str

class NumericError(ArithmeticError): ...

@final
class Decision:
    def __new__(cls, action: int, propensity: float | None, round: int) -> Self: ...
    def __hash__(self) -> int: ...
    def __getnewargs__(self) -> tuple[int, float | None, int]: ...
    @property
    def action(self) -> int: ...
    @property
    def propensity(self) -> float | None: ...
    @property
    def round(self) -> int: ...

@final
class FitReport:
    def __new__(cls, minibatches: int, mean_loss: float | None, interventions: int) -> Self: ...
    def __getnewargs__(self) -> tuple[int, float | None, int]: ...
    @property
    def minibatches(self) -> int: ...
    @property
    def mean_loss(self) -> float | None: ...
    @property
    def interventions(self) -> int: ...

@disjoint_base
class PolicyBase:
    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self: ...
    def _build(self, text: str, n_features: int, n_actions: int, n_action_features: int, seed: int) -> None: ...
    def _load(self, bytes: bytes) -> None: ...
    def _described(self) -> tuple[str, int, int, int, int]: ...
    @property
    def name(self) -> str: ...
    @property
    def n_observed(self) -> int: ...
    @property
    def next_round(self) -> int: ...
    def choose(
        self,
        x: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | None = None,
        propensity: bool = True,
        round: int | None = None,
    ) -> Decision: ...
    @overload
    def choose_many(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
        propensity: Literal[True] = True,
        rounds: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    @overload
    def choose_many(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
        propensity: bool,
        rounds: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64] | None]: ...
    def learn(
        self,
        X: npt.ArrayLike,
        actions: npt.ArrayLike,
        rewards: npt.ArrayLike,
        *,
        rounds: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        action_features: npt.ArrayLike | None = None,
    ) -> FitReport: ...
    def train(self) -> FitReport: ...
    def add_action(self) -> int: ...
    def retire_action(self, action: int) -> None: ...
    def restore_action(self, action: int) -> None: ...
    @property
    def retired_actions(self) -> list[int]: ...
    def predict(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    ) -> npt.NDArray[np.int64]: ...
    def predict_proba(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    ) -> npt.NDArray[np.float64]: ...
    def sample_rewards(self, X: npt.ArrayLike, *, round: int | None = None) -> npt.NDArray[np.float64]: ...
    def snapshot(self) -> Snapshot: ...
    def to_bytes(self) -> bytes: ...

@final
class Snapshot:
    @property
    def name(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_actions(self) -> int: ...
    @property
    def n_action_features(self) -> int: ...
    @property
    def next_round(self) -> int: ...
    def choose(
        self,
        x: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | None = None,
        propensity: bool = True,
        round: int | None = None,
    ) -> Decision: ...
    @overload
    def choose_many(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
        propensity: Literal[True] = True,
        rounds: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]: ...
    @overload
    def choose_many(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
        propensity: bool,
        rounds: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64] | None]: ...
    def predict(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    ) -> npt.NDArray[np.int64]: ...
    def predict_proba(
        self,
        X: npt.ArrayLike,
        *,
        allowed: npt.ArrayLike | None = None,
        candidates: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    ) -> npt.NDArray[np.float64]: ...
    def sample_rewards(self, X: npt.ArrayLike, *, round: int | None = None) -> npt.NDArray[np.float64]: ...

@final
class ProblemBase:
    @staticmethod
    def _load(name: str, data: str | PathLike[str] | None) -> ProblemBase: ...
    @staticmethod
    def _from_rounds(
        name: str, contexts: npt.ArrayLike, rewards: npt.ArrayLike, optimal: npt.ArrayLike | None
    ) -> ProblemBase: ...
    @staticmethod
    def _from_labels(name: str, features: npt.ArrayLike, labels: list[str]) -> ProblemBase: ...
    @staticmethod
    def _from_csv(
        path: str | PathLike[str],
        label: str,
        ignore: list[str],
        categorical: list[str],
        numeric: list[str],
        missing: str,
        delimiter: str,
    ) -> ProblemBase: ...
    @staticmethod
    def _from_npz(path: str | PathLike[str]) -> ProblemBase: ...
    @property
    def name(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_actions(self) -> int: ...
    @property
    def n_action_features(self) -> int: ...
    @property
    def max_steps(self) -> int | None: ...
    @property
    def notes(self) -> list[str]: ...
    def rounds(
        self, steps: int = 2000, *, seed: int = 0, trial: int = 0
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def candidates(self, steps: int = 2000, *, seed: int = 0, trial: int = 0) -> npt.NDArray[np.float32]: ...
    def policy_seed(self, policy: str, *, seed: int = 0, trial: int = 0) -> int: ...

def policies() -> list[PolicyInfo]: ...
def problems() -> list[ProblemInfo]: ...
def check_seed(seed: object) -> int: ...
def run(asked: dict[str, Any]) -> dict[str, Any]: ...
def play_trial(name: str, factory: Callable[..., Any], rounds: tuple[Any, Any, Any], seed: int, propensities: bool) -> object: ...
def suite(name: str, data: str | PathLike[str] | None) -> dict[str, Any]: ...
def trials(out: str | PathLike[str]) -> tuple[dict[str, Any], list[str]]: ...
def table(
    out: str | PathLike[str], metric: str, format: str, policies: list[str], problems: list[str], against: str | None
) -> str: ...
def report(outs: Sequence[str | PathLike[str]], output: str | PathLike[str] | None) -> tuple[Path, list[Path], list[str]]: ...
def main(words: list[str]) -> int: ...
