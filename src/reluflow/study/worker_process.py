"""The program the workers of a study run: `python -m reluflow.study.worker_process 3:4 5:6`, tasks in, answers out.

Each worker has a pipe that tasks come over and one that answers go over; the arguments are their descriptors. What a
task prints goes to standard error. The program loads what every task needs and then divides into its workers. It stays
to pass on signals, which come over standard input as pairs of bytes (which worker, which signal); when that closes, as
it does when the parent ends, however it ends, it ends its workers and itself.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import FrameType
from typing import TYPE_CHECKING, Any

from reluflow.after_run import Stage, StageFailed
from reluflow.errors import ReluflowError
from reluflow.study.worker_family import DIVIDES

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
    _hand_on_warnings(answers)
    signal.signal(signal.SIGINT, listener.interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the program was started deaf to it
    while True:
        try:
            name, function, arguments, is_told = tasks.recv()
        except EOFError:
            return
        listener.is_over = False
        answers.send(_answer(name, function, arguments, {"on_step": listener} if is_told else {}))


def _answer(
    name: str, function: Callable[..., Any], arguments: tuple[Any, ...], more: dict[str, Any]
) -> tuple[str, Any]:
    from reluflow.study.flow_story import FlowInterrupted

    with Stage(f"Computing {name}") as computing:
        try:
            return "value", function(*arguments, **more)
        except FlowInterrupted as interrupt:
            return "value", interrupt.story
        except ReluflowError as error:
            return "refusal", str(error)
    return "refusal", computing.failure


def _hand_on_warnings(answers: Connection) -> None:
    """Let the parent say what failed after a run."""
    shown = warnings.showwarning

    def hand_on(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, StageFailed):
            answers.send(("warning", str(message)))
        else:
            shown(message, category, *place, **more)

    warnings.showwarning = hand_on


def divide(pipes: list[tuple[int, int]]) -> None:
    """Become so many workers, and pass on signals to them until the parent is gone."""
    workers = []
    for index, (tasks, answers) in enumerate(pipes):
        worker = os.fork()
        if worker == 0:
            for pair in pipes[index + 1 :]:
                for other in pair:
                    os.close(other)
            work(tasks, answers)
            os._exit(0)
        os.close(tasks)
        os.close(answers)
        workers.append(worker)
    while len(command := os.read(0, 2)) == 2:
        os.kill(workers[command[0]], command[1])
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
    os._exit(0)  # there is nothing to tidy up, and it takes a while


def work(tasks: int, answers: int) -> None:
    """Be one worker, with these two pipes."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    try:
        serve(Connection(tasks, writable=False), Connection(answers, readable=False))
    except (BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def main() -> None:
    """Set up the streams, load what every task needs, and serve."""
    os.dup2(2, 1)
    first, *more = [(int(tasks), int(answers)) for tasks, answers in (pair.split(":") for pair in sys.argv[1:])]
    importlib.import_module("reluflow.study.plan")
    if DIVIDES:
        divide([first, *more])
    else:
        work(*first)


if __name__ == "__main__":
    main()
