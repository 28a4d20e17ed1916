"""HiGHS, through SciPy: linear programs in the sparse form the certificates need."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from reluflow.arrays import FloatArray
from reluflow.errors import BackendError


def smallest_largest_residual(
    matrix: csr_matrix, target: FloatArray, inequalities: csr_matrix, *, num_nonnegative: int
) -> FloatArray:
    """Minimise max_i |matrix z - target|_i subject to inequalities z <= 0 and the first coordinates z >= 0."""
    num_rows, num_cols = matrix.shape
    column = csr_matrix(np.ones((num_rows, 1)))
    blocks = vstack(
        [
            hstack([matrix, -column]),
            hstack([-matrix, -column]),
            hstack([inequalities, csr_matrix((inequalities.shape[0], 1))]),
        ]
    )
    rhs = np.concatenate([target, -target, np.zeros(inequalities.shape[0])])
    cost = np.zeros(num_cols + 1)
    cost[-1] = 1.0
    bounds = [(0.0, None)] * num_nonnegative + [(None, None)] * (num_cols - num_nonnegative) + [(0.0, None)]
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    arguments: dict[str, Any] = {"A_ub": csr_matrix(blocks), "b_ub": rhs, "bounds": bounds, "options": options}
    result = linprog(cost, method="highs", **arguments)
    if result.x is None:
        raise BackendError(f"HiGHS ended the multiplier program without a point: {result.message}")
    return np.asarray(result.x[:-1], dtype=np.float64)
