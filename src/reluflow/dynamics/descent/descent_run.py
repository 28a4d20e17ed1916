"""DescentRun: what all descent methods share, and `descend`, which keeps what was asked for on the way.

Iterates exist at the times lr * k only; between two of them the network stands still.
"""

from __future__ import annotations

import copy
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.descent.descent_kernels import SMALLEST_LOSS
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver, Gradient
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.errors import InvalidInputError
from reluflow.network import Network

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SlopeAtZero = float | Literal["minimum-norm"] | None

LARGEST_WEIGHT = 1e70  # the square of an output, of fourth order in the weights, must stay a double
_SECONDS_PER_CHUNK = 0.1  # machine code cannot be interrupted, so it comes back this often
_SECONDS_PER_COPY = 2.0  # how often the state is copied, so that an overflow can be taken back
_RESTING_PULL = 1e-6  # share of the pull of all labels together below which a neuron counts as at rest
_LARGEST_LOG_SCALE = 300.0  # outputs are of the size of the square of the scale, which must stay a double


class DescentRun(AbstractRun):
    """A run of gradient descent: a clock, a cap on the iterations, and chunks short enough for Ctrl-C.

    Parameters
    ----------
    problem
        What is trained.
    lr
        Learning rate.
    iterations
        How many at most.
    loss_threshold
        The rate is lr loss_threshold / L once L is below; 0 for a constant rate.
    """

    def __init__(self, problem: TrainingProblem, *, lr: float, iterations: int, loss_threshold: float = 0.0) -> None:
        super().__init__(problem)
        self.lr = lr
        self.iterations = iterations
        self.loss_threshold = loss_threshold
        self.start_network = materialized(problem.network)
        self._clock = np.zeros(2)  # iteration and time, written by the kernels together with the neurons
        self._chunk = 1
        self._kept: dict[str, Any] = {}
        self._kept_at = -math.inf
        self._start_balancedness = self.start_network.balancedness()
        self._largest_squares = _squared_norms(self.start_network)

    @property
    @abstractmethod
    def _state_names(self) -> tuple[str, ...]:
        """The attributes that an iteration changes, besides the clock."""

    @abstractmethod
    def _iterate(self, count: int) -> None:
        """Take `count` iterations, fewer if the rate vanishes, and move the clock."""

    @property
    def iteration(self) -> int:
        """Iterations taken."""
        return int(self._clock[0])

    def iterate_to(self, iteration: int) -> None:
        """Go on to an iteration, or to the outcome that comes first."""
        while self.outcome is None and self.iteration < min(iteration, self.iterations):
            count = min(self._chunk, min(iteration, self.iterations) - self.iteration)
            expected = self.iteration + count
            began = time.perf_counter()
            if began > self._kept_at + _SECONDS_PER_COPY:
                self._keep()
            try:
                self._iterate_quietly(count)
            finally:  # an interrupt comes after the machine code has moved the neurons
                self._read_clock()
            if self.outcome is None and self.iteration < expected:
                self.outcome = Outcome.VANISHED
            seconds = time.perf_counter() - began
            if count == self._chunk and seconds < 0.5 * _SECONDS_PER_CHUNK:
                self._chunk *= 2
            elif seconds > 2.0 * _SECONDS_PER_CHUNK:
                self._chunk = max(1, self._chunk // 2)

    def _iterate_quietly(self, count: int) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is looked for after each chunk
            self._iterate(count)

    def _read_clock(self) -> None:
        if self.iteration == self.steps:
            return
        if not self._is_finite():
            self._return_to_last_finite()
            self.outcome = Outcome.DIVERGED
        elif self.iteration >= self.iterations:
            self.outcome = Outcome.HORIZON
        self.steps = self.force_evaluations = self.iteration
        self.time = float(self._clock[1])
        self.log_time = math.log(self.time) if self.time > 0 else -math.inf

    def _is_finite(self) -> bool:
        """Whether the outputs, and so their squares, are still numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.all(np.abs(self.outputs()) < LARGEST_WEIGHT**2))

    def _keep(self) -> None:
        """Copy the state, to return to if the iterates overflow."""
        self._kept = {name: copy.deepcopy(getattr(self, name)) for name in ("_clock", *self._state_names)}
        self._kept_at = time.perf_counter()

    def _restore(self) -> None:
        for name, value in self._kept.items():
            setattr(self, name, copy.deepcopy(value))

    def _return_to_last_finite(self) -> None:
        """Find by bisection the last iteration before the iterates overflowed, and stand there."""
        last = self.iteration
        self._restore()
        while last - self.iteration > 1:
            middle = (self.iteration + last) // 2
            self._iterate_quietly(middle - self.iteration)
            if self._is_finite():
                self._keep()
            else:
                last = middle
                self._restore()

    def advance(self, limit: float) -> None:
        """Go on by a twentieth of the iterations so far, not past the time `limit`.

        Where no iteration fits before the limit, the network stands still until then.
        """
        count = min(self._iterations_before(limit), self.iteration // 20 + 1)
        if count > 0:
            self.iterate_to(self.iteration + count)
        else:
            self.time, self.log_time = limit, math.log(limit) if limit > 0 else -math.inf

    def rate(self) -> float:
        """The rate of the next iteration; 0 where the loss it is divided by has gone."""
        if self.loss_threshold == 0.0 or (loss := self.loss()) >= self.loss_threshold:
            return self.lr
        return self.lr * (self.loss_threshold / loss) if loss > SMALLEST_LOSS else 0.0

    def _iterations_before(self, limit: float) -> int:
        """How many iterations surely stay within the time `limit`; a rate that varies is known one ahead only."""
        if self.loss_threshold == 0.0:
            return iteration_at(limit, self.lr) - self.iteration
        if math.isinf(limit):
            return self.iterations
        return int(self._clock[1] + self.rate() <= limit)

    def gradient(self) -> Gradient:
        network, pulls = self._pulls()
        along = np.einsum("jd,jd->j", network.w, pulls)
        square = np.sum(network.weight * (np.square(network.a) * np.sum(pulls**2, axis=1) + np.square(along)))
        size = network.squared_norm()
        if square == 0.0 or size == 0.0:
            return Gradient(-math.inf, 0.0)
        cosine = 2.0 * np.sum(network.weight * network.a * along) / math.sqrt(square * size)
        return Gradient(0.5 * math.log(square), math.sqrt(max(0.0, 1.0 - float(cosine) ** 2)))

    def is_settled(self) -> bool:
        network, pulls = self._pulls()
        dataset = self.problem.dataset
        start = np.abs(self.problem.loss.label_forces(dataset.y)) @ np.linalg.norm(dataset.X, axis=1)
        is_pulled = np.linalg.norm(pulls, axis=1) > _RESTING_PULL * start
        return bool(np.all(_cosines(network, pulls)[is_pulled] <= -1.0 + 1e-9))

    def misalignment(self) -> float:
        network, pulls = self._pulls()
        return float(1.0 - np.min(_cosines(network, pulls)[np.any(pulls, axis=1)], initial=1.0))

    def limit(self, outcome: Outcome) -> Limit:
        return Limit(self.network(), self.gradient().norm, False, 0, "The last iterate, not polished.")

    def _pulls(self) -> tuple[Network, FloatArray]:
        """The network now and D_j of every neuron, shape (num_neurons, d), with the leak as slope at zero."""
        network, dataset = self.network(), self.problem.dataset
        forces = self.problem.loss.forces(self.outputs(), dataset.y)
        slopes = np.where(network.pre_activations(dataset.X) > 0, 1.0, network.leak)
        return network, np.asarray((slopes * forces) @ dataset.X)

    def balancedness_drift(self) -> float:
        now = self.network()
        self._largest_squares = np.maximum(self._largest_squares, _squared_norms(now))
        drift = np.abs(now.balancedness() - self._start_balancedness)
        return float(np.max(np.divide(drift, self._largest_squares, out=drift, where=self._largest_squares > 0)))


@dataclass(frozen=True, eq=False)
class DescentHistory:
    """What `descend` kept.

    Parameters
    ----------
    iterations, times
        Of the snapshots, shapes (s,).
    networks
        The network at each snapshot.
    outputs
        h(x_k) at each snapshot, shape (s, n).
    loss_iterations, losses
        The loss at the snapshots and at the iterations asked for besides, shapes (l,).
    outcome
        Why the run ended by itself, or None.
    is_interrupted
        Whether Ctrl-C ended it; what was kept before is here.
    """

    iterations: IntArray
    times: FloatArray
    networks: tuple[Network, ...]
    outputs: FloatArray
    loss_iterations: IntArray
    losses: FloatArray
    outcome: Outcome | None
    is_interrupted: bool


def descend(
    problem: TrainingProblem,
    solver: AbstractSolver,
    *,
    iterations: Iterable[int] | None = None,
    loss_iterations: Iterable[int] = (),
    progress: Callable[[int, float], None] | None = None,
) -> DescentHistory:
    """Run a descent method and keep the networks at chosen iterations.

    Parameters
    ----------
    problem
        What is trained.
    solver
        A descent method.
    iterations
        Snapshots; by default the geometric ones up to the solver's last iteration.
    loss_iterations
        Where the loss is kept besides.
    progress
        Called with the iteration and the loss at each recorded iteration.
    """
    run = solver.start(problem)
    if not isinstance(run, DescentRun):
        raise InvalidInputError(f"`solver` must be a descent method, got {type(solver).__name__}; use `train`.")
    snapshots = set(geometric_iterations(run.iterations) if iterations is None else map(int, iterations))
    stops = sorted(snapshots | set(map(int, loss_iterations)))
    if stops and not 0 <= stops[0] <= stops[-1] <= run.iterations:
        raise InvalidInputError(
            f"iterations to keep must lie between 0 and `iterations` = {run.iterations}, got {stops[0]} to {stops[-1]}."
        )
    kept: list[tuple[int, float, Network, FloatArray]] = []
    losses: list[tuple[int, float]] = []
    is_interrupted = False
    try:
        for stop in stops:
            run.iterate_to(stop)
            if run.iteration != stop:
                break
            losses.append((stop, run.loss()))
            if stop in snapshots:
                kept.append((stop, float(run._clock[1]), run.network(), run.outputs()))
            if progress is not None:
                progress(*losses[-1])
        run.iterate_to(run.iterations)
    except KeyboardInterrupt:
        is_interrupted = True
    return DescentHistory(
        iterations=np.array([entry[0] for entry in kept], dtype=np.int64),
        times=np.array([entry[1] for entry in kept]),
        networks=tuple(entry[2] for entry in kept),
        outputs=np.array([entry[3] for entry in kept]).reshape(len(kept), problem.dataset.n),
        loss_iterations=np.array([entry[0] for entry in losses], dtype=np.int64),
        losses=np.array([entry[1] for entry in losses]),
        outcome=run.outcome,
        is_interrupted=is_interrupted,
    )


def geometric_iterations(last: int) -> list[int]:
    """0, 1, then floor(1.1 * previous) + 1, and the last: Boursier & Flammarion's snapshots [boursier2024, code].

    >>> geometric_iterations(10)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    >>> geometric_iterations(1_999_999)[73], len(geometric_iterations(1_999_999))
    (6504, 135)
    """
    kept = [0]
    while kept[-1] < last:
        following = 1 if kept[-1] == 0 else 11 * kept[-1] // 10 + 1
        kept.append(min(following, last))
    return kept


def iteration_at(t: float, lr: float) -> int:
    """The last iteration not after time `t` = lr * iteration, a millionth of an iteration forgiven for rounding.

    >>> iteration_at(0.3, 0.1), iteration_at(0.35, 0.1)
    (3, 3)
    """
    return int(min(t / lr + 1e-6, 2.0**62))


def materialized(network: Network) -> Network:
    """The network with its scale multiplied in, or a refusal: descent adds numbers, so they must be doubles."""
    if abs(network.log_scale) > _LARGEST_LOG_SCALE:
        raise InvalidInputError(
            f"`network` has scale e^{network.log_scale:.4g}; gradient descent needs one between e^-300 and e^300 "
            "(about 1e-130 to 1e130), and `EventDrivenFlow` takes any."
        )
    return network.materialized()


def checked_rate(lr: float) -> float:
    """A positive learning rate, or a refusal."""
    if not (np.isfinite(lr) and lr > 0):
        raise InvalidInputError(f"`lr` must be positive and finite, got {lr}.")
    return float(lr)


def checked_count(value: int, name: str) -> int:
    """A whole number of at least 1, or a refusal."""
    if value != int(value) or value < 1:
        raise InvalidInputError(f"`{name}` must be a whole number of at least 1, got {value}.")
    return int(value)


def slope_value(slope_at_zero: SlopeAtZero, leak: float) -> float:
    """The slope used at <w, x> = 0, nan for the minimum-norm element; None is the leak, as deep-learning codes do."""
    if slope_at_zero is None:
        return leak
    if isinstance(slope_at_zero, str):
        return math.nan
    if not leak <= slope_at_zero <= 1.0:
        raise InvalidInputError(
            f"`slope_at_zero` must lie in [leak, 1] = [{leak:g}, 1] or be 'minimum-norm', got {slope_at_zero}."
        )
    return float(slope_at_zero)


def _cosines(network: Network, pulls: FloatArray) -> FloatArray:
    """cos(w_j, a_j D_j), 0 where a factor is zero."""
    lengths = np.linalg.norm(network.w, axis=1) * np.linalg.norm(pulls, axis=1)
    products = np.sign(network.a) * np.einsum("jd,jd->j", network.w, pulls)
    return np.asarray(products / np.where(lengths > 0.0, lengths, 1.0))


def _squared_norms(network: Network) -> FloatArray:
    return np.asarray(np.square(network.a) + np.einsum("jd,jd->j", network.w, network.w))
