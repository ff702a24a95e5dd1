"""Contextual bandits: Thompson sampling via local uncertainty, 19 other policies, and a reproducible benchmark.

>>> import numpy as np
>>> import locus_bandits as lb
>>> policy = lb.Policy("lin-full-post", n_features=3, n_actions=2, seed=7)
>>> decision = policy.choose(np.array([1.0, 0.5, -0.5]))
>>> report = policy.learn([1.0, 0.5, -0.5], decision.action, 1.0)

``policies()`` lists the policies and their settings; each has a class of its own, such as ``LuGauss``. ``bench`` compares
policies, yours among them, on the problems that ``problems()`` lists or on your own data.
"""

from . import _policies
from ._bench import PythonPolicy, bench, external
from ._core import BUILD as __version__
from ._core import Decision, FitReport, NumericError, Snapshot
from ._env import make_env
from ._policies import *  # noqa: F403
from ._policy import BasePolicy, Policy, load, policies
from ._problem import Problem, problems
from ._run import Comparison, Figure, Report, Run, Table

__all__ = [
    "Policy",
    "load",
    "policies",
    "Decision",
    "FitReport",
    "Snapshot",
    "NumericError",
    "bench",
    "PythonPolicy",
    "external",
    "Run",
    "Table",
    "Comparison",
    "Report",
    "Figure",
    "Problem",
    "problems",
    "make_env",
    "BasePolicy",
    "__version__",
]
__all__ += _policies.__all__
