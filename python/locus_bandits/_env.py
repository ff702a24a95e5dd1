"""Problems as gymnasium environments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._problem import Problem

if TYPE_CHECKING:
    import gymnasium


def make_env(
    problem: str | Problem, *, seed: int = 0, trial: int = 0, steps: int = 2000, data: str | os.PathLike[str] | None = None
) -> gymnasium.Env[Any, Any]:
    """A problem as a gymnasium environment: a step chooses an action for the context that was observed last.

    An episode has the rounds that ``bench`` plays for the same seed, number of the trial and steps; every further ``reset``
    begins the next trial. ``reset(seed=…)`` begins trial 0 of another seed. ``info["regret"]`` is the regret of the step.
    """
    try:
        from ._gymnasium import BanditEnv
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        raise ModuleNotFoundError(
            "make_env needs gymnasium: pip install 'locus-bandits[gymnasium]'", name="gymnasium"
        ) from None
    loaded = problem if isinstance(problem, Problem) else Problem(problem, data=data)
    return BanditEnv(loaded, seed=seed, trial=trial, steps=steps)
