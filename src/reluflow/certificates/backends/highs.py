"""HiGHS, through SciPy: linear programs in the sparse form the certificates need."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from reluflow.arrays import FloatArray
from reluflow.budget import affordable, count, counts_work
from reluflow.errors import BackendError

_OPERATIONS_A_PIVOT, _OPERATIONS_AN_ENTRY = 7e4, 1.5  # of the matrix, at each iteration, of 1e9 a second
_SECONDS, _FEWEST_PIVOTS = 10.0, 1_000  # of work for a program that is only one of several ways


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


def _tight(num_entries: int) -> dict[str, float]:
    """Options for exact answers, within a number of iterations that depends on nothing but the size."""
    most = affordable(_SECONDS, _OPERATIONS_A_PIVOT + _OPERATIONS_AN_ENTRY * num_entries)
    return {
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
        "maxiter": max(_FEWEST_PIVOTS, int(most)),
    }


def widest_direction(rows: FloatArray) -> FloatArray | None:
    """The w in the box |w_j| <= 1 with the largest min_i <w, rows_i>; None where that is not positive."""
    n, d = rows.shape
    cost = np.append(np.zeros(d), -1.0)
    blocks = np.hstack([-rows, np.ones((n, 1))])
    bounds = [(-1.0, 1.0)] * d + [(0.0, None)]
    arguments: dict[str, Any] = {"A_ub": blocks, "b_ub": np.zeros(n), "bounds": bounds, "options": _tight(blocks.size)}
    result = linprog(cost, method="highs", **arguments)
    if result.x is None or not result.x[-1] > 0.0:
        return None
    return np.asarray(result.x[:-1])


def deepest_combination(rows: FloatArray, *, lift: bool) -> FloatArray | None:
    """l >= 0 with sum 1 and rows^T l = 0, shape (n,): with `lift` of largest smallest entry, else a vertex."""
    n, d = rows.shape
    cost = np.append(np.zeros(n), -1.0 if lift else 0.0)
    equations = np.vstack([np.hstack([rows.T, rows.sum(axis=0)[:, None]]), np.append(np.ones(n), float(n))])
    bounds = [(0.0, None)] * n + [(0.0, None if lift else 0.0)]
    right = np.append(np.zeros(d), 1.0)
    arguments: dict[str, Any] = {"A_eq": equations, "b_eq": right, "bounds": bounds, "options": _tight(equations.size)}
    result = linprog(cost, method="highs", **arguments)
    if result.x is None or result.status != 0:
        return None
    return np.asarray(result.x[:-1] + result.x[-1])


def most_raised(rows: FloatArray) -> FloatArray | None:
    """A v with <v, rows_i> >= 0 for every row and at least 1 for as many as can be above 0; None without an answer.

    Where some v raises a row and another one a second, their sum raises both: one v raises all that can be raised.
    """
    n, d = rows.shape
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    cost = np.concatenate([np.zeros(d), -np.ones(n)])
    blocks = hstack([csr_matrix(-unit), csr_matrix((np.ones(n), (np.arange(n), np.arange(n))), shape=(n, n))])
    bounds = [(None, None)] * d + [(0.0, 1.0)] * n
    arguments: dict[str, Any] = {
        "A_ub": csr_matrix(blocks),
        "b_ub": np.zeros(n),
        "bounds": bounds,
        "options": _tight(blocks.nnz),
    }
    result = linprog(cost, method="highs", **arguments)
    if result.x is None or result.status != 0:
        return None
    shortest = np.min(lengths[result.x[d:] > 0.5], initial=np.inf)
    return np.asarray(result.x[:d]) / (shortest if np.isfinite(shortest) else 1.0)


def smallest_coefficients(
    columns: FloatArray, values: FloatArray, *, max_seconds: float = np.inf
) -> tuple[FloatArray, FloatArray] | None:
    """The c with columns c = values and the least sum |c_j|, shape (k,), and the multipliers of the values, shape (n,).

    None where there is no such c, or none was found within `max_seconds`.
    """
    k = columns.shape[1]
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    an_iteration = _OPERATIONS_A_PIVOT + _OPERATIONS_AN_ENTRY * 2 * columns.size
    if counts_work() and np.isfinite(max_seconds):
        options["maxiter"] = max(100, int(affordable(max_seconds, an_iteration)))
    elif np.isfinite(max_seconds):
        options["time_limit"] = max(max_seconds, 0.1)
    arguments: dict[str, Any] = {
        "A_eq": np.hstack([columns, -columns]),
        "b_eq": values,
        "bounds": (0.0, None),
        "options": options,
    }
    result = linprog(np.ones(2 * k), method="highs", **arguments)
    count(an_iteration * result.nit)
    if result.x is None or result.status != 0:
        return None
    return np.asarray(result.x[:k] - result.x[k:]), np.asarray(result.eqlin.marginals)
