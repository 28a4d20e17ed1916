"""Machine-code kernels that decide how a neuron standing on several walls at once continues."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SideArray = NDArray[np.int8]

UNIQUE_CODE, RIDGE_CODE = 0, 1
_STILL = 1e-12  # a normal speed below this fraction of the pulls takes no neuron across a wall
_DEPENDENT = 1e-12  # what is left of a unit normal that the others span


@njit(cache=True)
def orthonormalised(normals: FloatArray, walls: IntArray, count: int, basis: FloatArray) -> int:
    """Write an orthonormal basis of some normals' span into the rows of `basis`; its dimension."""
    rank = 0
    d = normals.shape[1]
    for index in range(count):
        basis[rank] = normals[walls[index]]
        for _ in range(2):
            for row in range(rank):
                along = 0.0
                for axis in range(d):
                    along += basis[row, axis] * basis[rank, axis]
                for axis in range(d):
                    basis[rank, axis] -= along * basis[row, axis]
        length = np.sqrt(np.sum(basis[rank] ** 2))
        if length > _DEPENDENT:
            basis[rank] /= length
            rank += 1
    return rank


@njit(cache=True)
def multipliers_of(normals: FloatArray, pulls: FloatArray) -> FloatArray:
    """The q of least norm with N^T q = -(part of the pull in the normals' span), for every row of `pulls`, (q, s)."""
    gram = normals @ normals.T
    right = -(pulls @ normals.T)  # (q, s)
    if gram.shape[0] == 1:
        return right / gram[0, 0]
    values, vectors = np.linalg.eigh(gram)
    projected = right @ vectors
    for i in range(values.shape[0]):
        projected[:, i] *= 1.0 / values[i] if values[i] > 1e-12 * values[-1] else 0.0
    return projected @ vectors.T


@njit(cache=True)
def resolve_sides(
    normals: FloatArray, plus: FloatArray, minus: FloatArray, rest: FloatArray, sign: float, before: SideArray
) -> tuple[SideArray, int]:
    """The sides a neuron on s walls takes: 1, -1, or 0 to slide; and whether the choice is unique.

    A choice is a continuation when the velocity it implies keeps it: a wall left on a side needs the normal velocity
    to point there, and a wall slid on needs its multiplier strictly between the pulls of its two sides, both of which
    push towards it.
    """
    s = plus.shape[0]
    scale = np.sum(np.abs(plus)) + np.sum(np.abs(minus)) + np.sqrt(np.sum(rest**2))
    best = np.zeros(s, dtype=np.int8)
    fallback = np.zeros(s, dtype=np.int8)
    side = np.zeros(s, dtype=np.int8)
    least, found = np.inf, 0
    for code in range(3**s):
        digits = code
        for i in range(s):
            side[i] = digits % 3 - 1
            digits //= 3
        pull = rest.copy()
        num_sliding = 0
        for i in range(s):
            if side[i] == 0:
                num_sliding += 1
            else:
                pull += (plus[i] if side[i] > 0 else minus[i]) * normals[i]
        attracts, violation = True, -np.inf
        if num_sliding > 0:
            chosen = np.empty((num_sliding, normals.shape[1]))
            row = 0
            for i in range(s):
                if side[i] == 0:
                    chosen[row] = normals[i]
                    row += 1
            q = multipliers_of(chosen, pull.reshape(1, -1))[0]
            pull = pull + q @ chosen
            row = 0
            for i in range(s):
                if side[i] == 0:
                    jump = plus[i] - minus[i]
                    inside = min((plus[i] - q[row]) * np.sign(jump), (q[row] - minus[i]) * np.sign(jump))
                    attracts = attracts and sign * jump < 0.0
                    violation = max(violation, -inside)
                    row += 1
        is_still = num_sliding == 0 and not np.any(pull) and not np.any(rest)
        if not is_still:
            for i in range(s):
                if side[i] != 0:
                    violation = max(violation, -sign * side[i] * (normals[i] @ pull))
        if num_sliding == 0 and np.all(side == before) and violation <= _STILL * scale:
            return side.copy(), UNIQUE_CODE
        if not attracts:
            continue
        if violation < 0.0 or is_still:
            found += 1
            best[:] = side
        if violation < least:
            least = violation
            fallback[:] = side
    if found == 0:
        return fallback, UNIQUE_CODE
    return best, UNIQUE_CODE if found == 1 else RIDGE_CODE
