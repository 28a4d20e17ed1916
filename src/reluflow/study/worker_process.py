"""The program a worker of a study runs: `python -m reluflow.study.worker_process`, tasks in, answers out.

Tasks come over standard input and answers go over standard output; whatever a task prints goes to standard error. The
input closes when the parent ends, however it ends, and the worker leaves after its task.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import FrameType
from typing import TYPE_CHECKING, Any

from reluflow.errors import ReluflowError

if TYPE_CHECKING:
    from reluflow.dynamics.solver import AbstractRun

_SECONDS_BETWEEN_WORDS = 0.25


class _Listener:
    """Tells the parent how far a run is, and lets Ctrl-C through between two steps."""

    def __init__(self, answers: Connection) -> None:
        self._answers = answers
        self._last = 0.0
        self.is_over = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """The handler of the signal."""
        self.is_over = True

    def __call__(self, run: AbstractRun) -> None:
        if self.is_over:
            self.is_over = False  # what is left, certifying, is not to be interrupted
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - self._last > _SECONDS_BETWEEN_WORDS:
            self._last = now
            clock = f"t = {run.time:.5g}" if math.isfinite(run.time) else f"log t = {run.log_time:.5g}"
            self._answers.send(("words", f"{clock}, {run.steps} steps, loss {run.loss():.5g}"))


def serve(tasks: Connection, answers: Connection) -> None:
    """Do tasks until none comes."""
    listener = _Listener(answers)
    signal.signal(signal.SIGINT, listener.interrupt)
    while True:
        try:
            function, arguments, is_told = tasks.recv()
        except EOFError:
            return
        listener.is_over = False
        answers.send(_answer(function, arguments, {"on_step": listener} if is_told else {}))


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...], more: dict[str, Any]) -> tuple[str, Any]:
    from reluflow.study.flow_story import FlowInterrupted

    try:
        return "value", function(*arguments, **more)
    except FlowInterrupted as interrupt:
        return "value", interrupt.story
    except ReluflowError as error:
        return "refusal", str(error)
    except Exception:
        return "crash", traceback.format_exc()


def main() -> None:
    """Set up the streams, load what every task needs, and serve."""
    tasks = Connection(os.dup(0), writable=False)
    answers = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    importlib.import_module("reluflow.study.plan")
    try:
        serve(tasks, answers)
    except (BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


if __name__ == "__main__":
    main()
