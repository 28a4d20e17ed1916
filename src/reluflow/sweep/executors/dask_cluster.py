"""DaskExecutor: cases computed by the workers of a Dask cluster that sees the sweep's folder."""

from __future__ import annotations

import multiprocessing
import queue
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from reluflow.errors import BackendError, InvalidInputError, MissingExtraError, ReluflowError
from reluflow.sweep.attempts import begun, forget
from reluflow.sweep.executors.case_pool import pickled_assignment
from reluflow.sweep.executors.dask_worker import end_sweep, work_on
from reluflow.sweep.executors.deaths import Deaths
from reluflow.sweep.executors.executor import AbstractExecutor, TaskSource
from reluflow.sweep.worker import Assignment, Report
from reluflow.workers.pool import WorkerDied
from reluflow.workers.starting import available_cores

CONNECT_S = 30.0
LOOK_S = 5.0  # how often the workers are counted, which may come and go
LOST_S = 30.0  # a scheduler that does not answer for this long is taken for dead
LOCAL_SETTINGS = {  # of a local cluster, whose scheduler and workers share the cores with the cases
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.preload": ["reluflow.sweep.executors.dask_worker"],
}


@dataclass(frozen=True)
class _Submitted:
    """A task on its way: its cases, and the name under which workers note that they begin it."""

    task: tuple[int, ...]
    mark: str


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

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidInputError(f"`workers` must be at least 1, got {self.workers}.")

    @property
    def num_workers(self) -> int:
        return self.workers or available_cores()

    def reports(self, assignment: Assignment, source: TaskSource) -> Generator[Report]:
        distributed = _distributed()
        with ExitStack() as stack:
            client = self._client(distributed, stack)
            tasks = _Tasks(client, assignment, self.scheduler)
            answered, looked, window = time.monotonic(), -LOOK_S, 0
            try:
                while True:
                    if time.monotonic() - looked > LOOK_S:
                        looked, window = time.monotonic(), 2 * max(sum(client.nthreads().values()), 1)
                    while len(tasks) < window and (task := tasks.next_again() or source.next_task()) is not None:
                        tasks.give(task)
                    if not len(tasks):
                        if source.is_finished:
                            return
                        time.sleep(0.2)
                        continue
                    yield from tasks.ended()
                    if client.status == "running":
                        answered = time.monotonic()
                    elif time.monotonic() - answered > LOST_S or client.status == "closed":
                        raise _lost(self.scheduler)
            except ReluflowError:  # a worker's disk may be full, and a StorageError is an OSError too
                raise
            except (OSError, TimeoutError) as error:  # a closed connection is an OSError
                raise _lost(self.scheduler) from error
            finally:
                if client.status == "running":
                    with suppress(OSError, TimeoutError):  # they end with the cluster, or when none comes for a while
                        tasks.stop()

    def _client(self, distributed: Any, stack: ExitStack) -> Any:
        if self.scheduler is None:
            # no `pre-spawn-environ` of ours: a nanny leaves it in this process's environment, where Numba then refuses
            # to compile. Dask asks for one thread of the libraries under NumPy by itself, and `Worker` of Numba.
            import dask

            if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker, importing a script
                raise _no_cluster("a worker of one imported this script")
            stack.enter_context(dask.config.set(LOCAL_SETTINGS))
            try:
                cluster = distributed.LocalCluster(
                    n_workers=self.num_workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    dashboard_address=None,
                    silence_logs=50,
                )
                stack.enter_context(_closed_in_the_end(cluster))
                return stack.enter_context(_closed_in_the_end(distributed.Client(cluster, set_as_default=False)))
            except (OSError, TimeoutError, RuntimeError) as error:
                raise _no_cluster(type(error).__name__) from error
        try:
            client = distributed.Client(self.scheduler, timeout=CONNECT_S, set_as_default=False)
            return stack.enter_context(_closed_in_the_end(client))
        except (OSError, TimeoutError, ValueError) as error:
            raise BackendError(
                f"`{self.scheduler}` must be the address of a running Dask scheduler, such as tcp://10.0.0.1:8786; "
                f"none answered ({type(error).__name__})."
            ) from error


class _Tasks:
    """The tasks a cluster has now, and those that it is to have again."""

    def __init__(self, client: Any, assignment: Assignment, scheduler: str | None) -> None:
        self._client = client
        self._assignment = assignment
        self._scheduler = scheduler
        self._folder = Path(assignment.folder)
        self._message = pickled_assignment(assignment)
        self._deaths = Deaths(assignment)
        self._submitted: dict[Any, _Submitted] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._again: list[tuple[int, ...]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._submitted)

    def next_again(self) -> tuple[int, ...] | None:
        """A task that must be done once more."""
        return self._again.pop() if self._again else None

    def give(self, task: tuple[int, ...]) -> None:
        """Hand a task to the cluster; a worker that has not been told of the sweep will say so."""
        self._submit(_Submitted(task, f"{self._assignment.driver}-{next(self._numbers)}"), None)

    def _submit(self, given: _Submitted, message: bytes | None) -> None:
        driver = self._assignment.driver
        future = self._client.submit(work_on, driver, given.mark, given.task, message, pure=False)
        self._submitted[future] = given
        future.add_done_callback(self._done.put)

    def ended(self) -> Iterator[Report]:
        """What has ended since, after half a second at most."""
        with suppress(queue.Empty):
            futures = [self._done.get(timeout=0.5)]
            while not self._done.empty():
                futures.append(self._done.get())
            for future in futures:
                yield from self._outcome(future, self._submitted.pop(future))

    def _outcome(self, future: Any, given: _Submitted) -> Iterator[Report]:
        """The report of a task that ended well; a task that killed its workers is given out again in pieces."""
        from distributed.scheduler import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise _lost(self._scheduler)
        if future.status == "finished":
            answer = future.result()
        elif isinstance(error := future.exception(), KilledWorker):
            answer = WorkerDied(-9, has_begun=bool(begun(self._folder, given.mark)))
        else:
            raise error
        if answer is None:  # a worker that has not been told: the task takes the sweep along
            self._submit(given, self._message)
            return
        if isinstance(answer, Report):
            yield answer
        elif not answer.has_begun:
            self._again.append(given.task)
            self._deaths.before_the_task(answer.status)
        else:
            writers = begun(self._folder, given.mark)
            reports, rest = self._deaths.during(given.task, writers, f"status {answer.status}")
            self._again.extend(rest)
            yield from reports
        forget(self._folder, given.mark)

    def stop(self) -> None:
        """Take back what has not begun, and let every worker end its case and write it."""
        self._client.cancel(list(self._submitted))
        self._client.run(end_sweep, self._assignment.driver)
        for given in self._submitted.values():
            forget(self._folder, given.mark)


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


def _no_cluster(why: str) -> BackendError:
    return BackendError(
        f"`--executor dask` could not start a cluster on this machine ({why}); in a script the call must stand under "
        'if __name__ == "__main__":, because Dask starts its workers by importing the script. The executor processes '
        "needs neither."
    )


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
