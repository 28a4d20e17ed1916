"""Who does the tasks of a study: this process, one after the other, or a few processes side by side.

With processes nothing that takes long happens here: a study can be stopped at any moment, and ends in time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from reluflow.errors import ReluflowError

_PROGRAM = [sys.executable, "-m", "reluflow.study.worker_process"]
_ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, eq=False)
class StudyTask:
    """A call with a name; `is_told` if it takes `on_step`, to say how far it is and to stop when it is asked to."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    is_told: bool = False


@dataclass(frozen=True, eq=False)
class Finished:
    """What came of a task: a value, or the sentence that says why there is none."""

    name: str
    value: Any
    refusal: str | None = None


class AbstractWorkers(ABC):
    """Takes tasks and gives back what came of them, in the order they finish."""

    num_workers = 1

    def __init__(self) -> None:
        self._queue: deque[StudyTask] = deque()
        self.on_start: Callable[[str], None] = lambda name: None
        self.on_words: Callable[[str, str], None] = lambda name, words: None

    def submit(self, task: StudyTask) -> None:
        """Queue a task."""
        self._queue.append(task)

    def drop(self, name: str) -> None:
        """Forget a queued task."""
        self._queue = deque(task for task in self._queue if task.name != name)

    @property
    @abstractmethod
    def unfinished(self) -> list[str]:
        """Names of the tasks that are queued or under way."""

    @abstractmethod
    def next_finished(self, timeout: float) -> Finished | None:
        """The next task that finishes, or None where none did in time."""

    @abstractmethod
    def stop(self, grace: float, *, hurry: bool) -> list[Finished]:
        """Give up what is queued or under way, except the tasks that are told: these hand in what they have.

        In a hurry they are told to stop at once, else they may end by themselves; in both cases within `grace` seconds.
        """

    @abstractmethod
    def close(self) -> None:
        """End every process."""


class SerialWorkers(AbstractWorkers):
    """Each task in this process, when its turn comes; Ctrl-C comes out of `next_finished`."""

    @property
    def unfinished(self) -> list[str]:
        return [task.name for task in self._queue]

    def next_finished(self, timeout: float) -> Finished | None:
        task = self._queue[0]
        self.on_start(task.name)
        try:
            finished = Finished(task.name, task.function(*task.arguments))
        except ReluflowError as error:
            finished = Finished(task.name, None, str(error))
        self._queue.popleft()
        return finished

    def stop(self, grace: float, *, hurry: bool) -> list[Finished]:
        told = [] if hurry else [task for task in self._queue if task.is_told]
        self._queue = deque(told)
        found = [self.next_finished(grace) for _ in told]
        return [finished for finished in found if finished is not None]

    def close(self) -> None:
        return


class ProcessWorkers(AbstractWorkers):
    """A few processes, started at once, each with one thread and one task at a time."""

    def __init__(self, num_workers: int) -> None:
        super().__init__()
        self.num_workers = num_workers
        self._members = [_WorkerProcess() for _ in range(num_workers)]

    @property
    def unfinished(self) -> list[str]:
        under_way = [member.task.name for member in self._members if member.task is not None]
        return [*under_way, *(task.name for task in self._queue)]

    def submit(self, task: StudyTask) -> None:
        super().submit(task)
        self._hand_out()

    def _hand_out(self) -> None:
        for member in self._members:
            if member.task is None and self._queue:
                task = self._queue.popleft()
                self.on_start(task.name)
                member.give(task)

    def next_finished(self, timeout: float) -> Finished | None:
        end = time.monotonic() + timeout
        while True:
            self._hand_out()
            by_pipe = {member.answers: member for member in self._members if member.task is not None}
            for pipe in wait(list(by_pipe), timeout=min(max(0.0, end - time.monotonic()), 60.0)):
                member = by_pipe[cast("Connection", pipe)]
                finished = self._read(member)
                if finished is not None:
                    return finished
            if time.monotonic() >= end:
                return None

    def _read(self, member: _WorkerProcess) -> Finished | None:
        assert member.task is not None
        name = member.task.name
        try:
            kind, content = member.answers.recv()
        except (EOFError, ConnectionResetError):
            member.end()
            self._members[self._members.index(member)] = _WorkerProcess()
            return Finished(name, None, "the process that computed it ended, perhaps for want of memory.")
        if kind == "words":
            self.on_words(name, content)
            return None
        member.task = None
        if kind == "crash":
            raise RuntimeError(f"{name}:\n{content}")
        return Finished(name, None, content) if kind == "refusal" else Finished(name, content)

    def stop(self, grace: float, *, hurry: bool) -> list[Finished]:
        self._queue = deque([] if hurry else [task for task in self._queue if task.is_told])
        told = [member for member in self._members if member.task is not None and member.task.is_told]
        for member in self._members:
            if member not in told:
                member.end()
        told += [_WorkerProcess() for _ in self._queue]
        if hurry:
            for member in told:
                member.process.send_signal(signal.SIGINT)
        self._members = told
        found, end = [], time.monotonic() + grace
        while self.unfinished and (left := end - time.monotonic()) > 0:
            finished = self.next_finished(left)
            if finished is not None:
                found.append(finished)
        return found

    def close(self) -> None:
        for member in self._members:
            member.end()
        self._members = []


def started_workers(num_workers: int) -> AbstractWorkers:
    """So many processes, which load what they need while the caller goes on; for one, none but this."""
    return ProcessWorkers(num_workers) if num_workers > 1 else SerialWorkers()


class _WorkerProcess:
    """A worker process and what it is doing."""

    def __init__(self) -> None:
        environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self.process = subprocess.Popen(
            _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._tasks = Connection(os.dup(self.process.stdin.fileno()), readable=False)
        self.answers = Connection(os.dup(self.process.stdout.fileno()), writable=False)
        self.process.stdin.close()
        self.process.stdout.close()
        self.task: StudyTask | None = None

    def give(self, task: StudyTask) -> None:
        self.task = task
        try:
            self._tasks.send((task.function, task.arguments, task.is_told))
        except (BrokenPipeError, ConnectionResetError):
            return  # it is dead, which is noticed when its answers end

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.wait()
        self._tasks.close()
        self.answers.close()
        self.task = None
