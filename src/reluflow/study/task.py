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
from reluflow.errors import ReluflowError

if TYPE_CHECKING:
    from reluflow.dynamics.solver import AbstractRun
    from reluflow.workers.serving import Channel

PROGRESS, WARNING = "progress", "warning"  # kinds of messages of a task that is being done
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
        Whether it takes `on_step`, called with the run after each step: to show how far it is, and to end early.
    is_stored
        Whether its result is of use to a later call of the study.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    has_progress: bool = False
    is_stored: bool = True


@dataclass(frozen=True, eq=False)
class Finished:
    """The result of a task: a value, or the sentence with the reason why there is none."""

    name: str
    value: Any
    refusal: str | None = None


def load_modules() -> None:
    """Import what every task needs."""
    importlib.import_module("reluflow.study.plan")


def do_task(channel: Channel, task: StudyTask) -> Finished:
    """Do a task in a worker process."""
    from reluflow.study.flow_summary import FlowInterrupted

    more = {"on_step": _ProgressReporter(channel)} if task.has_progress else {}
    with _warnings_sent(channel), Stage(f"Computing {task.name}") as computing:
        try:
            return Finished(task.name, task.function(*task.arguments, **more))
        except FlowInterrupted as interrupt:
            return Finished(task.name, interrupt.summary)
        except ReluflowError as error:
            return Finished(task.name, None, str(error))
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
