"""Finding the multipliers of a hard margin: a guess, block pivots on it, and an active-set method that always ends.

Unnormalised form throughout: w = sum_i l_i z_i with <w, z_i> >= 1 and equality where l_i > 0. Rows have norm at
most 1. Only a working set of rows is ever put into a Gram matrix; the others are checked one product at a time.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.backends.active_set_kernel import nonnegative_least_squares
from reluflow.certificates.backends.coordinate_descent_kernel import coordinate_descent
from reluflow.certificates.separator_newton import guess_multipliers

_SMALL = 150  # rows below which the active-set method needs no guess
_UPDATES = 600_000  # coordinates the guess may look at: a fraction of a second in any dimension
_CROWD = 300  # rows a working set starts from, at least
_WIDE = 200  # dimension from which Newton steps pay for themselves after failed pivots
_SLACK = 1e-12  # <w, z_i> >= 1 - _SLACK counts as satisfied; the gap tells what it costs


def search_multipliers(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A direction w of shape (d,) and multipliers of shape (n,), up to scale and rounding the optimal pair.

    When the rows are not separable the multipliers are those of a vanishing combination.
    """
    n, d = rows.shape
    guess = np.zeros(n)
    if n > _SMALL:
        guess, _ = coordinate_descent(rows, max(min(_UPDATES, 60 * n), 5 * n), 1e-3)
        found = _block_pivots(rows, np.flatnonzero(guess > 0.0))
        if found is None and d > _WIDE:
            guess = guess_multipliers(rows)
            found = _block_pivots(rows, np.flatnonzero(guess > 0.0))
        if found is not None:
            return found
    return _working_set(rows, guess)


def _block_pivots(
    rows: FloatArray, support: IndexArray, *, max_rounds: int = 25
) -> tuple[FloatArray, FloatArray] | None:
    """Exchange all rows of the wrong sign at once until none is left; None where that does not settle."""
    d = rows.shape[1]
    fewest, patience = np.inf, 4
    for _ in range(max_rounds):
        if not 0 < support.size <= d:
            return None
        solved = _solve_on_support(rows[support])
        if solved is None:
            return None
        w, weights = solved
        margins = rows @ w
        bad = margins < 1.0 - _SLACK
        bad[support] = False
        negative = weights <= 0.0
        count = int(bad.sum() + negative.sum())
        if count == 0:
            multipliers = np.zeros(len(rows))
            multipliers[support] = weights
            return w, multipliers
        if count < fewest:
            fewest, patience = count, 4
        else:
            patience -= 1
            if patience == 0:
                return None
        entering = np.flatnonzero(bad)
        room = max(d - int((~negative).sum()), 1)
        entering = entering[np.argsort(margins[entering])[:room]]
        support = np.sort(np.concatenate([support[~negative], entering]))
    return None


