"""Comparison: a number held against a bound, for a hypothesis, a conclusion or the claim of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from reluflow.theory.evidence import Evidence

Found = TypeVar("Found")
Result = TypeVar("Result")
Values = Iterable[ArrayLike]  # numbers of which the worst is held against a bound
Side = Literal["above", "at_least", "below", "at_most", "equals"]


class Level(StrEnum):
    """How strong a conclusion is read."""

    EXACT = "exact"
    BOUND = "bound"
    SCALING = "scaling"


class Source(StrEnum):
    """Whose a statement is: the paper's, or one that this library adds to it."""

    PAPER = "paper"
    RELUFLOW = "reluflow"


@dataclass(frozen=True)
class Comparison:
    """A number, the bound it is compared with, and the slack between them.

    Parameters
    ----------
    holds
        True, False, or None where the evidence does not suffice; `detail` then says what is missing.
    measured, bound
        The two numbers compared, or None.
    slack
        Signed distance to the boundary of the statement, at least 0 exactly where it holds (up to the allowance); of a
        hypothesis it is the margin.
    detail
        The comparison in words.
    is_empty
        Whether there is nothing the statement speaks of (no negative neuron, 0 of 0): neither a pass nor in the way of
        the other conclusions.
    is_certified
        Whether a certificate proves what is compared of the limit itself, so that it decides a statement that is true
        only as t goes to infinity.
    """

    holds: bool | None
    measured: float | None
    bound: float | None
    slack: float | None
    detail: str
    is_empty: bool = False
    is_certified: bool = False

    def __post_init__(self) -> None:
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))  # a NumPy boolean is not the True that callers test for
        for name in ("measured", "bound", "slack"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    @property
    def margin(self) -> float | None:
        """The slack, by the name it has for a hypothesis."""
        return self.slack


# Judgements of hypotheses ---------------------------------------------------------------------------------------------


def judgement(holds: bool | None, margin: float | None, detail: str) -> Comparison:
    """What a hypothesis answers: whether it holds, its signed margin or None, and the measured quantities in words."""
    return Comparison(holds, None, None, margin, detail)


def undecided(why: str) -> Comparison:
    """The judgement of a condition that is out of reach, with the reason."""
    return judgement(None, None, why)


def fails(why: str, margin: float | None = None) -> Comparison:
    """The judgement of a condition that fails for a reason that is not its own inequality."""
    return judgement(False, margin, why)


def positive(margin: float, detail: str) -> Comparison:
    """Holds exactly when the margin is above 0."""
    return judgement(bool(margin > 0.0), float(margin), detail)


# Numbers against bounds -----------------------------------------------------------------------------------------------


def at_most(measured: float, bound: float, *, allowance: float = 0.0, detail: str = "") -> Comparison:
    """Measured <= bound, forgiving an `allowance` for rounding; slack = bound - measured.

    Not a number is never a pass, and neither is -inf: it is the largest of no values, or the logarithm of 0.

    >>> at_most(1.0, 3.0).slack
    2.0
    """
    measured, bound = float(measured), float(bound)
    if measured == -math.inf:
        return nothing(detail or "the largest of no values")
    slack = bound - measured if not (math.isinf(bound) and bound == measured) else 0.0
    holds = bool(measured <= bound + allowance)
    return Comparison(holds, measured, bound, slack, detail or f"{measured:.6g} against at most {bound:.6g}")


def at_least(measured: float, bound: float, *, allowance: float = 0.0, detail: str = "") -> Comparison:
    """Measured >= bound, forgiving an `allowance` for rounding; slack = measured - bound. Of +inf it says nothing.

    >>> at_least(1.0, 3.0).holds
    False
    """
    measured, bound = float(measured), float(bound)
    if measured == math.inf:
        return nothing(detail or "the least of no values")
    slack = measured - bound if not (math.isinf(bound) and bound == measured) else 0.0
    holds = bool(measured >= bound - allowance)
    return Comparison(holds, measured, bound, slack, detail or f"{measured:.6g} against at least {bound:.6g}")


def equals(measured: float, expected: float, *, atol: float, detail: str = "") -> Comparison:
    """|measured - expected| <= atol; slack = atol - |measured - expected|."""
    measured, expected = float(measured), float(expected)
    distance = abs(measured - expected)
    words = detail or f"{measured:.10g} against {expected:.10g}, allowed difference {atol:.2g}"
    return Comparison(bool(distance <= atol), measured, expected, atol - distance, words)


def none_of(count: int, *, total: int | None = None, detail: str = "") -> Comparison:
    """A count of violations that must be 0; slack = -count. Of 0 things it says nothing.

    >>> none_of(0, total=0).holds is None
    True
    """
    if total == 0:
        return nothing(detail or "0 of 0")
    among = "" if total is None else f" of {total}"
    return Comparison(count == 0, float(count), 0.0, float(-count), detail or f"{count}{among} violate it")


def all_of(statements: Iterable[tuple[bool, str]], *, detail: str = "") -> Comparison:
    """Several yes-or-no statements that must all be true; slack = minus the number of false ones."""
    asked = list(statements)
    false_ones = [words for is_true, words in asked if not is_true]
    return none_of(len(false_ones), total=len(asked), detail="; ".join(false_ones) or detail or "all true")


def worst_compared(
    found: float | Values,
    side: Side,
    bound: float,
    *,
    allowance: float = 0.0,
    words: str = "",
    without: str = "",
    empty: str = "there is no number",
    evidence: object = None,
) -> Comparison:
    """A number, or the worst of several, against its bound: `at_most`, `at_least`, `equals`, `above` or `below` it.

    What is not a number is the worst there is. The words may speak of `{measured}`, of `{number}`, which is the same
    as it was found, of `{bound}`, `{count}` and `{evidence.leak}`. Of no number the statement is undecided, for what
    `without` says is missing, or there is nothing to measure, for the reason `empty`.

    >>> worst_compared([1.0, [2.0, 0.5]], "at_most", 3.0, words="largest {measured:g} of {count}").detail
    'largest 2 of 3'
    >>> print(worst_compared([], "at_most", 3.0).holds)
    None
    >>> strict = worst_compared(3, "above", 3, words="{number} against {bound}")
    >>> strict.holds, strict.slack, strict.detail
    (False, 0.0, '3 against 3')
    """
    parts = found if isinstance(found, Iterable) else [found]
    values = np.concatenate([np.empty(0), *(np.ravel(part) for part in parts)])
    if not values.size:
        require(not without, without)
        return nothing(empty)
    if side == "equals":
        worst = float(values[np.argmax(np.abs(values - bound))])
    else:
        worst = float(np.max(values) if side in ("at_most", "below") else np.min(values))
    number = worst if isinstance(found, Iterable) else found
    detail = words.format(measured=worst, number=number, bound=bound, count=values.size, evidence=evidence)
    if side == "equals" and allowance == 0.0:
        return Comparison(worst == bound, worst, bound, None, detail or f"{worst:.10g} against {bound:.10g}")
    if side == "equals":
        return equals(worst, bound, atol=allowance, detail=detail)
    if side in ("above", "below"):
        slack = worst - bound if side == "above" else bound - worst
        return Comparison(slack > 0.0, worst, bound, slack, detail or f"{worst:.6g} against {side} {bound:.6g}")
    compare = at_most if side == "at_most" else at_least
    return compare(worst, bound, allowance=allowance, detail=detail)


class Timed(Protocol):
    """Something recorded at a time."""

    @property
    def time(self) -> float: ...


def least_over(
    states: Sequence[Timed], values: ArrayLike, bound: float, what: str, *, allowance: float = 0.0
) -> Comparison:
    """The least of some values, one per state, which must be at least the bound; the words say when it was met."""
    found = np.asarray(values, dtype=np.float64)
    worst = int(np.argmin(found))
    words = f"least {what} {found[worst]:.6g}, {_when(states, worst)}"
    return at_least(found[worst], bound, allowance=allowance, detail=words)


def largest_over(
    states: Sequence[Timed], values: ArrayLike, bound: float, what: str, *, allowance: float = 0.0
) -> Comparison:
    """The largest of some values, one per state, which must be at most the bound; the words say when it was met."""
    found = np.asarray(values, dtype=np.float64)
    worst = int(np.argmax(found))
    words = f"largest {what} {found[worst]:.6g}, {_when(states, worst)}"
    return at_most(found[worst], bound, allowance=allowance, detail=words)


def _when(states: Sequence[Timed], worst: int) -> str:
    return f"worst at $t$ = {states[worst].time:.6g} among {len(states)} recorded times"


def certified(compared: Comparison) -> Comparison:
    """The same comparison, of a limit that a certificate proves and not of the last state of a run."""
    return replace(compared, is_certified=True)


def nothing(why: str) -> Comparison:
    """The evidence holds nothing the statement speaks of, for example no negative neuron."""
    return Comparison(None, None, None, None, f"nothing to measure: {why}", is_empty=True)


def missing(what: str) -> Comparison:
    """The evidence does not hold what is needed: undecided, never a pass."""
    return Comparison(None, None, None, None, what)


class Undecided(Exception):
    """Raised within a measure or a judgement where the evidence does not hold what it needs; the words say what."""


def require(found: Found | None, what: str) -> Found:
    """What was found; where it is None, False or empty, the statement is undecided, for `what` is missing.

    >>> require([0.5, 0.25], "no snapshot after t_1")
    [0.5, 0.25]
    """
    is_no = isinstance(found, bool | np.bool_) and not found
    if found is None or is_no or (isinstance(found, Sized) and len(found) == 0):
        raise Undecided(what)
    return found


def requires(
    find: Callable[[Evidence], Found | None], what: str, *, at_least: int = 1
) -> Callable[[Callable[[Evidence, Found], Result]], Callable[[Evidence], Result]]:
    """The decorated measure where there is something to measure on; elsewhere undecided, for `what` is missing.

    `find` gives what the measure takes as its second argument, or None, or fewer than `at_least` of them.

    >>> @requires(lambda evidence: evidence.other_scales, "runs at two other scales", at_least=2)
    ... def ends(evidence, other_scales): ...
    """

    def guard(measure: Callable[[Evidence, Found], Result]) -> Callable[[Evidence], Result]:
        @wraps(measure)
        def guarded(evidence: Evidence) -> Result:
            found = require(find(evidence), what)
            require(not isinstance(found, Sized) or len(found) >= at_least, what)
            return measure(evidence, found)

        return guarded

    return guard


def closes_in(distances: Sequence[float], *, share: float = 0.9, floor: float = 1e-9, detail: str = "") -> Comparison:
    """Distances to a limit on the way: the last is at most a share of the first, or below the floor of rounding.

    The papers give no rate for these approaches: they are proved as limits only, and what is seen is a power of
    1/log t. So no bound can be derived, and the share is ours: a tenth must be gone over the recorded times. That is
    some 1e8 times what the tolerance of a run moves a direction by, so a run that stands still or moves away fails;
    but it tells nothing of the speed, and is no proof that there is a limit. What the limit is, another conclusion
    proves beside it.

    >>> closes_in([0.3, 0.3]).holds, closes_in([0.3, 0.1]).holds
    (False, True)
    """
    if len(distances) < 2:
        return missing("two states on the way to the limit")
    first, last = float(distances[0]), float(distances[-1])
    words = detail or f"distance {first:.3g} at first, {last:.3g} at last, at most {share:g} of it"
    return at_most(last, max(share * first, floor), detail=words)


def fitted_slope(abscissae: ArrayLike, ordinates: ArrayLike) -> float:
    """Least-squares slope of ordinates against abscissae.

    >>> round(fitted_slope([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]), 12)
    2.0
    """
    x, y = np.asarray(abscissae, dtype=np.float64), np.asarray(ordinates, dtype=np.float64)
    centred = x - x.mean()
    return float(centred @ (y - y.mean()) / (centred @ centred))


def above_rounding(value: float, rounding: float) -> str:
    """A number in words; of one that is only rounding the bound alone, as its digits differ from machine to machine.

    >>> above_rounding(0.39, 1e-12), above_rounding(4.33e-17, 1e-12)
    ('0.39', 'less than 1e-12')
    """
    return f"{value:.3g}" if abs(value) > rounding else f"less than {rounding:g}"
