"""sweep: compute what is missing of a plan, wherever it is computed, and give back the table."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.sweep.executors.executor import AbstractExecutor
from reluflow.sweep.executors.processes import ProcessesExecutor
from reluflow.sweep.executors.serial import SerialExecutor
from reluflow.sweep.leases import remove_traces_of_the_dead, running_cases
from reluflow.sweep.measures import Function, Measure
from reluflow.sweep.plan import Over, Plan, make_plan
from reluflow.sweep.queue import TaskQueue
from reluflow.sweep.result import SweepResult, gathered
from reluflow.sweep.store import DONE_CODE, FAILED_CODE, MISSING_CODE, Progress, open_folder, write_plan
from reluflow.sweep.worker import Assignment

EXECUTORS = ("serial", "processes", "dask")


@dataclass
class SweepState:
    """How far a sweep is, for whoever shows it.

    Parameters
    ----------
    cases
        How many there are.
    finished
        How many have a result, failed ones included.
    failed
        How many of these failed.
    computed
        How many were computed by this call.
    seconds
        Since it began.
    """

    cases: int
    finished: int
    failed: int
    computed: int = 0
    seconds: float = 0.0


ShowProgress = Callable[[SweepState], None]


def sweep(
    case: Experiment | str,
    *,
    over: Over,
    measure: Sequence[str | Function | Measure] = ("outcome", "loss"),
    out: str | os.PathLike[str] | None = None,
    executor: str | AbstractExecutor | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: ShowProgress | None = None,
) -> SweepResult:
    """Run a case for every combination of some values and gather the measures.

    What is finished is in the folder and stays there: the same call again, after a crash or with more values, computes
    only what is missing.

    Parameters
    ----------
    case
        A `Experiment`, or a dataset for the defaults of `reluflow train`.
    over
        For each swept name its values, as a sequence or as text ("0..19", "1e-1..1e-12:log:12").
    measure
        What to keep of each run: names such as "loss", "kind", "theorem:boursier2024:thm1", or your own functions of a
        `Trajectory`.
    out
        Folder of the sweep; None for one that goes when the program ends.
    executor
        "serial", "processes", "dask", or an executor of your own; by default processes, or Dask with a `scheduler`.
    workers
        Processes; by default one per core.
    scheduler
        Address of a Dask scheduler.
    retry_failed
        Compute again the cases that failed.
    progress
        Called with a `SweepState` whenever a task ends.

    Returns
    -------
    SweepResult
        The table of all cases; `frame()` gives it to pandas.

    Examples
    --------
    >>> result = sweep("three-points", over={"width": [10, 20], "seed": "0..1"}, executor="serial")
    >>> result.cases, result.computed, result.frame()["outcome"].unique().tolist()
    (4, 4, ['stationary'])
    """
    plan = make_plan(case, over, measure)
    chosen = executor if isinstance(executor, AbstractExecutor) else executor_named(executor, workers, scheduler)
    holder = tempfile.TemporaryDirectory(prefix="reluflow-sweep-") if out is None else None
    folder = open_folder(holder.name if out is None and holder is not None else out or ".")
    counts = run_plan(plan, folder, chosen, retry_failed=retry_failed, progress=progress)
    return gathered(plan, folder, computed=counts.computed, seconds=counts.seconds, holder=holder)


def run_plan(
    plan: Plan,
    folder: Path,
    executor: AbstractExecutor,
    *,
    retry_failed: bool = False,
    progress: ShowProgress | None = None,
) -> SweepState:
    """Compute what is missing of a plan; the results are in the folder when this returns or raises."""
    began = time.perf_counter()
    write_plan(folder, plan)
    known = Progress(plan, folder)
    is_wanted = known.codes == MISSING_CODE
    if retry_failed:
        is_wanted |= known.codes == FAILED_CODE
    state = SweepState(len(plan), len(plan) - int(is_wanted.sum()), 0 if retry_failed else known.count(FAILED_CODE))
    if progress is not None:
        progress(state)
    if not is_wanted.any():
        state.seconds = time.perf_counter() - began
        return state
    if is_wanted.sum() == 1 and isinstance(executor, ProcessesExecutor):
        executor = SerialExecutor()  # not worth the start of a process
    queue = TaskQueue(known, np.flatnonzero(is_wanted), executor.num_workers, is_retry=retry_failed)
    assignment = Assignment(str(folder.resolve()), secrets.token_hex(4), plan, dict(known.reader.next_numbers))
    reports = executor.reports(assignment, queue)
    try:
        for report in reports:
            queue.take(report)
            state.computed += report.computed
            state.failed += report.failed
            state.finished += report.computed + report.found
            state.seconds = time.perf_counter() - began
            if progress is not None:
                progress(state)
    except KeyboardInterrupt:
        reports.close()  # waits for the workers to write what is finished, which they report to nobody any more
        known.read()
        state.computed = known.computed_by(assignment.driver)
        raise
    finally:
        reports.close()
        if running_cases(folder) == 0:
            remove_traces_of_the_dead(folder)
    known.read()
    state.computed = known.computed_by(assignment.driver)  # what a lost worker wrote has no report
    state.failed = known.count(FAILED_CODE)
    state.finished = state.failed + known.count(DONE_CODE)
    state.seconds = time.perf_counter() - began
    return state


def executor_named(name: str | None, workers: int | None, scheduler: str | None) -> AbstractExecutor:
    """The executor of this name; None takes processes, or Dask where there is a scheduler."""
    name = name or ("processes" if scheduler is None else "dask")
    if scheduler is not None and name != "dask":
        raise InvalidInputError(
            f"`scheduler` is the address of a Dask scheduler; it goes with executor dask, not {name}."
        )
    if name == "serial":
        return SerialExecutor()
    if name == "processes":
        return ProcessesExecutor(workers)
    if name == "dask":
        from reluflow.sweep.executors.dask_cluster import DaskExecutor

        return DaskExecutor(scheduler, workers)
    raise InvalidInputError(f"`executor` must be one of {', '.join(EXECUTORS)}, got {name!r}.")