def _solve_on_support(active: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """w = active^T l with active w = 1, by the inverse Gram matrix with refinement, by QR where that is not enough.

    NumPy alone: NumPy and SciPy each bring a pool of BLAS threads, and on few cores the one that waits starves the
    one that works.
    """
    ones = np.ones(len(active))
    try:
        inverse = np.linalg.inv(active @ active.T)
    except np.linalg.LinAlgError:
        return _solve_by_qr(active)
    weights = inverse @ ones
    for _ in range(3):
        residual = ones - active @ (active.T @ weights)
        if np.max(np.abs(residual)) < 1e-14:
            break
        weights = weights + inverse @ residual
    w = active.T @ weights
    if not np.max(np.abs(active @ w - 1.0)) <= 1e-13:
        return _solve_by_qr(active)
    return w, weights


def _solve_by_qr(active: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """The same from a QR factorisation of active^T, whose error grows with the condition number, not its square."""
    if len(active) > active.shape[1]:
        return None
    basis, upper = qr(active.T, mode="economic", check_finite=False)
    diagonal = np.abs(np.diag(upper))
    if diagonal.min() <= 1e-15 * diagonal.max():
        return None
    inner = solve_triangular(upper, np.ones(len(active)), trans="T", check_finite=False)
    return basis @ inner, solve_triangular(upper, inner, check_finite=False)


def _working_set(rows: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Column generation: solve on a few rows, look at all, take in the most violated, until none is or none can be."""
    n, d = rows.shape
    start = guess / guess.sum() if guess.sum() > 0.0 else np.zeros(n)
    crowd = max(_CROWD, 3 * d)
    working = np.arange(n) if n <= crowd else _promising(rows, start, crowd)
    direction, multipliers = np.zeros(d), start
    while True:
        direction, local = _solve_exactly(rows[working], start[working])
        multipliers = np.zeros(n)
        multipliers[working] = local
        margins = rows @ direction
        bad = margins < 1.0 - _SLACK
        bad[working] = False
        # a vanishing combination of the working rows settles the matter for all rows
        if not bad.any() or not np.any(direction):
            return direction, multipliers
        kept = working[(local > 0.0) | (margins[working] < 1.5)]
        violated = np.flatnonzero(bad)
        worst = violated[np.argsort(margins[violated])[: crowd // 2]]
        working = np.union1d(kept if kept.size + worst.size <= 2 * crowd else working[local > 0.0], worst)
        start = multipliers / multipliers.sum()


def _promising(rows: FloatArray, start: FloatArray, count: int) -> IndexArray:
    """The rows with the largest multipliers and those with the smallest margins under the guess."""
    heaviest = np.argpartition(-start, count // 2)[: count // 2]
    lowest = np.argpartition(rows @ (rows.T @ start), count // 2)[: count // 2]
    return np.union1d(heaviest, lowest)


def _solve_exactly(rows: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The pair for these rows alone; direction 0 when a combination of them vanishes to rounding.

    First the projection of the origin on the convex hull, as nonnegative least squares with an appended row of ones
    (bounded for any rows); then, since that form resolves margins only to the square root of rounding, the
    unnormalised form from the support found.
    """
    n, d = rows.shape
    gram = rows @ rows.T
    ones = np.ones(n)
    multipliers, _, _ = nonnegative_least_squares(gram + 1.0, ones, start, 1e-15, 1e-13, 50 * (n + d))
    total = multipliers.sum()
    combination = rows.T @ multipliers
    squared = float(combination @ combination)
    if total == 0.0 or np.sqrt(squared) <= 1e-14 * total:
        return np.zeros(d), multipliers
    best = _polish(rows, combination * (total / squared), multipliers * (total / squared))
    if np.min(rows @ best[0]) < 1.0 - _SLACK:
        again, _, converged = nonnegative_least_squares(
            gram, ones, np.maximum(best[1], 0.0), 1e-13, 1e-15, 50 * (n + d)
        )
        if converged:
            other = _polish(rows, rows.T @ again, again)
            if _margin(rows, other[0]) > _margin(rows, best[0]):
                best = other
    if _margin(rows, best[0]) <= 0.0:
        return np.zeros(d), multipliers
    return best


def _polish(rows: FloatArray, w: FloatArray, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve once more on the support; keep whichever direction has the larger margin."""
    support = np.flatnonzero(multipliers > 0.0)
    if not support.size:  # nothing carries: multipliers that vanished in rounding
        return w, multipliers
    solved = _solve_on_support(rows[support])
    if solved is None:
        return w, multipliers
    fresh = np.zeros(len(rows))
    fresh[support] = np.maximum(solved[1], 0.0)
    if _margin(rows, solved[0]) >= _margin(rows, w):
        return solved[0], fresh
    return w, multipliers


def _margin(rows: FloatArray, w: FloatArray) -> float:
    length = np.linalg.norm(w)
    return float(np.min(rows @ w) / length) if length > 0.0 else -np.inf
