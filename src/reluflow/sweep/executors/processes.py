"""ProcessesExecutor: a pool of worker processes on this machine, each with one thread; any of them may die."""

from __future__ import annotations

import os
import pickle
import selectors
import time
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from reluflow.errors import InvalidInputError, MissingExtraError, ReluflowError
from reluflow.sweep.executors.deaths import Deaths
from reluflow.sweep.executors.executor import AbstractExecutor, TaskSource
from reluflow.sweep.executors.member import Member, let_go
from reluflow.sweep.worker import Assignment, Report


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pickled_assignment(assignment: Assignment) -> bytes:
    """An assignment as bytes; functions defined in a script or a notebook travel by value."""
    try:
        import cloudpickle
    except ModuleNotFoundError:
        try:
            return pickle.dumps(assignment)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise MissingExtraError(
                "Sending your own measures to worker processes needs cloudpickle, which is not installed: "
                "pip install 'reluflow[sweep]'; or use the serial executor."
            ) from error
    return bytes(cloudpickle.dumps(assignment))


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
        message = pickled_assignment(assignment)
        again: deque[tuple[int, ...]] = deque()
        members: list[Member] = []
        deaths = Deaths(assignment)
        watched = selectors.DefaultSelector()

        def next_task() -> tuple[int, ...] | None:
            return again.popleft() if again else source.next_task()

        try:
            while True:
                for member in members:
                    if member.task is None and (task := next_task()) is not None:
                        member.give(task)
                while len(members) < self.num_workers and (task := next_task()) is not None:
                    members.append(Member.start(message))
                    watched.register(members[-1].stdout, selectors.EVENT_READ, members[-1])
                    members[-1].give(task)
                if not any(member.task for member in members):
                    if source.is_finished:
                        return
                    time.sleep(0.2)
                    continue
                for key, _ in watched.select(timeout=0.5):
                    member = key.data
                    answer = member.read()
                    if isinstance(answer, str):
                        member.name = answer
                    elif isinstance(answer, ReluflowError):
                        raise answer
                    elif answer is not None:
                        member.task = None
                        yield answer
                    else:
                        watched.unregister(key.fileobj)
                        members.remove(member)
                        yield from _after_death(member, deaths, again)
        finally:
            let_go(members)
            for member in members:
                member.close()
            watched.close()


def _after_death(member: Member, deaths: Deaths, again: deque[tuple[int, ...]]) -> Iterator[Report]:
    """Count what a dead worker had written, and give out the rest again."""
    status = member.process.wait()
    member.close()
    if member.task is None:
        return
    if member.name is None:
        again.append(member.task)
        deaths.before_the_task(status)
        return
    reports, rest = deaths.during(member.task, [member.name], f"status {status}")
    again.extend(rest)
    yield from reports
