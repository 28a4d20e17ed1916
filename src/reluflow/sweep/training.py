"""The one place where a case meets the training API: from settings to a finished run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reluflow.errors import InvalidInputError
from reluflow.sweep.case import Case

if TYPE_CHECKING:
    from reluflow.data.choice import TableChoice
    from reluflow.data.dataset import Dataset
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.solver import AbstractRun, AbstractSolver
    from reluflow.dynamics.stopping import AbstractStoppingRule
    from reluflow.dynamics.trajectory import Trajectory
    from reluflow.geometry.boundary.decision import Ridge
    from reluflow.losses import AbstractLoss, Reduction
    from reluflow.network import Network

INFINITE_WIDTH_NODES = 20_000  # as `reluflow train --width inf`


def problem_of(case: Case) -> TrainingProblem:
    """Dataset, loss and initial network of a case, exactly those of `reluflow train` with the same settings."""
    from reluflow.dynamics.problem import TrainingProblem

    dataset, loss = dataset_and_loss_of(case)
    return TrainingProblem(dataset, loss, _network(case, dataset))


def dataset_and_loss_of(case: Case) -> tuple[Dataset, AbstractLoss]:
    """The data of a case and the loss that is trained on them."""
    _check_files(case)
    dataset = _dataset(case)
    return dataset, _loss(case, dataset)


def finished_run(case: Case, *, progress: Callable[[AbstractRun], None] | None = None) -> Trajectory:
    """Make the run of a case; Ctrl-C raises KeyboardInterrupt rather than giving half a run.

    >>> finished_run(Case("three-points", width=20)).outcome.code
    'stationary'
    """
    from reluflow.dynamics.train import train

    problem = problem_of(case)
    horizon = float("inf") if case.horizon is None else case.horizon
    rule = _rule(case, problem)
    return train(problem, solver_of(case, problem), until=rule, horizon=horizon, progress=progress)


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


def solver_of(case: Case, problem: TrainingProblem) -> AbstractSolver:
    """The method of a case with its settings."""
    if case.method == "flow":
        from reluflow.dynamics.flow.choice import choose_flow
        from reluflow.endings.levelling import may_be_stiff

        ridge, to_the_end = cast("Ridge", case.ridge), case.until in (None, "direction") and may_be_stiff(problem)
        return choose_flow(problem, solver=case.solver, rtol=case.rtol, ridge=ridge, to_the_end=to_the_end).solver
    if case.iterations is None:
        raise InvalidInputError(f"`iterations` must be given with method {case.method}.")
    if case.method == "gd":
        from reluflow.dynamics.descent.gradient_descent import GradientDescent

        return GradientDescent(lr=case.lr, iterations=case.iterations)
    from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent

    return StochasticGradientDescent(lr=case.lr, batch=case.batch, iterations=case.iterations, seed=case.seed)


def _dataset(case: Case) -> Dataset:
    """Made once for all cases that share it; a dataset that no seed changes is one for all seeds."""
    from reluflow.data.registry import REGISTRY

    entry = REGISTRY.get(case.dataset.partition(":")[0])
    seed = case.seed if entry is not None and entry.is_random else 0
    return _open(case.data_spec, case.choice, case.bias, seed, case.digests)


@lru_cache(maxsize=8)
def _open(spec: str, choice: TableChoice, bias: bool, seed: int, digests: tuple[tuple[str, str], ...]) -> Dataset:
    from reluflow.data.registry import open_reading

    return open_reading(spec, choice, bias=bias, seed=seed).dataset


@lru_cache(maxsize=8)
def _check_file(path: str, digest: str, changed: float) -> None:
    if hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest:
        raise InvalidInputError(f"`{path}` must stay as it was when the sweep began, got another content.")


def _check_files(case: Case) -> None:
    for path, digest in case.digests:
        try:
            _check_file(path, digest, Path(path).stat().st_mtime)
        except OSError as error:
            raise InvalidInputError(f"`{path}` cannot be read: {error.strerror or error}.") from error


def _loss(case: Case, dataset: Dataset) -> AbstractLoss:
    from reluflow.losses import loss_named

    name = case.loss or ("logistic" if dataset.is_binary else "square")
    loss = loss_named(name, reduction=cast("Reduction", case.reduction), factor=case.factor)
    loss.check_labels(dataset.y)
    return loss


def _network(case: Case, dataset: Dataset) -> Network:
    from reluflow.network import circle_quadrature, initialization_named, neuron_rng, read_network

    if case.init.lower().endswith(".csv") or "/" in case.init:
        network = read_network(case.init, leak=case.leak)
        if network.d != dataset.d:
            raise InvalidInputError(
                f"`{case.init}` holds neurons of dimension {network.d} but the dataset has dimension {dataset.d}."
            )
        return network
    scheme = initialization_named(case.init)
    if isinstance(case.width, str):
        if scheme.name != "balanced":
            raise InvalidInputError(f"`width` inf is available for init balanced, got {case.init!r}.")
        return circle_quadrature(dataset, num_nodes=INFINITE_WIDTH_NODES, scale=case.scale, leak=case.leak)
    return scheme(dataset, width=case.width, scale=case.scale, rng=neuron_rng(case.seed), leak=case.leak)


def _rule(case: Case, problem: TrainingProblem) -> AbstractStoppingRule:
    """As `reluflow train`: the flow runs to its limit by default, descent through its iterations."""
    from reluflow.dynamics.stopping import Aligned, AtTime, Exhausted, Stationary
    from reluflow.endings.levelling import end_of_training

    if case.until is None and case.method != "flow":
        return Exhausted()
    word = case.until or ("direction" if problem.loss.is_classification else "stationary")
    if word == "stationary":
        return Stationary()
    if word == "aligned":
        return Aligned()
    if word != "direction":
        return AtTime(float(word))
    if not problem.loss.is_classification:
        raise InvalidInputError(f"`until` direction needs a classification loss, got {problem.loss.name}.")
    return end_of_training(problem)
