"""Arrays that nobody should give, for every method: each call answers, or raises an ordinary exception, and harms nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import locus_bandits as lb

DTYPES = ["f2", "f4", "f8", ">f4", "i1", "i8", "u8", "?", "c16", "M8[s]", "O", "S3", "U2"]


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    if dtype.kind == "O":
        array = np.full(shape, draw(st.sampled_from([None, "a", 1.5, 2**70, [1]])), object)
    elif dtype.kind in "SUM":
        array = np.zeros(shape, dtype)
    else:
        array = draw(npst.arrays(dtype, shape))
    if array.ndim >= 1 and draw(st.booleans()):
        array = array[::-1]
    if array.ndim == 2 and draw(st.booleans()):
        array = np.asfortranarray(array)
    return draw(st.sampled_from([array, array.tolist(), array]))


scalars = st.one_of(
    st.integers(), st.floats(), st.none(), st.text(max_size=3), st.booleans(), st.lists(st.lists(st.floats(), max_size=3), max_size=3)
)
anything = st.one_of(arrays(), scalars)
METHODS = ["choose", "choose_many", "learn", "predict", "predict_proba", "sample_rewards", "partial_fit"]


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(METHODS), st.booleans(), st.lists(anything, min_size=3, max_size=3), anything, anything, st.integers())
def test_no_argument_takes_a_policy_down(
    method: str, on_snapshot: bool, arguments: list[Any], extra: Any, rounds: Any, number: int
) -> None:
    policy = lb.Policy("lin-full-post", n_features=3, n_actions=2, seed=1)
    target: Any = policy
    if on_snapshot and method not in ("learn", "partial_fit"):
        target = policy.snapshot()
    keywords: dict[str, Any] = {}
    if method in ("learn", "partial_fit"):
        keywords = {"rounds": rounds, "weights": extra} if number % 3 == 0 else {}
    else:
        arguments = arguments[:1]
        if method != "sample_rewards" and number % 2:
            keywords["allowed"] = extra
        if method == "choose_many" and number % 3 == 0:
            keywords["rounds"] = rounds
        if method in ("choose", "sample_rewards") and number % 5 == 0:
            keywords["round"] = number
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            getattr(target, method)(*arguments, **keywords)
        except (ValueError, TypeError, OverflowError, lb.NumericError):
            pass
    # It still decides, learns and saves.
    x = np.zeros(3, np.float32)
    assert policy.choose(x, round=50).action in (0, 1)
    policy.learn(x, 1, 0.5)
    assert lb.load(policy.to_bytes()).n_observed == policy.n_observed


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(anything, anything, anything, st.sampled_from(["from_arrays", "from_labels"]))
def test_no_argument_takes_a_problem_down(one: Any, two: Any, optimal: Any, maker: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if maker == "from_arrays":
                problem = lb.Problem.from_arrays(one, two, optimal=optimal)
            else:
                problem = lb.Problem.from_labels(one, two)
            problem.rounds(1)
        except (ValueError, TypeError, OverflowError):
            pass


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 255))
def test_no_bytes_take_loading_down(noise: bytes, place: int, value: int) -> None:
    state = bytearray(lb.Policy("lin-ucb", n_features=2, n_actions=2).to_bytes())
    state[place % len(state)] = value
    for file in (noise, bytes(state), bytes(state[:place])):
        try:
            lb.load(file)
        except ValueError:
            pass
