"""What a Dask worker does: it has cases computed by worker processes of its own, one for each of its threads.

A Dask worker talks, measures itself and answers in the same process that runs its tasks. Beside runs that go back and
forth between Python and short kernels that costs: with Dask's statistical profiler, which is on by default, a case of
three points took up to a third more processor time. And the tasks of a worker with several threads would share one
interpreter and what is kept in it from one measure to the next. So a case is computed in a plain process, as on one
machine, and the Dask worker waits.
"""

from __future__ import annotations

import asyncio
import signal
import threading

from reluflow.sweep.executors.case_pool import CasePool
from reluflow.sweep.worker import Report
from reluflow.workers.pool import WorkerDied

IDLE_S = 60.0  # a process without a task leaves after this long, should nobody say that the sweep is over

_pools: dict[str, CasePool] = {}
_pools_lock = threading.Lock()


def work_on(
    driver: str, mark: str, task: tuple[int, ...], assignment: bytes | None = None
) -> Report | WorkerDied | None:
    """What a Dask worker runs: a task of the sweep `driver`; None where it has not been told what that is.

    Where the process that computed it died, the WorkerDied that says so is the value, as Dask would give out the task
    again by itself if it were raised.
    """
    import distributed

    with _pools_lock:
        if driver not in _pools:
            if assignment is None:
                return None
            num_threads = distributed.get_worker().state.nthreads
            _pools[driver] = CasePool(assignment, num_threads, idle_seconds=IDLE_S)
        pool = _pools[driver]
    given = pool.submit(task, mark)
    try:
        report: Report = given.future.result()
    except WorkerDied as death:
        return WorkerDied(death.status, has_begun=given.writer is not None)
    return report


async def end_sweep(driver: str) -> None:
    """What every Dask worker runs when a sweep ends or is stopped; its other work goes on meanwhile."""
    with _pools_lock:
        pool = _pools.pop(driver, None)
    if pool is not None:
        await asyncio.to_thread(pool.close)


def dask_setup(worker: object) -> None:
    """What a Dask worker of a local cluster runs first: Ctrl-C reaches the whole group, and the driver decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
