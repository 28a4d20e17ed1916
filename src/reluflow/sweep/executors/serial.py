"""SerialExecutor: one case after the other, here."""

from __future__ import annotations

import time
from collections.abc import Generator

from reluflow.sweep.executors.executor import AbstractExecutor, TaskSource
from reluflow.sweep.worker import Assignment, Report, Worker


class SerialExecutor(AbstractExecutor):
    """Computes in this process; Ctrl-C ends it after what is finished is written."""

    @property
    def num_workers(self) -> int:
        return 1

    def reports(self, assignment: Assignment, source: TaskSource) -> Generator[Report]:
        with Worker(assignment) as worker:
            while True:
                task = source.next_task()
                if task is not None:
                    yield worker.work(task)
                elif source.is_finished:
                    return
                else:
                    time.sleep(0.2)
