"""Measurement: a measured value held against a bound, with the slack between them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike


class Level(StrEnum):
    """How strong a conclusion is read."""

    EXACT = "exact"
    BOUND = "bound"
    SCALING = "scaling"


@dataclass(frozen=True)
class Measurement:
    """Measured value, bound and slack.

    Parameters
    ----------
    holds
        True, False, or None where the evidence does not suffice; `detail` then says what is missing.
    measured, bound
        The two numbers compared, or None.
    slack
        Distance to the boundary of the statement, at least 0 exactly where it holds (up to the allowance).
    detail
        The comparison in words.
    """

    holds: bool | None
    measured: float | None
    bound: float | None
    slack: float | None
    detail: str

    def __post_init__(self) -> None:
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))
        for name in ("measured", "bound", "slack"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))


def at_most(measured: float, bound: float, *, allowance: float = 0.0, detail: str = "") -> Measurement:
    """Measured <= bound, forgiving an `allowance` for rounding; slack = bound - measured.

    Not a number is never a pass.

    >>> at_most(1.0, 3.0).slack
    2.0
    """
    measured, bound = float(measured), float(bound)
    slack = bound - measured if not (math.isinf(bound) and bound == measured) else 0.0
    holds = bool(measured <= bound + allowance)
    return Measurement(holds, measured, bound, slack, detail or f"{measured:.6g} against at most {bound:.6g}")


def at_least(measured: float, bound: float, *, allowance: float = 0.0, detail: str = "") -> Measurement:
    """Measured >= bound, forgiving an `allowance` for rounding; slack = measured - bound.

    >>> at_least(1.0, 3.0).holds
    False
    """
    measured, bound = float(measured), float(bound)
    slack = measured - bound if not (math.isinf(bound) and bound == measured) else 0.0
    holds = bool(measured >= bound - allowance)
    return Measurement(holds, measured, bound, slack, detail or f"{measured:.6g} against at least {bound:.6g}")


def equals(measured: float, expected: float, *, atol: float, detail: str = "") -> Measurement:
    """|measured - expected| <= atol; slack = atol - |measured - expected|."""
    measured, expected = float(measured), float(expected)
    distance = abs(measured - expected)
    words = detail or f"{measured:.10g} against {expected:.10g}, allowed difference {atol:.2g}"
    return Measurement(bool(distance <= atol), measured, expected, atol - distance, words)


def none_of(count: int, *, total: int | None = None, detail: str = "") -> Measurement:
    """A count of violations that must be 0; slack = -count."""
    among = "" if total is None else f" of {total}"
    return Measurement(count == 0, float(count), 0.0, float(-count), detail or f"{count}{among} violate it")


def all_of(statements: Iterable[tuple[bool, str]], *, detail: str = "") -> Measurement:
    """Several yes-or-no statements that must all be true; slack = minus the number of false ones."""
    false_ones = [words for is_true, words in statements if not is_true]
    return none_of(len(false_ones), detail="; ".join(false_ones) if false_ones else detail or "all true")


def missing(what: str) -> Measurement:
    """The evidence does not hold what is needed: undecided, never a pass."""
    return Measurement(None, None, None, None, what)


def fitted_slope(abscissae: ArrayLike, ordinates: ArrayLike) -> float:
    """Least-squares slope of ordinates against abscissae.

    >>> round(fitted_slope([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]), 12)
    2.0
    """
    x, y = np.asarray(abscissae, dtype=np.float64), np.asarray(ordinates, dtype=np.float64)
    centred = x - x.mean()
    return float(centred @ (y - y.mean()) / (centred @ centred))
