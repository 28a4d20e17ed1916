"""Measures made of a function and a bound, `AtMost(largest_rise, 0.0, allowance=1e-12)`, and a statement's numbers.

A measure takes evidence and gives a `Comparison`. One that says more than a number and its bound is a function of its
own. Everything here pickles where its functions do: those of a module, and `functools.partial` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reluflow.theory.comparison import Comparison, Side, Undecided, Values, worst_compared
from reluflow.theory.evidence import Evidence

Measure = Callable[[Evidence], Comparison]
Bound = float | Callable[[Evidence], float]
Constants = Mapping[str, Any]  # numbers, lists and words, ready for JSON


def _value(bound: Bound, evidence: Evidence) -> float:
    return bound(evidence) if callable(bound) else bound


@dataclass(frozen=True)
class _Compared:
    """What `find` gives, held against a bound on one side; of several numbers the worst counts.

    Parameters
    ----------
    find
        The number, or several.
    bound, allowance
        Numbers, or functions of the evidence; the allowance is for rounding.
    words
        The comparison in words, which may speak of `{measured}` or `{number}`, the same as it was found, of `{bound}`,
        `{count}` and `{evidence.leak}`.
    without
        What is missing where there is no number: the statement is then undecided.
    empty
        Else why there is nothing to measure.
    """

    side: ClassVar[Side]
    find: Callable[[Evidence], float | Values]
    bound: Bound
    allowance: Bound = 0.0
    words: str = ""
    without: str = ""
    empty: str = "there is no number"

    def __call__(self, evidence: Evidence) -> Comparison:
        return worst_compared(
            self.find(evidence),
            self.side,
            _value(self.bound, evidence),
            allowance=_value(self.allowance, evidence),
            words=self.words,
            without=self.without,
            empty=self.empty,
            evidence=evidence,
        )


class AtMost(_Compared):
    """At most the bound, up to the allowance."""

    side = "at_most"


class AtLeast(_Compared):
    """At least the bound, up to the allowance."""

    side = "at_least"


class Equals(_Compared):
    """Equal to the bound, up to the allowance; where nothing is allowed there is no slack either."""

    side = "equals"


class Above(_Compared):
    """Greater than the bound."""

    side = "above"


class Below(_Compared):
    """Less than the bound."""

    side = "below"


@dataclass(frozen=True)
class Quantities:
    """The constants or predictions of a statement, each by a function; one that the data do not have is left out.

    Parameters
    ----------
    functions
        By the name under which the number is printed.
    others
        Functions that give several at once, printed first; other `Quantities` among them.
    """

    functions: Mapping[str, Callable[[Evidence], object]]
    others: tuple[Callable[[Evidence], Constants], ...] = ()

    def __call__(self, evidence: Evidence) -> Constants:
        found: dict[str, Any] = {name: value for other in self.others for name, value in other(evidence).items()}
        for name, find in self.functions.items():
            with suppress(Undecided):
                value = find(evidence)
                found[name] = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        return found


@dataclass(frozen=True)
class ScaledDownTo:
    """The factor, as a natural logarithm, that brings a larger network down to a log scale; 0 for a smaller one."""

    log_scale: Bound

    def __call__(self, evidence: Evidence) -> float:
        return min(0.0, _value(self.log_scale, evidence) - evidence.network.log_scale)
