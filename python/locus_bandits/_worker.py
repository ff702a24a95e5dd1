"""Trials of Python policies in processes of their own."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Lock
from typing import Any

from . import _core


def play(payload: bytes, name: str, rounds: tuple[Any, Any, Any], seed: int, propensities: bool) -> object:
    """Plays one trial, in another process than the run."""
    return _core.play_trial(name, pickle.loads(payload), rounds, seed, propensities)


def pickled(name: str, factory: Callable[..., Any]) -> bytes:
    """The factory for another process."""
    try:
        try:
            import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ModuleNotFoundError:
            if getattr(factory, "__module__", None) == "__main__":
                raise ValueError(
                    f"policy {name} is defined in the main program, where other processes cannot find it: move it to a module, "
                    "install cloudpickle, or leave out `processes`"
                ) from None
            return pickle.dumps(factory)
        payload: bytes = cloudpickle.dumps(factory)
        return payload
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"policy {name} cannot be sent to another process: {error}; move it to a module, or leave out `processes`"
        ) from error


class Pool:
    """Processes that play trials."""

    def __init__(self, n: int, factories: Mapping[str, Callable[..., Any]]) -> None:
        self._n = n
        self._payloads = {name: pickled(name, factory) for name, factory in factories.items()}
        self._lock = Lock()
        self._executor = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._n, mp_context=multiprocessing.get_context("spawn"))

    def submit(
        self, name: str, contexts: Any, rewards: Any, best: Any, seed: int, propensities: bool
    ) -> Future[object]:
        """Hands a trial to a process."""
        arguments = self._payloads[name], name, (contexts, rewards, best), seed, propensities
        with self._lock:
            try:
                return self._executor.submit(play, *arguments)
            except BrokenProcessPool:
                # A process died in an earlier trial, which has failed; the others go on.
                self._executor = self._start()
                return self._executor.submit(play, *arguments)

    def close(self) -> None:
        """Ends the processes, with the trials that are running."""
        processes = list((self._executor._processes or {}).values())
        self._executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
