"""The peer of the cone enumeration: cells of an arrangement, one linear program per candidate."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from reluflow.arrays import FloatArray, SignArray


def cells_by_linear_programs(X: FloatArray) -> SignArray:
    """Sign vectors of the open cells, adding one sample at a time and testing both signs of each cell by an LP.

    Returns
    -------
    patterns
        Shape (num_cells, n).
    """
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    d = X.shape[1]
    cells: list[tuple[int, ...]] = [()]
    for i in range(len(rows)):
        grown = []
        for cell in cells:
            for sign in (1, -1):
                candidate = (*cell, sign)
                signed = np.array(candidate)[:, None] * rows[: i + 1]
                # the widest ball in the cell, within the unit box: positive radius means an open cell
                answer = linprog(
                    np.append(np.zeros(d), -1.0),
                    A_ub=np.hstack([-signed, np.ones((i + 1, 1))]),
                    b_ub=np.zeros(i + 1),
                    bounds=[(-1.0, 1.0)] * d + [(None, 1.0)],
                )
                if answer.x is not None and answer.x[-1] > 1e-9:
                    grown.append(candidate)
        cells = grown
    return np.array(cells, dtype=np.int8)
