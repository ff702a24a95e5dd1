"""Policies: what all of their classes have in common."""

from __future__ import annotations

import operator
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from . import _core

if TYPE_CHECKING:
    from typing_extensions import Self


class SettingInfo(TypedDict):
    """A setting of a policy."""

    key: str
    doc: str
    expected: str
    defaults: dict[str, str]
    source: str


class PolicyInfo(TypedDict):
    """A policy before it is built."""

    id: str
    summary: str
    presets: list[str]
    settings: list[SettingInfo]


def policies() -> list[PolicyInfo]:
    """Every policy with its presets and settings: names, ranges, default values and their sources."""
    return _core.policies()


def setting_text(value: object) -> str:
    """A setting's value as a policy text writes it."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Sequence) and not isinstance(value, str):
        try:
            return "x".join(str(operator.index(size)) for size in value) or "none"
        except TypeError:
            raise ValueError(f"found {value!r}, expected a list of integers, the sizes of layers") from None
    text = value if isinstance(value, str) else repr(value)
    if any(letter in text for letter in ",[]"):
        raise ValueError(f"found {value!r}, expected one value of a setting")
    return text


class BasePolicy(_core.PolicyBase):
    """A policy that decides and learns: what ``Policy`` and the classes of the policies have in common."""

    if TYPE_CHECKING:
        _params: dict[str, Any]

    def _text(self, params: Mapping[str, Any]) -> str:
        raise NotImplementedError

    def _init(self, params: dict[str, Any], random_state: int | None) -> None:
        if random_state is not None:
            if params["seed"] != 0:
                raise ValueError("seed and random_state are the same setting; give one of them")
            params["seed"] = random_state
        self._rebuild(params)

    def _rebuild(self, params: dict[str, Any]) -> None:
        if (params["n_actions"] is None) == (params["n_action_features"] is None):
            found = "neither" if params["n_actions"] is None else "both"
            raise ValueError(f"found {found} of n_actions and n_action_features, expected one of them")
        sizes = {"n_actions": 0, "n_action_features": 0}
        for key in ("n_features", "n_actions", "n_action_features"):
            if key != "n_features" and params[key] is None:
                continue
            try:
                sizes[key] = params[key].__index__()
            except AttributeError:
                raise ValueError(f"{key} is {params[key]!r}, expected a positive integer") from None
            if not 0 < sizes[key] < 2**63:
                raise ValueError(f"{key} is {params[key]!r}, expected a positive integer")
        seed = _core.check_seed(params["seed"])
        self._build(self._text(params), sizes["n_features"], sizes["n_actions"], sizes["n_action_features"], seed)
        self._params = params

    @property
    def n_features(self) -> int:
        """The number of features of a context."""
        return int(self._params["n_features"])

    @property
    def n_actions(self) -> int:
        """The number of actions, those that were added and retired among them; 0 if actions have features."""
        return self._described()[2]

    @property
    def n_action_features(self) -> int:
        """The number of features of an action; 0 if actions are only numbered."""
        return self._described()[3]

    @property
    def seed(self) -> int:
        """The random seed that the policy was built with."""
        return int(self._params["seed"])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments that build an untrained policy like this one, as scikit-learn expects them."""
        return {**self._params, "n_actions": self.n_actions or None}

    def set_params(self, **params: Any) -> Self:
        """Changes arguments and builds the policy anew. Fails once the policy has learned, since that would be lost."""
        if "random_state" in params:
            if "seed" in params:
                raise ValueError("seed and random_state are the same setting; give one of them")
            params["seed"] = params.pop("random_state")
        for name in params:
            if name not in self._params:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._params)}")
        if params and self.n_observed > 0:
            raise ValueError(
                f"the policy has learned from {self.n_observed} outcomes, which set_params would discard; "
                "build another policy, or clone this one"
            )
        self._rebuild({**self.get_params(), **params})
        return self

    def partial_fit(
        self,
        X: npt.ArrayLike,
        actions: npt.ArrayLike,
        rewards: npt.ArrayLike,
        *,
        rounds: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        action_features: npt.ArrayLike | None = None,
    ) -> Self:
        """Learns as ``learn`` does, and returns the policy."""
        self.learn(X, actions, rewards, rounds=rounds, weights=weights, action_features=action_features)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy to a file, which ``load`` reads. A crash leaves the old file or the new one."""
        path = Path(os.path.realpath(path))
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        handle, name = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            # Readable for those who could read the old file, or for those to whom new files are readable.
            os.chmod(name, 0o666 & ~_umask() if mode is None else mode)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        own = {key: value for key, value in self.__dict__.items() if key != "_params"}
        return _restore, (type(self), self._params, self.to_bytes()), own

    def __repr__(self) -> str:
        params = self.get_params() if "_params" in self.__dict__ else {}
        shown = (f"{key}={value!r}" for key, value in params.items() if value is not None)
        return f"{type(self).__name__}({', '.join(shown)})"


BasePolicy.__module__ = "locus_bandits"


def _restore(cls: type[BasePolicy], params: dict[str, Any], state: bytes) -> BasePolicy:
    policy = cls.__new__(cls)
    policy._load(state)
    policy._params = params
    return policy


class Policy(BasePolicy):
    """A policy by its text: ``id``, ``id@preset`` or ``id[key=value,…]``, such as ``lu-gauss@paper[floor=0.1]``.

    ``random_state`` is another name of ``seed``. The same seed gives the same decisions. Give ``n_action_features`` in place of
    ``n_actions`` if actions have features; every decision then brings its own ``candidates``.
    """

    def __init__(
        self,
        policy: str,
        *,
        n_features: int,
        n_actions: int | None = None,
        n_action_features: int | None = None,
        seed: int = 0,
        random_state: int | None = None,
    ) -> None:
        params = {"policy": policy, "n_features": n_features, "n_actions": n_actions}
        params |= {"n_action_features": n_action_features, "seed": seed}
        self._init(params, random_state)

    def _text(self, params: Mapping[str, Any]) -> str:
        if not isinstance(params["policy"], str):
            raise ValueError(f"policy is {params['policy']!r}, expected a text such as 'lu-gauss'")
        return params["policy"]


def load(source: str | os.PathLike[str] | bytes) -> Policy:
    """Loads a policy from a file, or from the bytes that ``to_bytes`` gave. It continues as if it had never stopped."""
    state = source if isinstance(source, bytes) else Path(source).read_bytes()
    policy = Policy.__new__(Policy)
    policy._load(state)
    text, n_features, n_actions, n_action_features, seed = policy._described()
    policy._params = {"policy": text, "n_features": n_features, "n_actions": n_actions or None}
    policy._params |= {"n_action_features": n_action_features or None, "seed": seed}
    return policy


def _umask() -> int:
    """The permissions that new files of this process lack."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
