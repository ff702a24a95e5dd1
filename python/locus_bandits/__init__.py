"""Contextual bandits: Thompson sampling via local uncertainty, 20 other policies, and a reproducible benchmark.

>>> import numpy as np
>>> import locus_bandits as lb
>>> policy = lb.Policy("lin-full-post", n_features=3, n_actions=2, seed=7)
>>> decision = policy.choose(np.array([1.0, 0.5, -0.5]))
>>> report = policy.learn([1.0, 0.5, -0.5], decision.action, 1.0)

``policies()`` lists the policies and their settings; each has a class of its own, such as ``LuGauss``. ``bench`` compares
policies, yours among them, on the problems that ``problems()`` lists or on your own data.
"""

from . import _policies
from ._bench import bench, external
from ._core import BUILD as __version__
from ._core import Decision, FitReport, NumericError, Snapshot
from ._env import make_env
from ._policies import *  # noqa: F403
from ._policy import Policy, load, policies
from ._problem import Problem, problems
from ._run import Comparison, Figure, Report, Run, Table

__all__ = [
    "Comparison",
    "Decision",
    "Figure",
    "FitReport",
    "NumericError",
    "Policy",
    "Problem",
    "Report",
    "Run",
    "Snapshot",
    "Table",
    "__version__",
    "bench",
    "external",
    "load",
    "make_env",
    "policies",
    "problems",
]
__all__ += _policies.__all__
