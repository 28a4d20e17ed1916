"""Machine-code kernels for a neuron that slides on walls: their span, and the multipliers that keep it there."""

from __future__ import annotations

import numpy as np
from numba import njit

from reluflow.arrays import FloatArray, IntArray

_DEPENDENT = 1e-11  # what is left of a unit normal that the others span


@njit(cache=True)
def orthonormalised(normals: FloatArray, walls: IntArray, count: int, basis: FloatArray, triangle: FloatArray) -> int:
    """Write an orthonormal basis of some normals' span into the rows of `basis`; its dimension.

    `triangle[i, r]` is what normal i has along row r, so that the normals are triangle @ basis. A normal that the
    others span has no row of its own; it is moved behind the independent ones in `walls`.
    """
    rank, last = 0, count
    d = normals.shape[1]
    index = 0
    while index < last:
        vector = basis[rank]
        vector[:] = normals[walls[index]]
        triangle[rank, : rank + 1] = 0.0
        for _ in range(2):
            for row in range(rank):
                along = 0.0
                for axis in range(d):
                    along += basis[row, axis] * vector[axis]
                triangle[rank, row] += along
                for axis in range(d):
                    vector[axis] -= along * basis[row, axis]
        length = np.sqrt(np.sum(vector**2))
        if length > _DEPENDENT:
            vector /= length
            triangle[rank, rank] = length
            rank += 1
            index += 1
        else:
            last -= 1
            walls[index], walls[last] = walls[last], walls[index]
    return rank


@njit(cache=True)
def multipliers_of(pulls: FloatArray, basis: FloatArray, triangle: FloatArray, rank: int, out: FloatArray) -> None:
    """The strengths along the first `rank` walls that make each row of `pulls` tangent to them, into `out` (q, s)."""
    q, d = pulls.shape
    for row in range(q):
        for i in range(rank - 1, -1, -1):  # triangle^T multipliers = -basis @ pull
            total = 0.0
            for axis in range(d):
                total -= basis[i, axis] * pulls[row, axis]
            for above in range(i + 1, rank):
                total -= triangle[above, i] * out[row, above]
            out[row, i] = total / triangle[i, i]
