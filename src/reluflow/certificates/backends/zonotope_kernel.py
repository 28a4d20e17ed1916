"""Numba kernels: the shortest point of a zonotope (bounded least squares), for one base point or for many."""

from __future__ import annotations

import numpy as np
from numba import njit

from reluflow.arrays import FloatArray
from reluflow.certificates.backends.active_set_kernel import _append, _remove, _solve_factored


@njit(cache=True)
def _dot(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@njit(cache=True)
def shortest_combination(
    base: FloatArray, columns: FloatArray, lower: float, upper: float
) -> tuple[FloatArray, FloatArray]:
    """Minimise |base + sum_i c_i columns[i]| over lower <= c_i <= upper; returns (vector, c).

    Active set over the coefficients strictly inside their interval. Any c in the box gives an upper bound on the
    minimum, so a result cut short by rounding is still on the safe side.
    """
    count, d = columns.shape
    coefficients = np.empty(count)
    lengths = np.empty(count)
    scale = np.sqrt(_dot(base, base))
    middle = base.copy()
    for i in range(count):
        lengths[i] = np.sqrt(_dot(columns[i], columns[i]))
        scale += max(abs(lower), abs(upper)) * lengths[i]
        middle += 0.5 * (lower + upper) * columns[i]
    for i in range(count):  # the end that shortens the centre of the zonotope
        coefficients[i] = lower if _dot(columns[i], middle) > 0.0 else upper
    most = min(count, d)
    factor = np.zeros((most + 1, most + 1))
    gram = columns @ columns.T
    passive = np.empty(most + 1, dtype=np.int64)
    inside = np.zeros(count, dtype=np.bool_)
    refused = np.zeros(count, dtype=np.bool_)
    rhs, step = np.empty(most + 1), np.empty(most + 1)
    size = 0
    vector = base + coefficients @ columns
    for _ in range(20 * (count + 1)):
        best, entering = 1e-14 * scale, -1
        for i in range(count):
            if inside[i] or refused[i] or lengths[i] == 0.0:
                continue
            slope = _dot(columns[i], vector) / lengths[i]
            gain = -slope if coefficients[i] <= lower else slope
            if gain > best:
                best, entering = gain, i
        if entering < 0:
            break
        if size >= most or not _append(factor, size, gram, passive, entering, 1e-14):
            refused[entering] = True
            continue
        inside[entering] = True
        size += 1
        while size > 0:
            for k in range(size):
                rhs[k] = -_dot(columns[passive[k]], vector)
            _solve_factored(factor, size, rhs, step)
            fraction, blocking = 1.0, -1
            for k in range(size):
                c = coefficients[passive[k]]
                room = upper - c if step[k] > 0.0 else c - lower
                if abs(step[k]) > room:
                    ratio = room / abs(step[k])
                    if ratio < fraction or blocking < 0:
                        fraction, blocking = ratio, k
            for k in range(size):
                coefficients[passive[k]] += fraction * step[k]
            if blocking < 0:
                vector = base + coefficients @ columns
                refused[:] = False
                break
            gone = passive[blocking]
            coefficients[gone] = upper if step[blocking] > 0.0 else lower
            vector = base + coefficients @ columns
            inside[gone] = False
            if fraction == 0.0:
                refused[gone] = True
            _remove(factor, size, passive, blocking)
            size -= 1
    return vector, coefficients


@njit(cache=True)
def shortest_over_bases(bases: FloatArray, columns: FloatArray, lower: float, upper: float) -> FloatArray:
    """`shortest_combination` for every row of `bases`: vectors of shape (num_bases, d)."""
    vectors = np.empty_like(bases)
    for k in range(bases.shape[0]):
        vectors[k], _ = shortest_combination(bases[k], columns, lower, upper)
    return vectors
