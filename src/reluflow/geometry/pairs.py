"""Quantities over all pairs of samples, in blocks, so that memory stays bounded for any number of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray

PAIR_BUDGET = 1.5e11  # n^2 (d + 100) elementary operations: seconds on two cores, all of MNIST 0 against 1 included
_REFUTING_ROWS = 64
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class PairSummary:
    """Inner products of signed samples z_i = y_i x_i over all pairs i != k.

    Parameters
    ----------
    min_same_class
        Smallest cosine of x_i, x_k over pairs with the same label (inf if there is none).
    max_cross_class
        Largest cosine of x_i, x_k over pairs with different labels (-inf if there is none).
    negative_sums
        sum_k max(-<z_i, z_k>, 0) for each i, shape (n,); not normalised.
    is_complete
        Whether every pair was visited; else the two cosines only bound the true ones and `negative_sums` is empty.
    """

    min_same_class: float
    max_cross_class: float
    negative_sums: FloatArray
    is_complete: bool

    @property
    def mu(self) -> float:
        """Smallest cosine of z_i, z_k over all pairs, the diagonal included: mu of Min et al. [min2024]."""
        return min(1.0, self.min_same_class, -self.max_cross_class)


def pair_summary(X: FloatArray, y: FloatArray) -> PairSummary:
    """Visit all pairs of samples, or, past the budget, as many as it allows.

    Past the budget the first few rows are compared with everything: enough to refute a condition over all pairs, never
    enough to prove it.
    """
    n, d = X.shape
    norms = np.linalg.norm(X, axis=1)
    z = X * y[:, None]
    is_complete = float(n) * n * (d + 100) <= PAIR_BUDGET
    rows = n if is_complete else min(n, _REFUTING_ROWS)
    min_same, max_cross = np.inf, -np.inf
    negative_sums = np.zeros(n if is_complete else 0)
    for row in range(0, rows, _BLOCK):
        left = slice(row, min(row + _BLOCK, rows))
        for column in range(row if is_complete else 0, n, _BLOCK):
            right = slice(column, min(column + _BLOCK, n))
            products = z[left] @ z[right].T
            if is_complete:
                negative = np.maximum(-products, 0.0)
                negative_sums[left] += negative.sum(axis=1)
                if column > row:  # the mirrored block
                    negative_sums[right] += negative.sum(axis=0)
            cosines = products / (norms[left][:, None] * norms[right][None, :])
            same = y[left][:, None] * y[right][None, :] > 0
            max_cross = max(max_cross, float(np.max(np.where(same, -np.inf, -cosines))))
            same &= np.arange(left.start, left.stop)[:, None] != np.arange(right.start, right.stop)
            min_same = min(min_same, float(np.min(np.where(same, cosines, np.inf))))
    return PairSummary(min_same, max_cross, negative_sums, is_complete)


@dataclass(frozen=True, eq=False)
class ClassCosines:
    """Extreme cosines of pairs of samples, by their classes.

    Parameters
    ----------
    smallest_within
        Smallest cosine of two samples of a class, shape (K,); inf where it has fewer than two.
    largest_across
        Largest cosine of a sample of one class and one of another, shape (K, K); -inf on the diagonal.
    is_complete
        Whether every pair was visited; else these only bound the true ones.
    """

    smallest_within: FloatArray
    largest_across: FloatArray
    is_complete: bool

    @property
    def within(self) -> float:
        """mu_s: the smallest cosine within a class, inf if there is no such pair."""
        return float(np.min(self.smallest_within))

    @property
    def across(self) -> float:
        """-mu_d: the largest cosine across classes."""
        return float(np.max(self.largest_across))


def class_cosines(X: FloatArray, labels: FloatArray, num_classes: int) -> ClassCosines:
    """Visit all pairs of samples, or, past the budget, as many as it allows; labels are 0, ..., K - 1.

    >>> found = class_cosines(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), np.array([0.0, 0.0, 1.0]), 2)
    >>> found.within, found.across
    (1.0, 0.0)
    """
    n, d = X.shape
    is_complete = float(n) * n * (d + 100) <= PAIR_BUDGET
    units, classes = X / np.linalg.norm(X, axis=1, keepdims=True), labels.astype(np.int64)
    within, across = np.full(num_classes, np.inf), np.full((num_classes, num_classes), -np.inf)
    members = [np.flatnonzero(classes == c) for c in range(num_classes)]
    seen = members if is_complete else [rows[: max(_REFUTING_ROWS // num_classes, 1)] for rows in members]
    for c in range(num_classes):
        for start in range(0, len(seen[c]), _BLOCK):
            rows = seen[c][start : start + _BLOCK]
            for e in range(num_classes):
                cosines = units[rows] @ units[members[e]].T
                if e != c:
                    across[c, e] = across[e, c] = max(across[c, e], float(np.max(cosines, initial=-np.inf)))
                else:
                    is_other = rows[:, None] != members[e]
                    within[c] = min(within[c], float(np.min(cosines, where=is_other, initial=np.inf)))
    return ClassCosines(within, across, is_complete)
