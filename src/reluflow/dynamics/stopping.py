"""Stopping rules: when a run has done what was asked of it.

A rule is a frozen dataclass of settings. Its `start` gives the function that `train` asks after every step; what that
function has to remember from one step to the next lies in it, never in the rule, and can be pickled.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError

Check = Callable[[AbstractRun], Outcome | None]


@dataclass(frozen=True)
class AbstractStoppingRule(ABC):
    """A condition on the run as it is."""

    @abstractmethod
    def start(self) -> Check:
        """A function that gives the outcome if the run is done, else None; for one run only."""

    @property
    def time_limit(self) -> float:
        """A time the run must not pass."""
        return np.inf


@dataclass(frozen=True)
class Stationary(AbstractStoppingRule):
    r"""Stop when the norm of the gradient is at most `atol` and no neuron, however light, is still growing or turning.

    The second half excludes plateaus: beside a saddle the gradient is as small as the neurons
    that are about to leave it. For a classification loss the gradient is measured against the total force
    $c \sum_k |\partial\ell/\partial h|$ of the samples it acts on, so that a loss that fades for ever is not taken
    for a minimum. For the
    square loss a fit that leaves less than `loss_rtol` of the loss of the zero network is the end as well: no neuron
    has anything left to grow for, and near a fit forces change sign at rounding level, so neurons may slide on and off
    for ever.

    Parameters
    ----------
    atol
        Largest gradient, relative as said above.
    loss_rtol
        Share of the loss of the zero network below which a fit is the end.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> print(reluflow.train(problem, reluflow.EventDrivenFlow(), until=Stationary(atol=1e-6)).outcome)
    stationary
    """

    atol: float = 1e-8
    loss_rtol: float = 1e-10

    def __post_init__(self) -> None:
        _check_positive("atol", self.atol)
        _check_positive("loss_rtol", self.loss_rtol)

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        gradient = run.gradient()
        if gradient.log_norm - self._log_force(run, gradient.log_rate) > math.log(self.atol):
            return None
        return Outcome.STATIONARY if run.is_settled() or self._is_fitted(run) else None

    @staticmethod
    def _log_force(run: AbstractRun, log_rate: float) -> float:
        """ln of the force the gradient is measured against.

        Samples of output 0, on which no neuron is active, pull on nothing: against their constant force a network that
        grows for ever on the others would look stationary.
        """
        loss, labels = run.problem.loss, run.problem.dataset.y
        if not loss.fades:
            return log_rate
        is_acting = _pulls_on_a_weight(run)
        if is_acting.all() or not is_acting.any():
            return log_rate
        log_forces = loss.log_force(run.outputs()[is_acting], labels[is_acting])
        return float(np.log(loss.sample_weight(len(labels))) + np.logaddexp.reduce(log_forces, axis=None))

    def _is_fitted(self, run: AbstractRun) -> bool:
        loss, dataset = run.problem.loss, run.problem.dataset
        if loss.is_classification:
            return False
        # labels that are all 0 leave nothing to fit but the start itself
        nothing_fitted = loss.total(dataset.zero_outputs(), dataset.y) or run.problem.initial_loss
        return run.loss() <= self.loss_rtol * nothing_fitted


@dataclass(frozen=True)
class DirectionConverged(AbstractStoppingRule):
    """Stop when the direction of all parameters turns by less than `atol` per e-fold of their norm.

    That turning rate is the sine of the angle between the parameters and -grad L, which vanishes exactly at the KKT
    directions of the margin problem. It decays like 1/log t, so a small `atol` asks for very late times. It is small
    during growth as well, when neurons are aligned and the forces still frozen; so every margin $y_k h(x_k)$ must have
    passed `margin` first, where the forces are those of the tail of the loss. Samples on which no neuron is active are
    left out: their outputs stay 0 while the norm grows.

    Parameters
    ----------
    atol
        Largest turning rate of the parameters.
    margin
        Every margin must have passed this first.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("min-toy", width=10).problem()
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), until=DirectionConverged(atol=0.05))
    >>> bool(trajectory.log_time > 5.0)
    True
    """

    atol: float = 1e-3
    margin: float = 10.0

    def __post_init__(self) -> None:
        _check_positive("atol", self.atol)
        _check_positive("margin", self.margin)

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        margins = run.problem.loss.margins(run.outputs(), run.problem.dataset.y)
        is_fitted = bool(np.all(margins >= self.margin))
        if not is_fitted and np.any(margins >= self.margin):
            is_fitted = bool(np.all(margins[_pulls_on_a_weight(run)] >= self.margin))
        return Outcome.DIRECTION_CONVERGED if is_fitted and run.gradient().turning <= self.atol else None


@dataclass(frozen=True)
class FirstOf(AbstractStoppingRule):
    """Stop when the first of several rules says so."""

    rules: tuple[AbstractStoppingRule, ...]

    def start(self) -> Check:
        return _FirstCheck([rule.start() for rule in self.rules])

    @property
    def time_limit(self) -> float:
        return min((rule.time_limit for rule in self.rules), default=np.inf)


class _FirstCheck:
    """The first outcome that one of several checks gives."""

    def __init__(self, checks: list[Check]) -> None:
        self._checks = checks

    def __call__(self, run: AbstractRun) -> Outcome | None:
        return next((outcome for check in self._checks if (outcome := check(run)) is not None), None)


@dataclass(frozen=True)
class Exhausted(AbstractStoppingRule):
    """Never stop a run before it ends by itself: after the iterations of a descent, or at the horizon of a flow."""

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        return None


@dataclass(frozen=True)
class Aligned(AbstractStoppingRule):
    r"""Stop when every neuron that moves points where it is pulled: $1 - \cos(w_j, a_j D_j)$ is at most `atol`.

    Neurons on which nothing pulls are dead and do not count.

    Parameters
    ----------
    atol
        Largest 1 - cos of the angle between a neuron and its pull.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), until=Aligned(atol=1e-2))
    >>> print(trajectory.outcome)
    aligned
    """

    atol: float = 1e-3

    def __post_init__(self) -> None:
        _check_positive("atol", self.atol)

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        return Outcome.ALIGNED if run.misalignment() <= self.atol else None


@dataclass(frozen=True)
class LossBelow(AbstractStoppingRule):
    """Stop when the loss is at most `level`, wherever the run would go from there.

    Parameters
    ----------
    level
        The loss to reach.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> bool(reluflow.train(problem, reluflow.EventDrivenFlow(), until=LossBelow(0.1)).loss <= 0.1)
    True
    """

    level: float

    def __post_init__(self) -> None:
        _check_positive("level", self.level)

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        return Outcome.REACHED if run.loss() <= self.level else None


@dataclass(frozen=True)
class AtTime(AbstractStoppingRule):
    """Stop at time `time`.

    Parameters
    ----------
    time
        When to stop.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> reluflow.train(problem, reluflow.EventDrivenFlow(), until=AtTime(5.0)).time  # `until=5.0` is short for it
    5.0
    """

    time: float

    def __post_init__(self) -> None:
        _check_positive("time", self.time)

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        return Outcome.HORIZON if run.time >= self.time else None

    @property
    def time_limit(self) -> float:
        return self.time


LONGEST_WAIT = 4.0  # seconds of the clock for each second of processor time that a run is allowed


@dataclass(frozen=True)
class Allowance:
    """What a run may cost; no part of what it computes.

    `train` asks it after every step, whatever the rule says and whichever times were requested. It is not written into
    a checkpoint: a run that it ended goes on from there with a larger one, bit by bit.

    Parameters
    ----------
    seconds
        Processor time of the thread that called `train`, so that a busy machine ends a run where an idle one does;
        compiling is not counted. Within `reluflow.budget.counting_work` it is seconds of work, as they are counted
        along the way, with which every machine ends it at the same step. By the clock a run may take `LONGEST_WAIT`
        times as long as it may compute, for what waits (for an accelerator, or for a core) must end too. A step is not
        broken off, so the run may take one longer.
    steps
        Of the whole run, those of earlier calls included.

    Examples
    --------
    >>> Allowance(steps=0)
    Traceback (most recent call last):
        ...
    reluflow.errors.InvalidInputError: `max_steps` must be at least 1, got 0.
    """

    seconds: float = np.inf
    steps: float = np.inf

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise InvalidInputError(f"`max_seconds` must be positive, got {self.seconds}.")
        if not self.steps >= 1:
            raise InvalidInputError(f"`max_steps` must be at least 1, got {self.steps}.")

    def start(self) -> Check:
        """A function that gives the outcome if nothing is left, else None; the clock starts now."""
        if np.isinf(self.seconds):  # no clock is read: that takes as long as a small step on some machines
            return self._steps_taken
        from reluflow.budget import LOADING_SECONDS, SLOWEST, Budget
        from reluflow.compilation.clock import computing_time  # loads Numba, which a run does anyway

        allowed = Budget(self.seconds)
        longest = LOADING_SECONDS + SLOWEST * self.seconds if allowed.is_of_work else self.seconds
        end = computing_time() + LONGEST_WAIT * longest

        def check(run: AbstractRun) -> Outcome | None:
            if run.steps >= self.steps:
                return Outcome.MAX_STEPS
            return Outcome.MAX_SECONDS if allowed.is_spent or computing_time() >= end else None

        return check

    def _steps_taken(self, run: AbstractRun) -> Outcome | None:
        return Outcome.MAX_STEPS if run.steps >= self.steps else None


def _pulls_on_a_weight(run: AbstractRun) -> BoolArray:
    """Which samples pull on a neuron, or on an output bias that is trained, as all do."""
    if run.problem.moves_output_bias:
        return np.ones(run.problem.dataset.n, dtype=bool)
    bias = run.network().b if run.problem.network.b is not None else None
    return is_acted_on(run.outputs() - (0.0 if bias is None else bias))


def is_acted_on(outputs: FloatArray) -> BoolArray:
    """Which samples have an output beyond rounding; 0 where no neuron is active, or all slide along the boundary.

    Of outputs without their bias, shape (n,) or (n, K).
    """
    sizes = np.abs(outputs) if outputs.ndim == 1 else np.max(np.abs(outputs), axis=1)
    return np.asarray(sizes > 1e-9 * np.max(sizes, initial=0.0))


def _check_positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise InvalidInputError(f"`{name}` must be positive and finite, got {value}.")
