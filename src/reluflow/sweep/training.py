"""The one place where a case meets the training API: from settings to a finished run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from reluflow.data.registry import REGISTRY
from reluflow.experiment import Experiment
from reluflow.experiment.fingerprint import check_files

if TYPE_CHECKING:
    from reluflow.data.dataset import Dataset
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.solver import AbstractRun
    from reluflow.dynamics.trajectory import Trajectory
    from reluflow.losses import AbstractLoss


def problem_of(case: Experiment) -> TrainingProblem:
    """The problem of a case; data that several cases share are read once."""
    return case.problem(_dataset(case))


def dataset_and_loss_of(case: Experiment) -> tuple[Dataset, AbstractLoss]:
    """The data of a case and the loss that is trained on them."""
    dataset = _dataset(case)
    return dataset, case.loss_for(dataset)


def finished_run(case: Experiment, *, progress: Callable[[AbstractRun], None] | None = None) -> Trajectory:
    """Make the run of a case; Ctrl-C raises KeyboardInterrupt rather than giving half a run.

    >>> finished_run(Experiment("three-points", width=20)).outcome.code
    'stationary'
    """
    from reluflow.dynamics.train import train

    problem = problem_of(case)
    horizon = float("inf") if case.horizon is None else case.horizon
    solver, rule = case.solver_for(problem), case.rule_for(problem)
    return train(problem, solver, until=rule, times=case.times, horizon=horizon, progress=progress)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread: sums are then taken in the same order everywhere, and cores go to cases."""
    import numba
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    with threadpool_limits(1):
        numba.set_num_threads(1)
        try:
            yield
        finally:
            numba.set_num_threads(before)


def _dataset(case: Experiment) -> Dataset:
    """Made once for all cases that share it; a dataset that no seed changes is one for all seeds."""
    check_files(case.digests)
    entry = REGISTRY.get(case.data.partition(":")[0])
    seed = case.seed if entry is not None and entry.is_random else 0
    read = ("data", "X", "y", "target", "features", "drop", "labels", "drop_missing", "standardise", "bias", "digests")
    shared = {name: getattr(case, name) for name in read}
    return _open(replace(Experiment(case.data), **shared, loss=case.loss, seed=seed))


@lru_cache(maxsize=8)
def _open(case: Experiment) -> Dataset:
    return case.dataset()
