"""StochasticGradientDescent: mini-batches, reshuffled at each epoch from one seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.descent.dense_step import Weights, dense_step
from reluflow.dynamics.descent.descent_kernels import Descent
from reluflow.dynamics.descent.descent_run import LARGEST_WEIGHT, DescentRun, SlopeAtZero, check_count
from reluflow.dynamics.descent.gradient_descent import check_descent, descent_of, describe_rate
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractSolver
from reluflow.dynamics.trajectory import Law
from reluflow.errors import InvalidInputError
from reluflow.network import Network


@dataclass(frozen=True)
class StochasticGradientDescent(AbstractSolver):
    """Gradient descent on batches that go through a fresh random order of the samples in each epoch.

    The forces of a batch of b samples are weighted by n/b, so that a step is right on average: the mean loss gives
    the mean over the batch, the summed loss n/b times the sum, and iteration k is at time lr * k of the same flow as
    for full-batch descent. The last batch of an epoch may be smaller; its own b counts.

    Parameters
    ----------
    lr
        Learning rate.
    batch
        Samples per batch; at most n.
    epochs, iterations
        How long, in passes over the samples or in batches: one of the two.
    seed
        Fixes every shuffle; the same run gives the same numbers.
    slope_at_zero
        As for `GradientDescent`.
    trains_output_layer
        False keeps every output weight as it is and trains w only.

    References
    ----------
    Phuong & Lampert (2021), Sec. 5.1 [phuong2021]; fixed output layer: Min et al. (2024), App. A.5, Fig. 13 [min2024].

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> solver = StochasticGradientDescent(lr=0.01, batch=1, epochs=500, seed=0)
    >>> trajectory = reluflow.train(problem, solver)
    >>> print(trajectory.outcome, bool(trajectory.loss < 0.31))
    horizon True
    """

    law: ClassVar[Law] = Law.DESCENT

    lr: float
    batch: int
    epochs: int | None = None
    iterations: int | None = None
    seed: int = 0
    slope_at_zero: SlopeAtZero = None
    trains_output_layer: bool = True

    def __post_init__(self) -> None:
        if (self.epochs is None) == (self.iterations is None):
            raise InvalidInputError("exactly one of `epochs` and `iterations` must be given.")
        if self.epochs is not None:
            check_count(self.epochs, "epochs")
        check_count(self.batch, "batch")
        check_descent(self.lr, 1 if self.iterations is None else self.iterations, self.slope_at_zero)

    def start(self, problem: TrainingProblem) -> StochasticRun:
        n = problem.dataset.n
        if self.batch > n:
            raise InvalidInputError(f"`batch` must be at most n = {n}, got {self.batch}; n is full-batch descent.")
        per_epoch = -(-n // self.batch)
        iterations = self.iterations if self.epochs is None else self.epochs * per_epoch
        descent = descent_of(problem, self.lr, self.slope_at_zero, trains_output_layer=self.trains_output_layer)
        return StochasticRun(problem, descent, batch=self.batch, iterations=int(iterations or 0), seed=self.seed)

    def describe(self) -> str:
        layers = "both layers" if self.trains_output_layer else "first layer only"
        rate = describe_rate(self.lr, self.slope_at_zero, False)
        return f"stochastic gradient descent, batch {self.batch}, seed {self.seed}, {rate}, {layers}"


class StochasticRun(DescentRun):
    """A run of stochastic gradient descent."""

    def __init__(self, problem: TrainingProblem, descent: Descent, *, batch: int, iterations: int, seed: int) -> None:
        super().__init__(problem, descent, iterations=iterations)
        self._batch = batch
        self._batches_per_epoch = -(-problem.dataset.n // batch)
        self._rng = np.random.default_rng(seed)
        self._order = np.arange(problem.dataset.n)
        self._state = Weights.of(self.start_network)
        self._batch_loss = replace(problem.loss, reduction="mean")  # the mean over whatever the batch holds
        is_sum = problem.loss.reduction == "sum"
        self._force_factor = float(problem.dataset.n) if is_sum else 1.0

    @property
    def _state_names(self) -> tuple[str, ...]:
        return ("_state", "_rng", "_order")

    def _is_finite(self) -> bool:
        """As for every descent, from the weights: outputs on all samples would cost as much as many batches."""
        return all(part is None or bool(np.all(np.abs(part) < LARGEST_WEIGHT)) for part in self._state)

    def _iterate(self, count: int) -> None:
        dataset = self.problem.dataset
        for _ in range(count):
            iteration = self.iteration
            first = (iteration % self._batches_per_epoch) * self._batch
            if first == 0:
                self._order = self._rng.permutation(dataset.n)
            chosen = self._order[first : first + self._batch]
            samples = dataset.X[chosen]
            products = self._state.w @ samples.T
            outputs = self._state.outputs(products, self.start_network)
            forces = self._force_factor * self._batch_loss.forces(outputs, dataset.y[chosen])
            state = dense_step(
                *(self._state, products, forces, samples, self.lr, self._descent),
                moves_bias=self.problem.moves_output_bias,
            )
            self._state, self._clock = state, np.array([iteration + 1.0, self.lr * (iteration + 1)])

    def outputs(self) -> FloatArray:
        return self._state.outputs(self._state.w @ self.problem.dataset.X.T, self.start_network)

    def network(self) -> Network:
        return self._state.network(self.start_network)
