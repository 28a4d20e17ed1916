"""Clarabel: the dual cone program of the network margin, and the primal one of the shortest interpolation."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy.sparse import coo_matrix, csc_matrix

from reluflow.arrays import FloatArray, IndexArray
from reluflow.budget import affordable, count, counts_work
from reluflow.errors import BackendError

_OPERATIONS_AN_ENTRY = 80.0  # of the matrix, at each iteration, of 1e9 a second: 58 to 206 ns were measured


@dataclass(frozen=True, eq=False)
class RateColumn:
    """One sign and one pattern of its pulling samples: slopes there, free slopes in [leak, 1] on the pushing ones.

    `walls` are further samples as rows, shape (p, d), that the neuron must not be active on.
    """

    pulling: IndexArray
    pushing: IndexArray
    slopes: FloatArray
    walls: FloatArray | None = None

    @property
    def num_walls(self) -> int:
        """How many walls there are."""
        return 0 if self.walls is None else len(self.walls)


@dataclass(frozen=True, eq=False)
class SmallestRate:
    """The multipliers that make the best neuron of the given columns worst, and the neurons that balance them.

    Parameters
    ----------
    rate
        The optimal theta.
    multipliers
        lambda in the simplex, shape (n,).
    vectors
        One vector per column, shape (num_columns, d), lengths summing to 1: the neurons, up to scale.
    """

    rate: float
    multipliers: FloatArray
    vectors: FloatArray


def smallest_rate(
    X: FloatArray,
    leak: float,
    columns: list[RateColumn],
    *,
    equations: FloatArray | None = None,
    values: FloatArray | None = None,
    max_seconds: float = np.inf,
) -> SmallestRate:
    """Minimise theta over lambda in the simplex with every column's shortest vector no longer than theta.

    For a column: |sum_pulling lambda_i slope_i x_i - sum_pushing nu_i x_i - sum_walls mu_i x_i| <= theta with
    leak lambda_i <= nu_i <= lambda_i and mu_i >= 0. `equations @ lambda = values` confines lambda to a face of the
    simplex; the equations must then imply that lambda sums to 1 and be independent. Where `max_seconds` is spent, the
    last iterate is given.
    """
    n, d = X.shape
    blocks = _Rows()
    unknowns = [column.pushing.size + column.num_walls for column in columns]
    free = n + 1 + np.concatenate([[0], np.cumsum(unknowns)]).astype(int)
    if equations is None or values is None:
        equations, values = np.ones((1, n)), np.array([1.0])
    row, col = np.indices(equations.shape)
    blocks.add(row.ravel(), col.ravel(), equations.ravel(), values)
    num_equal = blocks.count
    blocks.add(np.arange(n), np.arange(n), -np.ones(n), np.zeros(n))
    for index, column in enumerate(columns):
        k = column.pushing.size
        local, nu = np.arange(k), free[index] + np.arange(k)
        for sign, factor in ((1.0, leak), (-1.0, 1.0)):  # leak lambda <= nu <= lambda
            rows, cols = np.concatenate([local, local]), np.concatenate([column.pushing, nu])
            blocks.add(rows, cols, sign * np.concatenate([np.full(k, factor), -np.ones(k)]), np.zeros(k))
        p = column.num_walls
        blocks.add(np.arange(p), free[index] + k + np.arange(p), -np.ones(p), np.zeros(p))
    cones = [clarabel.ZeroConeT(num_equal), clarabel.NonnegativeConeT(blocks.count - num_equal)]
    first = blocks.count
    for index, column in enumerate(columns):
        cols = np.concatenate([column.pulling, free[index] + np.arange(unknowns[index])])
        walls = np.zeros((0, d)) if column.walls is None else column.walls
        entries = np.vstack([-column.slopes[:, None] * X[column.pulling], X[column.pushing], walls]).T  # (d, samples)
        row, place = np.indices(entries.shape)
        blocks.add(
            np.concatenate([[0], 1 + row.ravel()]),
            np.concatenate([[n], cols[place.ravel()]]),
            np.concatenate([[-1.0], entries.ravel()]),
            np.zeros(d + 1),
        )
        cones.append(clarabel.SecondOrderConeT(d + 1))
    cost = np.zeros(int(free[-1]))
    cost[n] = 1.0
    solution = _solve(cost, blocks.matrix(cost.size), blocks.right_hand_side(), cones, max_seconds)
    dual = np.asarray(solution.z)[first:].reshape(len(columns), d + 1)
    primal = np.asarray(solution.x)
    multipliers = np.maximum(primal[:n], 0.0)
    return SmallestRate(float(primal[n]), multipliers / multipliers.sum(), -dual[:, 1:])


def shortest_separator(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """The shortest w with <w, z_i> >= 1 for all rows, and its multipliers in the simplex; None if no point comes back.

    Solved in the variables u = w / columns, in which rows of badly scaled data have one size.
    """
    n, d = rows.shape
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_iter = int(np.clip(affordable(10.0, _OPERATIONS_AN_ENTRY * n * d), 30, 200))
    quadratic = csc_matrix((columns**2 / np.max(columns) ** 2, (np.arange(d), np.arange(d))), shape=(d, d))
    solver = clarabel.DefaultSolver(
        quadratic, np.zeros(d), csc_matrix(-rows * columns), -np.ones(n), [clarabel.NonnegativeConeT(n)], settings
    )
    solution = solver.solve()
    u, multipliers = np.asarray(solution.x), np.maximum(np.asarray(solution.z), 0.0)
    if not np.all(np.isfinite(u)) or not np.all(np.isfinite(multipliers)) or not np.any(u) or not multipliers.sum() > 0:
        return None
    return u * columns, multipliers / multipliers.sum()


@dataclass(frozen=True, eq=False)
class ShortestSum:
    """The vectors of least total length that fit some values.

    Parameters
    ----------
    vectors
        One per column, shape (num_columns, d).
    multipliers
        nu, shape (n,), of the values.
    """

    vectors: FloatArray
    multipliers: FloatArray


def shortest_sum(
    X: FloatArray,
    values: FloatArray,
    leak: float,
    signs: FloatArray,
    patterns: FloatArray,
    *,
    misfit: float = 0.0,
    max_seconds: float = np.inf,
) -> ShortestSum:
    """Minimise sum_c |v_c| with sum_c signs_c phi(<v_c, x_k>) = values_k and every v_c in the cone of its pattern.

    `patterns` has entries 1 and -1, shape (num_columns, n); with `misfit` the values are met up to a vector of at most
    that length. Where `max_seconds` is spent, the last iterate is given.
    """
    n, d = X.shape
    count = len(signs)
    num_free = count * (d + 1)  # t_c and v_c of every column, then what is missed
    cost = np.zeros(num_free + (n if misfit > 0.0 else 0))
    cost[: num_free : d + 1] = 1.0
    place = np.arange(count) * (d + 1)
    slopes = np.where(patterns > 0, 1.0, leak) * signs[:, None]  # (c, n)
    blocks = _Rows()
    entries = slopes[:, :, None] * X  # (c, n, d)
    row = np.broadcast_to(np.arange(n)[None, :, None], entries.shape)
    col = np.broadcast_to(place[:, None, None] + 1 + np.arange(d), entries.shape)
    rows, cols, data = row.ravel(), col.ravel(), entries.ravel()
    if misfit > 0.0:
        rows, cols = np.concatenate([rows, np.arange(n)]), np.concatenate([cols, num_free + np.arange(n)])
        data = np.concatenate([data, np.ones(n)])
    blocks.add(rows, cols, data, values)
    walls = -patterns[:, :, None] * X
    row = np.broadcast_to((np.arange(count)[:, None] * n + np.arange(n))[:, :, None], walls.shape)
    blocks.add(row.ravel(), col.ravel(), walls.ravel(), np.zeros(count * n))
    cones: list[object] = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(count * n)]
    for c in range(count):
        blocks.add(np.arange(d + 1), place[c] + np.arange(d + 1), -np.ones(d + 1), np.zeros(d + 1))
        cones.append(clarabel.SecondOrderConeT(d + 1))
    if misfit > 0.0:
        blocks.add(np.arange(1, n + 1), num_free + np.arange(n), -np.ones(n), np.append(misfit, np.zeros(n)))
        cones.append(clarabel.SecondOrderConeT(n + 1))
    solution = _solve(cost, blocks.matrix(cost.size), blocks.right_hand_side(), cones, max_seconds)
    found = np.asarray(solution.x)[:num_free].reshape(count, d + 1)
    return ShortestSum(found[:, 1:], -np.asarray(solution.z)[:n])


class _Rows:
    """Triplets of a sparse matrix that grows by blocks of rows."""

    def __init__(self) -> None:
        self.count = 0
        self._rows: list[IndexArray] = []
        self._cols: list[IndexArray] = []
        self._data: list[FloatArray] = []
        self._rhs: list[FloatArray] = []

    def add(self, rows: IndexArray, cols: IndexArray, data: FloatArray, rhs: FloatArray) -> None:
        self._rows.append(rows + self.count)
        self._cols.append(cols)
        self._data.append(data)
        self._rhs.append(rhs)
        self.count += len(rhs)

    def matrix(self, num_cols: int) -> csc_matrix:
        triplets = (np.concatenate(self._data), (np.concatenate(self._rows), np.concatenate(self._cols)))
        return csc_matrix(coo_matrix(triplets, shape=(self.count, num_cols)))

    def right_hand_side(self) -> FloatArray:
        return np.concatenate(self._rhs)


def _solve(
    cost: FloatArray, matrix: csc_matrix, rhs: FloatArray, cones: list[object], max_seconds: float
) -> clarabel.DefaultSolution:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    an_iteration = _OPERATIONS_AN_ENTRY * matrix.nnz
    settings.max_iter = 100
    if counts_work():
        settings.max_iter = int(np.clip(affordable(max_seconds, an_iteration), 10, 100))
    else:
        settings.time_limit = max_seconds
    quadratic = csc_matrix((cost.size, cost.size))
    solution = clarabel.DefaultSolver(quadratic, cost, matrix, rhs, cones, settings).solve()
    count(an_iteration * solution.iterations)
    values = np.concatenate([np.asarray(solution.x), np.asarray(solution.z)])
    # tolerances beyond reach end as "insufficient progress" with a usable point; the caller measures what it is worth
    if not np.all(np.isfinite(values)):
        raise BackendError(f"Clarabel ended a cone program with {solution.status}; rescale the samples.")
    return solution
