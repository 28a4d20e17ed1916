"""Where the median of five more draws lies, by the ranks of the draws there are: no law of the angles is assumed."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from reluflow.arrays import FloatArray

FIVE = 5  # draws of which the paper takes medians
RARELY = 0.005  # for each of some fifty medians; so that among all of them a quarter of one misses its range


@dataclass(frozen=True)
class MedianRange:
    """Two of our draws between which the median of five others of the same law lies, but for a probability."""

    low: float
    high: float
    num_draws: int
    missed: float

    def has(self, median: float) -> bool:
        """Whether a median lies there."""
        return self.low <= median <= self.high


def median_range(draws: FloatArray) -> MedianRange:
    """The narrowest range from the k-th smallest of these draws to the k-th largest missed with `RARELY` at most.

    That from the smallest to the largest, where even this is missed more often.
    """
    ordered = np.sort(draws)
    num_draws = len(ordered)
    rank = max((k for k in range(1, num_draws // 2 + 1) if missed(num_draws, k) <= RARELY), default=1)
    return MedianRange(float(ordered[rank - 1]), float(ordered[-rank]), num_draws, missed(num_draws, rank))


def missed(num_draws: int, rank: int) -> float:
    """Probability that the median of five draws lies outside the k-th smallest and k-th largest of others, k = `rank`.

    It lies below where at least three of the five come before the k-th of the others; in all orders, equally likely, of
    the draws together, j of them do in C(j + k - 1, j) C(num_draws - k + 5 - j, 5 - j).

    >>> missed(1, 1), round(missed(10, 1), 4), round(missed(25, 1), 4)
    (1.0, 0.044, 0.0049)
    """
    ways = sum(
        comb(j + rank - 1, j) * comb(num_draws - rank + FIVE - j, FIVE - j) for j in range(FIVE // 2 + 1, FIVE + 1)
    )
    return 2.0 * ways / comb(num_draws + FIVE, FIVE)
