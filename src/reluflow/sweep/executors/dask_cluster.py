"""DaskExecutor: cases computed by the workers of a Dask cluster that sees the sweep's folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reluflow.errors import BackendError, InvalidInputError, MissingExtraError
from reluflow.sweep.executors.executor import AbstractExecutor, TaskSource
from reluflow.sweep.executors.processes import MOST_DEATHS, available_cores, pickled_assignment
from reluflow.sweep.segments import FAILED, Record, SegmentWriter
from reluflow.sweep.worker import Assignment, Report, Worker, writer_name

CONNECT_S = 30.0
LOOK_S = 5.0  # how often the workers are counted, which may come and go
LOST_S = 30.0  # a scheduler that does not answer for this long is taken for dead


@dataclass
class DaskExecutor(AbstractExecutor):
    """A Dask cluster: the one at `scheduler`, or a local one with a process per core.

    Parameters
    ----------
    scheduler
        Address such as tcp://10.0.0.1:8786; None starts a cluster on this machine.
    workers
        Processes of the local cluster; by default one per core.
    """

    scheduler: str | None = None
    workers: int | None = None
    _deaths: Counter[int] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidInputError(f"`workers` must be at least 1, got {self.workers}.")

    @property
    def num_workers(self) -> int:
        return self.workers or available_cores()

    def reports(self, assignment: Assignment, source: TaskSource) -> Generator[Report]:
        distributed = _distributed()
        message = pickled_assignment(assignment)
        again: list[tuple[int, ...]] = []
        flying: dict[Any, tuple[int, ...]] = {}
        with ExitStack() as stack:
            client = self._client(distributed, stack)
            answered, looked, window = time.monotonic(), -LOOK_S, 0
            try:
                while True:
                    if time.monotonic() - looked > LOOK_S:
                        looked, window = time.monotonic(), 2 * max(sum(client.nthreads().values()), 1)
                    while len(flying) < window:
                        task = again.pop() if again else source.next_task()
                        if task is None:
                            break
                        flying[client.submit(work_on, message, task, pure=False)] = task
                    if not flying:
                        if source.is_finished:
                            return
                        time.sleep(0.2)
                        continue
                    ended = _ended(flying)
                    if client.status == "running":
                        answered = time.monotonic()
                    elif time.monotonic() - answered > LOST_S or client.status == "closed":
                        raise _lost(self.scheduler)
                    for future in ended:
                        yield from self._outcome(future, flying.pop(future), assignment, again)
            except (OSError, TimeoutError) as error:  # a closed connection is an OSError
                raise _lost(self.scheduler) from error
            finally:
                if flying and client.status == "running":
                    with suppress(OSError, TimeoutError):  # they end with the cluster, or with the next claim
                        client.cancel(list(flying))

    def _client(self, distributed: Any, stack: ExitStack) -> Any:
        if self.scheduler is None:
            # no `pre-spawn-environ` of ours: a nanny leaves it in this process's environment, where Numba then refuses
            # to compile. Dask asks for one thread of the libraries under NumPy by itself, and `Worker` of Numba.
            try:
                cluster = distributed.LocalCluster(
                    n_workers=self.num_workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    silence_logs=50,
                )
                stack.enter_context(_closed_in_the_end(cluster))
                return stack.enter_context(_closed_in_the_end(distributed.Client(cluster, set_as_default=False)))
            except (OSError, TimeoutError) as error:
                raise BackendError(
                    f"`--executor dask` could not start a cluster on this machine ({type(error).__name__}); "
                    "`--executor processes` needs none."
                ) from error
        try:
            client = distributed.Client(self.scheduler, timeout=CONNECT_S, set_as_default=False)
            return stack.enter_context(_closed_in_the_end(client))
        except (OSError, TimeoutError, ValueError) as error:
            raise BackendError(
                f"`{self.scheduler}` must be the address of a running Dask scheduler, such as tcp://10.0.0.1:8786; "
                f"none answered ({type(error).__name__})."
            ) from error

    def _outcome(
        self, future: Any, task: tuple[int, ...], assignment: Assignment, again: list[tuple[int, ...]]
    ) -> Iterator[Report]:
        """The report of a task that ended well; a task that killed its workers is given out again in pieces."""
        from distributed.scheduler import KilledWorker

        if future.status == "finished":
            yield future.result()
            return
        if future.status in ("cancelled", "lost"):
            raise _lost(self.scheduler)
        error = future.exception()
        if not isinstance(error, KilledWorker):
            raise error
        if len(task) > 1:
            again.extend((index,) for index in task)
            return
        self._deaths.update(task)
        if self._deaths[task[0]] < 2:  # each stands for several workers: Dask has tried again by itself
            again.append(task)
            return
        plan = assignment.plan
        sentence = (
            f"Its workers died more than {MOST_DEATHS} times at this case; it may need more memory than there is."
        )
        header = {"base": plan.base.settings(), "names": plan.names, "measures": plan.identities, "columns": []}
        name = plan.case_at(task[0]).fingerprint()
        record = Record(name, FAILED, plan.values_at(task[0]), (), 0.0, sentence)
        SegmentWriter(Path(assignment.folder), writer_name(assignment.driver), header).write([record.line()])
        yield Report(task, computed=1, failed=1)


@contextmanager
def _closed_in_the_end(cluster: Any) -> Iterator[Any]:
    """A cluster, or a client of one, closed when it is left.

    That it does not close in time, as on a machine with much else to do, is no failure of the sweep: every result it
    reported is on disk by then, and its processes end with this one.
    """
    try:
        yield cluster
    finally:
        with suppress(OSError, TimeoutError):
            cluster.close()


def work_on(message: bytes, task: tuple[int, ...]) -> Report:
    """What a Dask worker runs: the task, in this process, as a worker of the sweep."""
    import pickle

    with Worker(pickle.loads(message)) as worker:
        return worker.work(task)


def _ended(flying: dict[Any, tuple[int, ...]]) -> list[Any]:
    """Those that are no longer pending, after half a second at most."""
    deadline = time.monotonic() + 0.5
    while True:
        ended = [future for future in flying if future.status != "pending"]
        if ended or time.monotonic() > deadline:
            return ended
        time.sleep(0.01)


def _lost(scheduler: str | None) -> BackendError:
    return BackendError(
        f"`{scheduler or 'the local cluster'}` has stopped answering; what was finished is kept, and the same command "
        "goes on from there once a scheduler runs."
    )


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "The Dask executor needs Dask, which is not installed: pip install 'reluflow[dask]'."
        ) from error
    return distributed
