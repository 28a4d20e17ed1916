"""DescentRun: what all descent methods share: the clock, the cap on iterations, the way back from an overflow.

Iterates exist at the times lr * k only; between two of them the network stands still.
"""

from __future__ import annotations

import copy
import math
import time
from abc import abstractmethod
from typing import Any, Literal

import numpy as np

from reluflow.dynamics.descent.descent_kernels import SMALLEST_LOSS, Descent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError
from reluflow.network import Network

SlopeAtZero = float | Literal["minimum-norm"] | None

LARGEST_WEIGHT = 1e70  # the square of an output, of fourth order in the weights, must stay a double
_SECONDS_PER_CHUNK = 0.1  # machine code cannot be interrupted, so it comes back this often
_SECONDS_PER_COPY = 2.0  # how often the state is copied, so that an overflow can be taken back
_LARGEST_LOG_SCALE = 300.0  # outputs are of the size of the square of the scale, which must stay a double


class DescentRun(AbstractRun):
    """A run of gradient descent: a clock, a cap on the iterations, and chunks short enough for Ctrl-C.

    Parameters
    ----------
    problem
        What is trained.
    descent
        The constants of its iterations; a `loss_threshold` of 0 stands for a constant rate.
    iterations
        How many at most.
    """

    def __init__(self, problem: TrainingProblem, descent: Descent, *, iterations: int) -> None:
        super().__init__(problem, last_step=iterations)
        self.iterations = iterations
        self._descent = descent
        self.lr, self.loss_threshold = descent.lr, descent.loss_threshold
        self.start_network = materialized(problem.network)
        self._clock = np.zeros(2)  # iteration and time, written by the kernels together with the neurons
        self._chunk = 1
        self._kept: dict[str, Any] = {}
        self._kept_at = -math.inf

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

    def advance(self, limit: float, most_steps: int) -> None:
        """Go on by a twentieth of the iterations so far, not past the time `limit` nor by more than `most_steps`.

        Where no iteration fits before the limit, the network stands still until then.
        """
        count = min(self._iterations_before(limit), self.iteration // 20 + 1, most_steps)
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


def check_count(value: int, name: str) -> None:
    """Refuse what is no whole number of at least 1."""
    if value != int(value) or value < 1:
        raise InvalidInputError(f"`{name}` must be a whole number of at least 1, got {value}.")


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
