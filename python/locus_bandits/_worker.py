"""Trials of Python policies in processes of their own.

A process of this module plays one trial after another. It reads requests from its standard input and ends with it, so that no
process outlives the run; a process that dies takes one trial with it. The main program is not imported again.
"""

from __future__ import annotations

import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any

LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], message: object) -> None:
    """Writes a message with its length."""
    body = pickle.dumps(message, protocol=5)
    stream.write(LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Reads a message; fails with EOFError at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return pickle.loads(body)


def pickled(name: str, factory: Callable[..., Any]) -> bytes:
    """The factory for another process."""
    try:
        try:
            import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ModuleNotFoundError:
            inner = factory
            while hasattr(inner, "func"):
                inner = inner.func
            if getattr(inner, "__module__", None) == "__main__":
                raise ValueError(
                    f"policy {name} is defined in the main program, which other processes do not import: move it to a module, "
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
    """Processes that play trials, one for each thread that waits for a result."""

    def __init__(self, n: int, factories: Mapping[str, Callable[..., Any]]) -> None:
        self._payloads = {name: pickled(name, factory) for name, factory in factories.items()}
        self._executor = ThreadPoolExecutor(n)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def submit(self, name: str, *trial: Any) -> Future[object]:
        """Hands a trial to a process: contexts, rewards, best rewards, seed, and whether to ask for propensities."""
        return self._executor.submit(self._play, name, trial)

    def _play(self, name: str, trial: tuple[Any, ...]) -> object:
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None or process.poll() is not None:
            process = self._own.process = self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            send(process.stdin, (self._payloads[name], name, *trial))
            return receive(process.stdout)
        except (EOFError, OSError):
            raise RuntimeError(f"the process of the trial died with exit code {process.wait()}") from None

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the run was stopped")
            process = subprocess.Popen(
                [sys.executable, "-c", "from locus_bandits._worker import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C reaches all processes of a terminal's session; only the run decides what happens.
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )
            self._processes.add(process)
            return process

    def close(self) -> None:
        """Ends the processes, with the trials that are running."""
        with self._lock:
            self._is_closed = True
        for process in self._processes:
            process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                try:
                    stream.close()
                except OSError:
                    pass


def main() -> None:
    """Plays the trials that come by standard input, and ends with it."""
    from . import _core

    # What policies print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                requests.put(receive(sys.stdin.buffer))
        except EOFError:
            # The run has ended, perhaps by force, while a trial is running here.
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        payload, name, contexts, rewards, best, seed, propensities = requests.get()
        try:
            factory = pickle.loads(payload)
        except Exception as error:
            send(answers, f"policy {name} cannot be read in another process: {type(error).__name__}: {error}")
            continue
        send(answers, _core.play_trial(name, factory, (contexts, rewards, best), seed, propensities))
