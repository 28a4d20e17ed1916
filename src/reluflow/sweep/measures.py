"""Measures: what is kept of a finished run. A measure is any function of a `Trajectory` that gives one plain value."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.certificates.limits.certified_limit import CertifiedLimit
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.trajectory import Trajectory
    from reluflow.learning_rates.step_size import StepSize

Function = Callable[["Trajectory"], Any]
PlainValue = bool | int | float | str | None

INTERPOLATES_AT = 1e-8  # loss relative to that of the zero network
LEAST_SQUARES_AT = 1e-5  # largest difference from the least-squares outputs, relative to the largest label


@dataclass(frozen=True)
class Measure:
    """A named function of a finished run.

    Parameters
    ----------
    name
        Its column in the table.
    function
        Takes the `Trajectory`, gives a number, a boolean, a string or None.
    identity
        What its kept values are known by: the name of a built-in one; of a user's own also a digest of its source, so
        that a changed function is computed again.
    """

    name: str
    function: Function
    identity: str

    def __call__(self, trajectory: Trajectory) -> PlainValue:
        return plain_value(self.name, self.function(trajectory))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.identity == self.name:  # built in: the receiver has it
            return measure_named, (self.name,)
        return Measure, (self.name, self.function, self.identity)


def plain_value(name: str, value: Any) -> PlainValue:
    """A number, a boolean, a string or None; anything else is refused."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, Enum):
        value = str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInputError(
        f"`{name}` must give a number, a boolean, a string or None, got {type(value).__name__}; "
        "take one number of it per measure."
    )


_last: list[tuple[Trajectory, CertifiedLimit]] = []


def limit_of(trajectory: Trajectory) -> CertifiedLimit:
    """The certified limit, worked out once for all measures of one run."""
    from reluflow.certificates.limits.certified_limit import certified_limit

    if not _last or _last[0][0] is not trajectory:
        _last[:] = [(trajectory, certified_limit(trajectory))]
    return _last[0][1]


_last_rates: list[tuple[TrainingProblem, StepSize]] = []


def _rates(trajectory: Trajectory) -> StepSize:
    """Descent beside the flow of the case's problem, compared once for all measures of one run."""
    from reluflow.learning_rates.step_size import step_size

    problem = trajectory.problem
    if not _last_rates or _last_rates[0][0] is not problem:
        _last_rates[:] = [(problem, step_size(problem))]
    return _last_rates[0][1]


def _margin_share(trajectory: Trajectory) -> float:
    certificate = limit_of(trajectory).certificate
    return certificate.margin / certificate.global_margin


def _least_squares_distance(trajectory: Trajectory) -> float:
    """Largest difference on the samples from the best linear function, relative to the largest label."""
    data = trajectory.problem.dataset
    if data.classes is not None:  # whose indices are no numbers to fit
        return math.nan
    beta = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    return float(np.max(np.abs(trajectory.predictions - data.X @ beta)) / np.max(np.abs(data.y)))


def _accuracy(trajectory: Trajectory) -> float | None:
    """Share of the samples that are classified as they are labelled; None for numbers."""
    from reluflow.data.classified import wrongly_classified

    data = trajectory.problem.dataset
    if data.classes is None and not data.is_binary:
        return None
    return 1.0 - float(np.mean(wrongly_classified(data, trajectory.predictions)))


def _relative_loss(trajectory: Trajectory) -> float:
    problem = trajectory.problem
    return trajectory.loss / problem.loss.total(problem.dataset.zero_outputs(), problem.dataset.y)


def _noise_fitted(trajectory: Trajectory) -> float:
    """1 - loss / (loss of least squares): 0 at the least-squares line, 1 at a fit; nan where least squares fits."""
    data, loss = trajectory.problem.dataset, trajectory.problem.loss
    if data.classes is not None:
        return math.nan
    outputs = data.X @ np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    left = loss.total(outputs, data.y)
    nothing = loss.total(data.zero_outputs(), data.y)
    return 1.0 - trajectory.loss / left if left > INTERPOLATES_AT * nothing else math.nan


def _end(trajectory: Trajectory) -> str:
    """Which of the two ends of a small-scale regression it is, or neither."""
    from reluflow.dynamics.trajectory import Outcome

    if trajectory.outcome is not Outcome.STATIONARY:
        return trajectory.outcome.code
    if _relative_loss(trajectory) <= INTERPOLATES_AT:
        return "interpolates"
    return "least-squares" if _least_squares_distance(trajectory) <= LEAST_SQUARES_AT else "other"


