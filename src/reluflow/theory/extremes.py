"""The least or the largest of many values held against one bound: what most inequalities of the papers come to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec

import numpy as np

from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, Values, at_least, at_most, need, nothing

More = ParamSpec("More")
Bound = float | Callable[[Evidence], float]


def extreme_of(
    compare: Callable[..., Measurement],
    extreme: Callable[..., float],
    values: Values,
    bound: float,
    words: str = "",
    *,
    without: str = "",
    empty: str = "there is nothing to measure",
    allowance: float = 0.0,
) -> Measurement:
    """The extreme of all numbers in some values against a bound; `least_of` and `largest_of` start at `values`.

    Parameters
    ----------
    compare, extreme
        `at_least` with `np.min`, or `at_most` with `np.max`.
    values
        Numbers or arrays of them.
    bound
        What each must reach, or not exceed.
    words
        The comparison: `{}` is the extreme, `{bound}` the bound, `{count}` how many numbers there are.
    without, empty
        Where there is no number: what is missing, and the statement is undecided, or why there is nothing to measure.
    allowance
        For rounding.

    >>> least_of([[3.0, 1.0], 2.0], 0.5, "least {:g} of {count}").detail
    'least 1 of 3'
    >>> largest_of([[3.0, 1.0], 2.0], 0.5).holds
    False
    >>> print(least_of([], 0.5).holds)
    None
    """
    found = [np.ravel(np.asarray(value, dtype=np.float64)) for value in values]
    numbers = np.concatenate(found) if found else np.empty(0)
    need(numbers.size > 0 or not without, without)
    if not numbers.size:
        return nothing(empty)
    worst = float(extreme(numbers))
    return compare(worst, bound, allowance=allowance, detail=words.format(worst, bound=bound, count=numbers.size))


least_of = partial(extreme_of, at_least, np.min)
largest_of = partial(extreme_of, at_most, np.max)


def measuring(
    decide: Callable[..., Measurement], bound: Bound, words: str = "", **options: Any
) -> Callable[[Callable[Concatenate[Evidence, More], Values]], Callable[Concatenate[Evidence, More], Measurement]]:
    """The measure of what the decorated function gives or yields; the bound may depend on the evidence.

    >>> @least(0.0, "least label {:g}")
    ... def labels(evidence: Evidence) -> Values:
    ...     yield evidence.dataset.y
    """

    def decorate(
        find: Callable[Concatenate[Evidence, More], Values],
    ) -> Callable[Concatenate[Evidence, More], Measurement]:
        def measure(evidence: Evidence, /, *args: More.args, **kwargs: More.kwargs) -> Measurement:
            limit = bound(evidence) if callable(bound) else bound
            return decide(find(evidence, *args, **kwargs), limit, words, **options)

        return measure

    return decorate


least, largest = partial(measuring, least_of), partial(measuring, largest_of)
