"""Numba kernels: nonnegative least squares in Gram form, by an active set with an updated Cholesky factor."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray, FloatMatrix, FloatVector, IntVector
from reluflow.compilation.kernel import kernel


@kernel()
def _solve_factored(upper: FloatMatrix, size: int, rhs: FloatVector, out: FloatVector) -> None:
    """out = (R^T R)^{-1} rhs for the leading block of an upper triangular R."""
    for i in range(size):
        total = rhs[i]
        for k in range(i):
            total -= upper[k, i] * out[k]
        out[i] = total / upper[i, i]
    for i in range(size - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, size):
            total -= upper[i, k] * out[k]
        out[i] = total / upper[i, i]


@kernel()
def _append(
    upper: FloatMatrix, size: int, gram: FloatMatrix, passive: IntVector, column: int, pivot_floor: float
) -> bool:
    """Append one column to the factor; False where it depends on the columns already there."""
    norm = gram[column, column]
    remainder = norm
    for i in range(size):
        total = gram[passive[i], column]
        for k in range(i):
            total -= upper[k, i] * upper[k, size]
        upper[i, size] = total / upper[i, i]
        remainder -= upper[i, size] * upper[i, size]
    if remainder <= pivot_floor * norm:
        return False
    upper[size, size] = np.sqrt(remainder)
    passive[size] = column
    return True


@kernel()
def _remove(upper: FloatMatrix, size: int, passive: IntVector, place: int) -> None:
    """Delete the column at `place` and restore the triangle by Givens rotations."""
    for j in range(place, size - 1):
        passive[j] = passive[j + 1]
        for i in range(j + 2):
            upper[i, j] = upper[i, j + 1]
    for j in range(place, size - 1):
        x, z = upper[j, j], upper[j + 1, j]
        length = np.hypot(x, z)
        c, s = x / length, z / length
        for k in range(j, size - 1):
            p, q = upper[j, k], upper[j + 1, k]
            upper[j, k] = c * p + s * q
            upper[j + 1, k] = c * q - s * p


@kernel(entry=True)
def nonnegative_least_squares(
    gram: FloatMatrix,
    target: FloatVector,
    start: FloatVector,
    tolerance: float,
    pivot_floor: float,
    max_iterations: int,
) -> tuple[FloatArray, int, bool]:
    """Minimise l^T gram l / 2 - target^T l over l >= 0, from a nonnegative start.

    Returns (l, iterations, converged). A column enters when its gradient exceeds `tolerance` and its squared
    distance to the span of the columns inside exceeds `pivot_floor` times its squared norm.
    """
    n = gram.shape[0]
    upper = np.zeros((n, n))
    passive = np.empty(n, dtype=np.int64)
    inside = np.zeros(n, dtype=np.bool_)
    refused = np.zeros(n, dtype=np.bool_)
    value = np.zeros(n)
    rhs = np.empty(n)
    solution = np.empty(n)
    size = 0
    for j in np.argsort(-start):
        if start[j] <= 0.0:
            break
        if _append(upper, size, gram, passive, j, pivot_floor):
            inside[j] = True
            value[j] = start[j]
            size += 1
    fresh = size > 0
    for iteration in range(max_iterations):
        if not fresh:
            best, entering = tolerance, -1
            for j in range(n):
                if inside[j] or refused[j]:
                    continue
                slope = target[j]
                for k in range(size):
                    slope -= gram[j, passive[k]] * value[passive[k]]
                if slope > best:
                    best, entering = slope, j
            if entering < 0:
                return value, iteration, True
            if not _append(upper, size, gram, passive, entering, pivot_floor):
                refused[entering] = True
                continue
            inside[entering] = True
            size += 1
        fresh = False
        while size > 0:
            for k in range(size):
                rhs[k] = target[passive[k]]
            _solve_factored(upper, size, rhs, solution)
            step, blocking = 1.0, -1
            for k in range(size):
                if solution[k] <= 0.0:
                    present = value[passive[k]]
                    ratio = present / (present - solution[k]) if present > 0.0 else 0.0
                    if ratio < step or blocking < 0:
                        step, blocking = ratio, k
            for k in range(size):
                j = passive[k]
                value[j] += step * (solution[k] - value[j])
            if blocking < 0:
                for j in range(n):
                    refused[j] = False
                break
            gone = passive[blocking]
            value[gone] = 0.0
            inside[gone] = False
            # an entering column that is thrown out at once has a gradient made of rounding: do not offer it again
            if step == 0.0:
                refused[gone] = True
            _remove(upper, size, passive, blocking)
            size -= 1
    return value, max_iterations, False
