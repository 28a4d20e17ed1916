"""Whether vectors lie in an open half-space: decided by proofs that hold in exact arithmetic, or not at all.

Raw data have columns of very different sizes, on which a search in floating point resolves nothing. So rows and
columns are brought to size one, a linear program proposes, and what it proposes is verified for the numbers as given:
a separator by the sign of every product, a vanishing combination by bounds on all rounding errors, or in rationals.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.linalg import qr

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.backends.highs import deepest_combination, widest_direction

EPS = float(np.finfo(np.float64).eps)
LARGEST_PROGRAM = 2_000_000  # n d up to which the linear programs take seconds
MOST_RATIONALS = 64  # support up to which a combination is solved for in rationals


def equilibrated(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows at size about one in every column, by powers of two so that no digit is lost; factors of columns and rows.

    >>> equilibrated(np.array([[1e6, 1e-3], [2e6, 0.0]]))[0].round(2).tolist()
    [[0.48, 1.02], [0.95, 0.0]]
    """
    largest = np.max(np.abs(rows), axis=0)
    columns = np.exp2(-np.round(np.log2(np.where(largest > 0.0, largest, 1.0))))
    scaled = rows * columns
    longest = np.max(np.abs(scaled), axis=1)
    factors = np.exp2(-np.round(np.log2(np.where(longest > 0.0, longest, 1.0))))
    return scaled * factors[:, None], columns, factors


def is_separator(rows: FloatArray, w: FloatArray) -> bool:
    """Whether <w, z_i> > 0 for every row, for the numbers as they are: exact.

    >>> bool(is_separator(np.array([[1.0, 1e-17]]), np.array([1.0, 0.0])))
    True
    """
    products = rows @ w
    # |fl(<z, w>) - <z, w>| <= gamma_d sum |z||w|, gamma_d = d eps / (1 - d eps), with room for its own rounding
    bound = 1.01 * (w.size + 1) * EPS * (np.abs(rows) @ np.abs(w)) + np.finfo(np.float64).tiny
    if np.any(products < -bound):
        return False
    exact = [Fraction(float(value)) for value in w]
    for row in rows[products <= bound]:
        if sum((Fraction(float(z)) * value for z, value in zip(row, exact, strict=True)), Fraction(0)) <= 0:
            return False
    return True


def proposed_separator(rows: FloatArray) -> FloatArray | None:
    """A direction that separates the rows, verified; None where the program finds none or is too large."""
    if rows.size > LARGEST_PROGRAM:
        return None
    scaled, columns, _ = equilibrated(rows)
    found = widest_direction(scaled)
    if found is None:
        return None
    w = np.asarray(found * columns)
    return w if is_separator(rows, w) else None


def proved_combination(rows: FloatArray, guess: FloatArray | None = None) -> FloatArray | None:
    """Multipliers l >= 0, not all 0, beside which sum_i l_i z_i = 0 holds exactly; None where none is proved.

    Either the origin is an inner point of the hull of the rows: then every small error of a combination can be made
    good by rows that span the space, and bounds on their inverse and on all rounding errors show that the corrected
    multipliers are still positive. Or a combination of few rows is solved for in rationals.
    """
    if not np.all(np.any(rows != 0.0, axis=1)):
        return np.asarray(np.eye(1, len(rows), int(np.argmin(np.any(rows != 0.0, axis=1))))[0], dtype=np.float64)
    scaled, _, factors = equilibrated(rows)
    found: FloatArray | None = None
    if rows.size <= LARGEST_PROGRAM:
        inner = deepest_combination(scaled, lift=True)
        if inner is not None and _can_be_corrected(scaled, inner):
            return inner * factors
        few = deepest_combination(scaled, lift=False)
        if few is not None:
            found = _in_rationals(scaled, np.flatnonzero(few > 1e-12 * few.max()))
    if found is None and guess is not None and guess.max() > 0.0:
        found = _in_rationals(scaled, np.flatnonzero(guess > 1e-12 * guess.max()))
    return None if found is None else found * factors


def _can_be_corrected(rows: FloatArray, multipliers: FloatArray) -> bool:
    """Whether exact positive multipliers of a vanishing combination exist beside these."""
    n, d = rows.shape
    _, upper, order = qr(rows.T, mode="economic", pivoting=True)
    if n < d or not abs(upper[-1, -1]) > 1e-10 * abs(upper[0, 0]):
        return False
    basis = rows[order[:d]].T  # (d, d), columns are rows of the data
    try:
        inverse = np.linalg.inv(basis)
    except np.linalg.LinAlgError:
        return False
    # |I - inverse basis| <= c < 1 gives |basis^-1| <= |inverse| / (1 - c), all in the largest row sum
    rounding = 1.01 * (d + 1) * EPS
    defect = float(np.max(np.sum(np.abs(np.eye(d) - inverse @ basis), axis=1)))
    defect += rounding * float(np.max(np.sum(np.abs(inverse) @ np.abs(basis), axis=1))) + EPS
    if not defect < 0.5:
        return False
    residual = np.abs(rows.T @ multipliers) + 1.01 * (n + 1) * EPS * (np.abs(rows).T @ multipliers)
    correction = float(np.max(np.sum(np.abs(inverse), axis=1))) * float(np.max(residual)) / (1.0 - defect)
    return bool(np.min(multipliers) >= 0.0 and np.min(multipliers[order[:d]]) > 1.01 * correction)


def _in_rationals(rows: FloatArray, support: IndexArray) -> FloatArray | None:
    """Positive multipliers on `support` of a combination that vanishes, solved for in rationals; None if none does.

    The equations must leave one solution up to scale, as those of a vertex do.
    """
    if not 0 < support.size <= MOST_RATIONALS:
        return None
    matrix = [[Fraction(float(rows[i, j])) for i in support] for j in range(rows.shape[1])]
    pivots: list[int] = []
    place = 0
    for column in range(support.size):
        chosen = next((r for r in range(place, len(matrix)) if matrix[r][column] != 0), None)
        if chosen is None:
            continue
        matrix[place], matrix[chosen] = matrix[chosen], matrix[place]
        head = matrix[place][column]
        matrix[place] = [value / head for value in matrix[place]]
        for r in range(len(matrix)):
            if r != place and matrix[r][column] != 0:
                factor = matrix[r][column]
                matrix[r] = [value - factor * top for value, top in zip(matrix[r], matrix[place], strict=True)]
        pivots.append(column)
        place += 1
    free = [column for column in range(support.size) if column not in pivots]
    if len(free) != 1:
        return None
    solution = {free[0]: Fraction(1)} | {column: -matrix[r][free[0]] for r, column in enumerate(pivots)}
    if any(value < 0 for value in solution.values()):
        return None
    multipliers = np.zeros(len(rows))
    for column, value in solution.items():
        multipliers[support[column]] = float(value)
    return multipliers
