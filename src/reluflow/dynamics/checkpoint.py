"""Checkpoint: a long run on disk, so that it can be killed and go on bit by bit as if it had not been."""

from __future__ import annotations

import hashlib
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from reluflow.data.atomic import replacing
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError


@dataclass
class Checkpoint:
    """A file that `train` writes now and then, and from which the same call goes on.

    The file holds the whole state of the run, so the numbers that follow are those of a run that was never stopped.
    It is removed when the run ends by itself. It is a pickle: open only files you wrote.

    Parameters
    ----------
    path
        Where the state goes.
    seconds
        How often it is written; it is also written on Ctrl-C.
    """

    path: Path
    seconds: float = 30.0
    _last: float = field(default_factory=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if not self.path.resolve().parent.is_dir():
            raise InvalidInputError(f"`{self.path}` must lie in a folder that exists.")

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._last >= self.seconds

    def write(self, fingerprint: str, state: Any) -> None:
        """Replace the file by the present state."""
        with replacing(self.path) as stream:
            pickle.dump((fingerprint, state), stream, protocol=pickle.HIGHEST_PROTOCOL)
        self._last = time.monotonic()

    def read(self, fingerprint: str) -> Any | None:
        """The state of an earlier call of the same run; None if there is no file."""
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as stream:
                found, state = pickle.load(stream)
        except (pickle.UnpicklingError, EOFError, AttributeError, ValueError, TypeError, ImportError) as error:
            raise InvalidInputError(
                f"`{self.path}` is not a checkpoint that can be read: {error}; remove it."
            ) from error
        if found != fingerprint:
            raise InvalidInputError(
                f"`{self.path}` is the checkpoint of another run (problem, method, times or version); "
                "remove it or name another file."
            )
        return state

    def remove(self) -> None:
        """Forget the file once the run has ended."""
        self.path.unlink(missing_ok=True)


@contextmanager
def interrupt_between_steps() -> Iterator[Callable[[], bool]]:
    """Hold the first Ctrl-C back until the step under way is done; a second one comes through at once.

    Gives a function that tells whether one is waiting. Outside the main thread signals go elsewhere and it never does.
    """
    waiting = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal waiting
        if waiting:
            raise KeyboardInterrupt
        waiting = True

    previous = signal.signal(signal.SIGINT, hold)
    try:
        yield lambda: waiting
    finally:
        signal.signal(signal.SIGINT, previous)


def fingerprint_of(problem: TrainingProblem, *words: object) -> str:
    """A digest of everything that decides the numbers of a run."""
    network, loss = problem.network, problem.loss
    digest = hashlib.sha256()
    for array in (problem.dataset.X, problem.dataset.y, network.w, network.a, network.weight):
        digest.update(np.ascontiguousarray(array).tobytes())
    settings = (network.leak, network.log_scale, loss.name, loss.reduction, loss.factor, version("reluflow"), *words)
    digest.update(repr(settings).encode())
    return digest.hexdigest()
