"""A task of a study, and doing it in a worker process."""

from __future__ import annotations

import importlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reluflow.after_run import Stage, StageFailed
from reluflow.budget import Budget, counting_work, num_ended_late
from reluflow.errors import ReluflowError

if TYPE_CHECKING:
    from reluflow.dynamics.solver import AbstractRun
    from reluflow.workers.serving import Channel

PROGRESS, WARNING, RUN = "progress", "warning", "run"  # kinds of messages of a task that is being done
_SECONDS_BETWEEN_MESSAGES = 0.25


@dataclass(frozen=True, eq=False)
class StudyTask:
    """A call with a name.

    Parameters
    ----------
    name
        By which the study knows it.
    function, arguments
        The call.
    has_progress
        Whether it takes `on_step`, called with the run after each step: to show how far it is, and to end early; and
        `on_run`, called with its result before the end is certified.
    is_stored
        Whether its result is of use to a later call of the study.
    counts_work
        Whether its bounds of seconds are bounds on the work that it counts.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    has_progress: bool = False
    is_stored: bool = True
    counts_work: bool = False


@dataclass(frozen=True, eq=False)
class Finished:
    """The result of a task: a value, or the sentence that says why there is none.

    Parameters
    ----------
    name, value, refusal
        Of the task, its result, and why there is none.
    is_whole
        False where the value was handed in before the end of the run was certified.
    seconds
        What it took, of work where that is counted, else of processor time.
    is_late
        Whether this machine was too slow for the work allowed, so that the value may depend on it.
    """

    name: str
    value: Any
    refusal: str | None = None
    is_whole: bool = True
    seconds: float = 0.0
    is_late: bool = False


def load_modules() -> None:
    """Import what every task needs."""
    importlib.import_module("reluflow.study.plan")


def do(task: StudyTask, **more: Callable[[Any], None]) -> Finished:
    """Do a task in this thread, and measure what it takes."""
    num_late = num_ended_late()
    with counting_work(if_asked=task.counts_work):
        spent = Budget()
        try:
            value, refusal = task.function(*task.arguments, **more), None
        except ReluflowError as error:
            value, refusal = None, str(error)
        return Finished(task.name, value, refusal, seconds=spent.used, is_late=num_ended_late() > num_late)


def do_task(channel: Channel, task: StudyTask) -> Finished:
    """Do a task in a worker process."""
    from reluflow.study.flow_summary import FlowInterrupted

    more: dict[str, Callable[[Any], None]] = {}
    if task.has_progress:
        more = {"on_step": _ProgressReporter(channel), "on_run": lambda summary: channel.send((RUN, summary))}
    with _warnings_sent(channel), Stage(f"Computing {task.name}") as computing:
        try:
            return do(task, **more)
        except FlowInterrupted as interrupt:
            return Finished(task.name, interrupt.summary)
    return Finished(task.name, None, computing.failure)


class _ProgressReporter:
    """Sends how far a run is, and interrupts it between two steps where it is to stop."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._last = 0.0
        self._is_interrupted = False

    def __call__(self, run: AbstractRun) -> None:
        if not self._is_interrupted and self._channel.should_stop():
            self._is_interrupted = True  # once: certifying what there is may take steps of its own
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - self._last > _SECONDS_BETWEEN_MESSAGES:
            self._last = now
            clock = f"t = {run.time:.5g}" if math.isfinite(run.time) else f"log t = {run.log_time:.5g}"
            self._channel.send((PROGRESS, f"{clock}, {run.steps} steps, loss {run.loss():.5g}"))


@contextmanager
def _warnings_sent(channel: Channel) -> Iterator[None]:
    """Have the parent process say what failed after a run."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, StageFailed):
            channel.send((WARNING, str(message)))
        else:
            shown(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown
