"""Numba kernel: dual coordinate descent for the hard margin, with shrinking; a cheap first guess of the support."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray, FloatMatrix, FloatVector
from reluflow.compilation.kernel import kernel


@kernel(fastmath=True)
def _dot(x: FloatVector, y: FloatVector) -> float:
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@kernel(entry=True, fastmath=True)
def coordinate_descent(Z: FloatMatrix, max_updates: int, tolerance: float) -> tuple[FloatArray, int]:
    """Minimise |Z^T l|^2 / 2 - sum l over l >= 0 one coordinate at a time; returns (l, updates).

    Stops after `max_updates` looks at a coordinate, or when the projected gradient varies by less than `tolerance`
    over one pass of the rows still in play. Rows that sit at zero with a gradient beyond the last pass's largest are
    set aside and never come back: the caller checks every row afterwards.
    """
    n, d = Z.shape
    w = np.zeros(d)
    value = np.zeros(n)
    squared = np.empty(n)
    order = np.arange(n)
    for i in range(n):
        squared[i] = _dot(Z[i], Z[i])
    playing = n
    highest = np.inf
    state = np.uint64(88172645463325252)
    updates = 0
    while updates < max_updates:
        updates += playing
        top, bottom = -np.inf, np.inf
        for i in range(playing - 1, 0, -1):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            j = np.int64(state % np.uint64(i + 1))
            order[i], order[j] = order[j], order[i]
        place = 0
        while place < playing:
            i = order[place]
            gradient = _dot(Z[i], w) - 1.0
            projected = gradient
            if value[i] == 0.0:
                if gradient > highest:
                    playing -= 1
                    order[place], order[playing] = order[playing], order[place]
                    continue
                projected = min(gradient, 0.0)
            top = max(top, projected)
            bottom = min(bottom, projected)
            if abs(projected) > 1e-12 and squared[i] > 0.0:
                fresh = max(value[i] - gradient / squared[i], 0.0)
                change = fresh - value[i]
                value[i] = fresh
                for k in range(d):
                    w[k] += change * Z[i, k]
            place += 1
        if top - bottom <= tolerance:
            break
        highest = top if top > 0.0 else np.inf
    return value, updates
