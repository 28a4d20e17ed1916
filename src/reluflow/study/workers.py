"""Where the tasks of a study are done: in this process, one after the other, or in a few worker processes.

With processes nothing that takes long happens here: a study can be stopped at any moment, and ends in time.
"""

from __future__ import annotations

import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import Any

from reluflow.after_run import Stage, StageFailed
from reluflow.study.task import PROGRESS, RUN, Finished, StudyTask, do, do_task, load_modules
from reluflow.workers.pool import Call, WorkerDied, WorkerPool
from reluflow.workers.starting import process_starter

_STARTED, _ENDED = "started", "ended"  # events beside the messages of tasks
_MOST_ATTEMPTS = 2  # at a task whose process dies


class AbstractWorkers(ABC):
    """Takes tasks and gives their results, in the order they finish."""

    num_workers = 1

    def __init__(self) -> None:
        self.on_start: Callable[[str], None] = lambda name: None
        self.on_progress: Callable[[str, str], None] = lambda name, words: None

    @abstractmethod
    def submit(self, task: StudyTask) -> None:
        """Queue a task."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Forget a queued task."""

    @property
    @abstractmethod
    def unfinished(self) -> list[str]:
        """Names of the tasks that are queued or under way."""

    @abstractmethod
    def next_finished(self, timeout: float) -> Finished | None:
        """The next task that finishes, or None where none did in time."""

    @abstractmethod
    def stop(self, grace: float, *, hurry: bool) -> list[Finished]:
        """Give up what is queued or under way, except tasks with progress, whose results are returned.

        In a hurry these are asked to stop at once with what they have, else they may end by themselves; in both cases
        within `grace` seconds, after which a run that is over is returned without what its end is.
        """

    @abstractmethod
    def close(self) -> None:
        """End every process."""


class SerialWorkers(AbstractWorkers):
    """Each task in this process, when its turn comes; Ctrl-C comes out of `next_finished`."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: deque[StudyTask] = deque()

    def submit(self, task: StudyTask) -> None:
        self._queue.append(task)

    def drop(self, name: str) -> None:
        self._queue = deque(task for task in self._queue if task.name != name)

    @property
    def unfinished(self) -> list[str]:
        return [task.name for task in self._queue]

    def next_finished(self, timeout: float) -> Finished | None:
        task = self._queue[0]
        self.on_start(task.name)
        finished = None
        with Stage(f"Computing {task.name}") as computing:
            finished = do(task)
        self._queue.popleft()
        return finished or Finished(task.name, None, computing.failure)

    def stop(self, grace: float, *, hurry: bool) -> list[Finished]:
        left = [] if hurry else [task for task in self._queue if task.has_progress]
        self._queue = deque(left)
        found = [self.next_finished(grace) for _ in left]
        return [finished for finished in found if finished is not None]

    def close(self) -> None:
        return


class ProcessWorkers(AbstractWorkers):
    """A few worker processes, each with one thread and one task at a time; what they need is loaded at once.

    A task whose process dies is done once more by another.
    """

    def __init__(self, num_workers: int) -> None:
        super().__init__()
        self.num_workers = num_workers
        self._starter = process_starter(load_modules)
        self._pool = WorkerPool(self._starter, num_workers)
        self._tasks: dict[str, tuple[StudyTask, Call]] = {}  # not finished, by name
        self._attempts: dict[str, int] = {}
        self._runs: dict[str, Any] = {}  # of tasks that are certifying the end of theirs
        self._events: SimpleQueue[tuple[str, str, Any]] = SimpleQueue()  # from the threads of the pool

    @property
    def unfinished(self) -> list[str]:
        return list(self._tasks)

    def submit(self, task: StudyTask) -> None:
        name = task.name

        def pass_on(message: tuple[str, Any]) -> None:
            self._events.put((message[0], name, message[1]))

        call = self._pool.submit(do_task, task, on_start=lambda: pass_on((_STARTED, None)), on_message=pass_on)
        self._tasks[name] = task, call
        self._attempts[name] = self._attempts.get(name, 0) + 1
        call.future.add_done_callback(lambda future: self._events.put((_ENDED, name, call)))

    def drop(self, name: str) -> None:
        if name in self._tasks:
            _, call = self._tasks.pop(name)
            call.kill()

    def next_finished(self, timeout: float) -> Finished | None:
        end = time.monotonic() + timeout
        while True:
            try:
                kind, name, content = self._events.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                return None
            finished = self._take(kind, name, content)
            if finished is not None:
                return finished

    def _take(self, kind: str, name: str, content: Any) -> Finished | None:
        """Learn from an event; gives what it finishes, if anything."""
        if name not in self._tasks:
            return None  # given up
        if kind == _STARTED:
            self.on_start(name)
        elif kind == PROGRESS:
            self.on_progress(name, content)
        elif kind == RUN:
            self._runs[name] = content
        elif kind == _ENDED:
            return self._result(name, content)
        else:
            warnings.warn(content, StageFailed, stacklevel=2)
        return None

    def _result(self, name: str, call: Call) -> Finished | None:
        task, latest = self._tasks[name]
        if call is not latest:
            return None
        del self._tasks[name]
        try:
            finished: Finished = call.future.result()
        except CancelledError:
            return None
        except WorkerDied:
            if self._attempts[name] < _MOST_ATTEMPTS:
                self.submit(task)
                return None
            return Finished(name, None, "the process that computed it ended twice, perhaps for want of memory.")
        return finished

    def stop(self, grace: float, *, hurry: bool) -> list[Finished]:
        for name, (task, call) in list(self._tasks.items()):
            if not task.has_progress or (hurry and not call.future.running()):
                self.drop(name)
            elif hurry:
                call.stop()
        found, end = [], time.monotonic() + grace
        while self._tasks and (left := end - time.monotonic()) > 0:
            finished = self.next_finished(left)
            if finished is not None:
                found.append(finished)
        for name in [name for name in self._tasks if name in self._runs]:
            self.drop(name)
            found.append(Finished(name, self._runs.pop(name), is_whole=False))
        return found

    def close(self) -> None:
        self._tasks.clear()
        self._pool.close()
        self._starter.close()


def started_workers(num_workers: int) -> AbstractWorkers:
    """So many processes, which load what they need while the caller goes on; for one, and on Windows, this process."""
    return ProcessWorkers(num_workers) if num_workers > 1 and sys.platform != "win32" else SerialWorkers()
