"""Who does the tasks of a study: this process, one after the other, or a few processes side by side.

With processes nothing that takes long happens here: a study can be stopped at any moment, and ends in time.
"""

from __future__ import annotations

import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from reluflow.after_run import Stage, StageFailed
from reluflow.errors import ReluflowError
from reluflow.study.worker_family import FamilyMember, StudyTask, started_members


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
        finished = None
        with Stage(f"Computing {task.name}") as computing:
            try:
                finished = Finished(task.name, task.function(*task.arguments))
            except ReluflowError as error:
                finished = Finished(task.name, None, str(error))
        self._queue.popleft()
        return finished or Finished(task.name, None, computing.failure)

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
        self._members = started_members(num_workers)
        self._has_died: set[str] = set()  # tasks that took a process with them once

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

    def _read(self, member: FamilyMember) -> Finished | None:
        assert member.task is not None
        name = member.task.name
        try:
            kind, content = member.answers.recv()
        except (EOFError, OSError):  # also in the middle of an answer
            task = member.task
            member.end()
            self._members[self._members.index(member)] = started_members(1)[0]
            if name not in self._has_died:
                self._has_died.add(name)
                self._queue.appendleft(task)
                return None
            return Finished(name, None, "the process that computed it ended twice, perhaps for want of memory.")
        if kind == "words":
            self.on_words(name, content)
            return None
        if kind == "warning":
            warnings.warn(content, StageFailed, stacklevel=2)
            return None
        member.task = None
        return Finished(name, None, content) if kind == "refusal" else Finished(name, content)

    def stop(self, grace: float, *, hurry: bool) -> list[Finished]:
        self._queue = deque([] if hurry else [task for task in self._queue if task.is_told])
        told = [member for member in self._members if member.task is not None and member.task.is_told]
        for member in self._members:
            if member not in told:
                member.end()
        if self._queue:
            told += started_members(len(self._queue))
        if hurry:
            for member in told:
                member.interrupt()
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
    """So many processes, which load what they need while the caller goes on; for one, none but this.

    On Windows, whose processes have no such pipes, none but this either.
    """
    return ProcessWorkers(num_workers) if num_workers > 1 and sys.platform != "win32" else SerialWorkers()
