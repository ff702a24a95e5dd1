"""The environment itself, imported where gymnasium is installed."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from ._problem import Problem

Observation = npt.NDArray[np.float32]


class BanditEnv(gymnasium.Env[Observation, np.int64]):
    """Contexts are observations, and an episode ends when its rounds do."""

    def __init__(self, problem: Problem, *, seed: int, trial: int, steps: int) -> None:
        if problem.n_action_features > 0:
            raise ValueError(
                f"the actions of {problem.name} have features and change every round, which an environment cannot show; "
                "use its rounds and candidates"
            )
        self.problem = problem
        self.steps = steps if problem.max_steps is None else min(steps, problem.max_steps)
        self._seed, self._next_trial = seed, trial
        self._t = self.steps
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (problem.n_features,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(problem.n_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins the next trial, or trial 0 of ``seed``."""
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._next_trial = seed, 0
        trial = self._next_trial
        self._contexts, self._rewards, self._best = self.problem.rounds(self.steps, seed=self._seed, trial=trial)
        self._next_trial += 1
        self._t = 0
        return self._contexts[0].copy(), {"trial": trial}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes an action for the context that was observed last."""
        if self._t >= self.steps:
            raise RuntimeError("the episode has ended; call reset first")
        if not self.action_space.contains(action):
            raise ValueError(f"action is {action!r}, expected an integer from 0 to {self.problem.n_actions - 1}")
        reward = float(self._rewards[self._t, int(action)])
        info = {"regret": float(self._best[self._t]) - reward}
        self._t += 1
        is_over = self._t == self.steps
        return self._contexts[self._t - int(is_over)].copy(), reward, False, is_over, info