BUILT_IN: dict[str, tuple[str, Function]] = {
    "outcome": ("why the run ended", lambda t: t.outcome.code),
    "loss": ("the loss at the end point", lambda t: t.loss),
    "relative_loss": ("the same over the loss of the zero network", _relative_loss),
    "kind": ("what the limit is certified to be", lambda t: str(limit_of(t).certificate.kind)),
    "proof": ("whether that certificate speaks of the run's own limit", lambda t: limit_of(t).is_proof),
    "time": ("when the run ended", lambda t: t.time),
    "log_time": ("the logarithm of that time", lambda t: t.log_time),
    "accuracy": ("share of the samples classified as they are labelled", _accuracy),
    "steps": ("steps taken", lambda t: t.steps),
    "crossings": ("how often a neuron met a boundary", lambda t: t.crossings),
    "slides": ("how often a neuron began to slide", lambda t: t.slides),
    "balancedness_drift": ("largest change of |v|^2 - |w|^2", lambda t: t.balancedness_drift),
    "phases": ("names of the phases", lambda t: " ".join(phase.name for phase in t.phases)),
    "margin": ("normalised margin of the limit", lambda t: limit_of(t).certificate.margin),
    "margin_share": ("that margin over the best of any network", _margin_share),
    "least_squares_distance": ("largest difference from the best linear function", _least_squares_distance),
    "interpolates": ("whether it ended with relative loss at most 1e-8", lambda t: _end(t) == "interpolates"),
    "noise_fitted": ("1 - loss over the loss of least squares: 0 at the line, 1 at a fit", _noise_fitted),
    "fits_noise": ("whether that is at least 1/2, or least squares fits", lambda t: not _noise_fitted(t) < 0.5),
    "stable_below": (
        "2 / sharpness at the limit; no larger rate stays there",
        lambda t: _rates(t).stable_below,
    ),
    "same_gates_up_to": ("largest learning rate that meets the flow's walls", lambda t: _rates(t).same_gates.up_to),
    "same_limit_up_to": ("largest learning rate that ends at the flow's limit", lambda t: _rates(t).same_limit.up_to),
    "end": ("least-squares, interpolates, other, or why it did not end", _end),
}


def measure_named(name: str) -> Measure:
    """A built-in measure, `theorem:KEY` or `condition:KEY`.

    >>> measure_named("loss").identity
    'loss'
    """
    kind, colon, key = name.partition(":")
    if name in BUILT_IN:
        return Measure(name, BUILT_IN[name][1], name)
    if colon and kind == "theorem":
        from reluflow.theory.registry import theorem_named

        theorem_named(key)
        return Measure(name, _Verdict(key), name)
    if colon and kind == "condition":
        from reluflow.theory.diagnosis import assumptions

        if key not in {assumption.key for assumption in assumptions()}:
            raise InvalidInputError(f"`{name}` must name a condition of `reluflow diagnose`, got {key!r}.")
        return Measure(name, _ConditionMargin(key), name)
    close = difflib.get_close_matches(name, BUILT_IN, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise InvalidInputError(
        f"`{name}` is not a measure; {hint}there are {', '.join(BUILT_IN)}, theorem:KEY and condition:KEY."
    )


@dataclass(frozen=True)
class _Verdict:
    """The verdict of a theorem on the case's problem, with the run the theorem asks for."""

    key: str

    def __call__(self, trajectory: Trajectory) -> str:
        from reluflow.theory.check import check
        from reluflow.theory.registry import theorem_named

        return str(check(theorem_named(self.key), trajectory.problem).kind)


@dataclass(frozen=True)
class _ConditionMargin:
    """The signed margin of a condition on the data; nan where it cannot be decided."""

    key: str

    def __call__(self, trajectory: Trajectory) -> float:
        from reluflow.theory.diagnosis import diagnose

        problem = trajectory.problem
        condition = diagnose(problem.dataset, problem.loss, leak=problem.network.leak)[self.key]
        return math.nan if condition.margin is None else float(condition.margin)


def as_measures(asked: Sequence[str | Function | Measure]) -> tuple[Measure, ...]:
    """Names and functions as measures, each name once."""
    measures = tuple(_as_measure(item) for item in asked)
    names = [measure.name for measure in measures]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"`measure` must have each name once, got {name!r} twice.")
    return measures


def _as_measure(item: str | Function | Measure) -> Measure:
    if isinstance(item, Measure):
        return item
    if isinstance(item, str):
        return measure_named(item.strip())
    if not callable(item):
        raise InvalidInputError(f"`measure` must hold names and functions of a run, got {type(item).__name__}.")
    name = getattr(item, "__name__", type(item).__name__)
    name = "measure" if name == "<lambda>" else name
    return Measure(name, item, f"{name}@{_digest(item)}")


def _digest(function: Function) -> str:
    """Of the source; of the compiled code where there is no source, as in an interactive session."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code is not None else repr(type(function))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
