"""The worker processes of a sweep: each is told of the sweep once, computes tasks, and writes what it finishes."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self

from reluflow.errors import MissingExtraError
from reluflow.sweep.worker import Assignment, Report, Worker
from reluflow.workers.pool import Call, WorkerPool
from reluflow.workers.serving import Channel
from reluflow.workers.starting import process_starter

STOP_S = 10.0  # how long a worker may take to end its case when the sweep is stopped or its parent process was killed


class CasePool:
    """A pool of worker processes for the cases of one sweep. Use as a context, which ends them.

    Parameters
    ----------
    assignment
        The sweep, by `pickled_assignment`.
    num_workers
        How many cases are computed at a time.
    idle_seconds
        After how long without a task a process leaves; None: never.
    """

    def __init__(self, assignment: bytes, num_workers: int, *, idle_seconds: float | None = None) -> None:
        self._starter = process_starter(_load_modules, orphan_seconds=STOP_S)
        setup = partial(_worker_of, assignment)
        self._pool = WorkerPool(self._starter, num_workers, setup=setup, idle_seconds=idle_seconds)

    def submit(self, task: tuple[int, ...], mark: str = "") -> CaseTask:
        """Queue a task; see `Worker.work` for the mark."""
        return CaseTask(self._pool, task, mark)

    def close(self) -> None:
        """Let every worker end its case and write it; end those that take too long."""
        try:
            self._pool.close(STOP_S)
        finally:
            self._starter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class CaseTask:
    """A task of a sweep in a worker process.

    Attributes
    ----------
    cases
        Numbers of its cases.
    writer
        Name under which its worker writes results; None until a worker has it.
    future
        Of its `Report`.
    """

    def __init__(self, pool: WorkerPool, cases: tuple[int, ...], mark: str) -> None:
        self.cases = cases
        self.writer: str | None = None
        task: Call = pool.submit(_compute, cases, mark, on_message=self._note_writer)
        self.future = task.future

    def _note_writer(self, name: str) -> None:
        self.writer = name


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


def _load_modules() -> None:
    """Import what every case needs."""
    for name in ("certificates.limits.levelling", "dynamics.flow_choice", "dynamics.train", "data.registry", "network"):
        importlib.import_module(f"reluflow.{name}")


@contextmanager
def _worker_of(assignment: bytes) -> Iterator[Worker]:
    """In a worker process: sign on to a sweep."""
    with Worker(pickle.loads(assignment)) as worker:
        yield worker


def _compute(channel: Channel, cases: tuple[int, ...], mark: str) -> Report:
    worker: Worker = channel.state
    channel.send(worker.name)
    return worker.work(cases, channel.should_stop, mark=mark)
