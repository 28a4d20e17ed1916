"""ProcessesExecutor: a pool of worker processes on this machine, each with one thread; any of them may die."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass

from reluflow.errors import InvalidInputError
from reluflow.sweep.executors.case_pool import CasePool, CaseTask, pickled_assignment
from reluflow.sweep.executors.deaths import Deaths
from reluflow.sweep.executors.executor import AbstractExecutor, TaskSource
from reluflow.sweep.worker import Assignment, Report
from reluflow.workers.pool import WorkerDied
from reluflow.workers.starting import available_cores


@dataclass
class ProcessesExecutor(AbstractExecutor):
    """Worker processes, by default one per core; one that dies (killed, out of memory, a crash) is replaced."""

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidInputError(f"`workers` must be at least 1, got {self.workers}.")

    @property
    def num_workers(self) -> int:
        return self.workers or available_cores()

    def reports(self, assignment: Assignment, source: TaskSource) -> Generator[Report]:
        again: deque[tuple[int, ...]] = deque()
        deaths = Deaths(assignment)
        running: list[CaseTask] = []

        def next_task() -> tuple[int, ...] | None:
            return again.popleft() if again else source.next_task()

        with CasePool(pickled_assignment(assignment), self.num_workers) as pool:
            while True:
                while len(running) < self.num_workers and (cases := next_task()) is not None:
                    running.append(pool.submit(cases))
                if not running:
                    if source.is_finished:
                        return
                    time.sleep(0.2)
                    continue
                wait([task.future for task in running], timeout=0.5, return_when=FIRST_COMPLETED)
                ended = [task for task in running if task.future.done()]
                running = [task for task in running if task not in ended]
                for task in ended:
                    yield from _outcome(task, deaths, again)


def _outcome(task: CaseTask, deaths: Deaths, again: deque[tuple[int, ...]]) -> Iterator[Report]:
    """The report of a task; where its worker died, what that had written counts, and the rest is given out again."""
    try:
        yield task.future.result()
    except WorkerDied as death:
        if task.writer is None:
            again.append(task.cases)
            deaths.before_the_task(death.status)
            return
        reports, rest = deaths.during(task.cases, [task.writer], f"status {death.status}")
        again.extend(rest)
        yield from reports
