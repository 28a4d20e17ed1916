"""The least or the largest of many values held against one bound: what most inequalities of the papers come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_least, at_most, need, nothing

More = ParamSpec("More")
Values = Iterable[ArrayLike]
Bound = float | Callable[[Evidence], float]


def least_of(values: Values, bound: float, words: str = "", **options: Any) -> Measurement:
    """The least of all numbers in some values must be at least the bound.

    Parameters
    ----------
    values
        Numbers or arrays of them.
    bound
        What each must reach.
    words
        The comparison: `{}` is the least, `{bound}` the bound, `{count}` how many numbers there are.
    options
        Where there is no number: `without`, what is missing, and the statement is undecided, or `empty`, why there is
        nothing to measure. And `allowance`, for rounding.

    >>> least_of([[3.0, 1.0], 2.0], 0.5, "least {:g} of {count}").detail
    'least 1 of 3'
    """
    return _extreme(at_least, np.min, np.inf, values, bound, words, **options)


def largest_of(values: Values, bound: float, words: str = "", **options: Any) -> Measurement:
    """The largest of all numbers in some values must be at most the bound; the rest as in `least_of`.

    >>> largest_of([[3.0, 1.0], 2.0], 0.5).holds
    False
    """
    return _extreme(at_most, np.max, -np.inf, values, bound, words, **options)


def _extreme(
    compare: Callable[..., Measurement],
    extreme: Callable[..., float],
    of_none: float,
    values: Values,
    bound: float,
    words: str,
    *,
    without: str = "",
    empty: str = "",
    allowance: float = 0.0,
) -> Measurement:
    found = [np.ravel(np.asarray(value, dtype=np.float64)) for value in values]
    numbers = np.concatenate(found) if found else np.empty(0)
    need(numbers.size > 0 or not without, without)
    if empty and not numbers.size:
        return nothing(empty)
    worst = float(extreme(numbers, initial=of_none))
    return compare(worst, bound, allowance=allowance, detail=words.format(worst, bound=bound, count=numbers.size))


def _measuring(
    decide: Callable[..., Measurement], bound: Bound, words: str = "", **options: Any
) -> Callable[[Callable[Concatenate[Evidence, More], Values]], Callable[Concatenate[Evidence, More], Measurement]]:
    """The measure of what the decorated function gives or yields; the bound may depend on the evidence."""

    def decorate(
        find: Callable[Concatenate[Evidence, More], Values],
    ) -> Callable[Concatenate[Evidence, More], Measurement]:
        def measure(evidence: Evidence, /, *args: More.args, **kwargs: More.kwargs) -> Measurement:
            limit = bound(evidence) if callable(bound) else bound
            return decide(find(evidence, *args, **kwargs), limit, words, **options)

        return measure

    return decorate


least = partial(_measuring, least_of)  # decorators: @least(0.0, "least label {:g}") over a function that yields labels
largest = partial(_measuring, largest_of)
