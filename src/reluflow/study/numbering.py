"""Samples and neurons in sentences: counted from 1, as the rows of a table are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MOST_NAMED = 10


def numbered(indices: Iterable[int]) -> str:
    """Indices, which count from 0, as the numbers of a sentence; of many the first ten.

    Examples
    --------
    >>> numbered([0, 2])
    '1, 3'
    >>> numbered(range(12))
    '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...'
    """
    named = [str(int(index) + 1) for index in islice(indices, MOST_NAMED + 1)]
    return ", ".join(named if len(named) <= MOST_NAMED else [*named[:MOST_NAMED], "..."])
