"""Machine code for the shortest point of a box image: minimise |base + sum_i z_i row_i| over lower <= z <= upper.

A neuron on walls follows the shortest of the vectors that the walls' strengths allow; a subgradient, the distance to a
cone and the gain of a best neuron are the same problem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolVector, FloatArray, FloatMatrix, FloatVector, IntVector
from reluflow.compilation.kernel import borrowing_kernel, kernel

_FAST = {"reassoc", "contract"}  # sums in any order, so that they use the processor's vectors
_MOST_POINTS = 64  # of the image that are kept to bound distances by
DEPENDENT = 1e-10  # a row whose part outside the others' span is below this fraction of it depends on them


class Workspace(NamedTuple):
    """Work space for s rows in dimension d, made once for many problems; the first three hold the solution."""

    pull: FloatVector  # (d,) the shortest vector
    strengths: FloatVector  # (s,) z
    ends: IntVector  # (s,) -1 or 1 where z is at its lower or upper end, 0 where it is free
    rows: FloatMatrix  # (s, d)
    lower: FloatVector  # (s,)
    upper: FloatVector  # (s,)
    goal: FloatVector  # (s,)
    lengths: FloatVector  # (s,)
    free: IntVector  # (s,) the free rows, in the order in which they became so
    is_barred: BoolVector  # (s,)
    basis: FloatMatrix  # orthonormal rows spanning the free ones
    triangle: FloatMatrix


@kernel()
def make_workspace(s: int, d: int) -> Workspace:
    """Work space for up to s rows in dimension d."""
    most = min(s, d) + 1
    return Workspace(
        np.zeros(d),
        np.zeros(s),
        np.zeros(s, np.int64),
        np.zeros((s, d)),
        np.zeros(s),
        np.zeros(s),
        np.zeros(s),
        np.zeros(s),
        np.zeros(s + 1, np.int64),
        np.zeros(s, np.bool_),
        np.zeros((most, d)),
        np.zeros((most, most)),
    )


@borrowing_kernel(fastmath=_FAST)
def along(rows: FloatMatrix, i: int, vector: FloatVector) -> float:
    """<row_i, vector>."""
    row, total = rows[i], 0.0
    for c in range(vector.shape[0]):
        total += row[c] * vector[c]
    return total


@borrowing_kernel(fastmath=_FAST)
def norm(vector: FloatVector) -> float:
    """Euclidean norm, for vectors of ordinary size."""
    total = 0.0
    for c in range(vector.shape[0]):
        total += vector[c] * vector[c]
    return float(np.sqrt(total))


@borrowing_kernel(fastmath=_FAST)
def orthonormalise(
    rows: FloatMatrix, chosen: IntVector, start: int, count: int, basis: FloatMatrix, triangle: FloatMatrix
) -> int:
    """Gram-Schmidt, twice for rounding: row chosen[i] = sum_j triangle[j, i] basis[j]; dependents skipped; the rank.

    The first `start` of the chosen rows are independent and done already.
    """
    d = rows.shape[1]
    rank = start
    for i in range(start, count):
        if rank == d:
            break
        length = norm(rows[chosen[i]])
        for c in range(d):
            basis[rank, c] = rows[chosen[i], c]
        for j in range(rank):
            triangle[j, rank] = 0.0
        for _ in range(2):
            for j in range(rank):
                dot = along(basis, j, basis[rank])
                triangle[j, rank] += dot
                old, new = basis[j], basis[rank]
                for c in range(d):
                    new[c] -= dot * old[c]
        size = norm(basis[rank])
        if size > DEPENDENT * length:
            triangle[rank, rank] = size
            for c in range(d):
                basis[rank, c] /= size
            rank += 1
    return rank


@borrowing_kernel(fastmath=_FAST)
def remove_span(basis: FloatMatrix, rank: int, vector: FloatVector) -> None:
    """Subtract from `vector` its projection on the orthonormal rows, in place."""
    for _ in range(2):
        for j in range(rank):
            dot, row = along(basis, j, vector), basis[j]
            for c in range(vector.shape[0]):
                vector[c] -= dot * row[c]


@borrowing_kernel(fastmath=_FAST)
def _start_at_ends(base: FloatVector, count: int, workspace: Workspace) -> None:
    """Each z at the end that shortens the centre of the image, its lower end where the upper one is infinite."""
    for c in range(base.shape[0]):
        workspace.pull[c] = base[c]
    for i in range(count):
        workspace.lengths[i] = norm(workspace.rows[i])
        workspace.is_barred[i] = workspace.lower[i] == workspace.upper[i] or workspace.lengths[i] == 0.0
        middle = (
            0.5 * (workspace.lower[i] + workspace.upper[i]) if np.isfinite(workspace.upper[i]) else workspace.lower[i]
        )
        for c in range(base.shape[0]):
            workspace.pull[c] += middle * workspace.rows[i, c]
    for i in range(count):
        is_low = along(workspace.rows, i, workspace.pull) > 0.0 or not np.isfinite(workspace.upper[i])
        workspace.ends[i] = -1 if is_low else 1
        workspace.strengths[i] = workspace.lower[i] if is_low else workspace.upper[i]


@borrowing_kernel()
def _first_blocked(size: int, workspace: Workspace) -> tuple[int, float]:
    """Which of the free z first leaves its interval on the way to the goal (or -1), and after what part of the way."""
    blocked, part = -1, 1.0
    for j in range(size):
        i = workspace.free[j]
        if workspace.goal[j] < workspace.lower[i] or workspace.goal[j] > workspace.upper[i]:
            stop = workspace.lower[i] if workspace.goal[j] < workspace.lower[i] else workspace.upper[i]
            ratio = (stop - workspace.strengths[i]) / (workspace.goal[j] - workspace.strengths[i])
            if blocked < 0 or ratio < part:
                blocked, part = j, ratio
    return blocked, part


@borrowing_kernel()
def minimise(base: FloatVector, count: int, tolerance: float, workspace: Workspace) -> bool:
    """Solve for the first `count` rows of `workspace`, with their `lower` (finite) and `upper`; whether it converged.

    A primal active-set method. A row becomes free while its unit vector has a component above `tolerance` along the
    residual, to which the free rows are orthogonal; so free rows stay independent even when the rows are not.
    """
    d = base.shape[0]
    rows, free, goal, strengths, ends, pull = (
        workspace.rows,
        workspace.free,
        workspace.goal,
        workspace.strengths,
        workspace.ends,
        workspace.pull,
    )
    _start_at_ends(base, count, workspace)
    size, entering = 0, -1
    for _ in range(40 + 20 * count):
        for c in range(d):
            pull[c] = base[c]
        for i in range(count):
            if ends[i] != 0:
                row, strength = rows[i], strengths[i]
                for c in range(d):
                    pull[c] += strength * row[c]
        for j in range(size):
            goal[j] = -along(workspace.basis, j, pull)
        remove_span(workspace.basis, size, pull)
        for j in range(size - 1, -1, -1):
            for k in range(j + 1, size):
                goal[j] -= workspace.triangle[j, k] * goal[k]
            goal[j] /= workspace.triangle[j, j]
        blocked, part = _first_blocked(size, workspace)
        for j in range(size):
            i = free[j]
            moved = strengths[i] + part * (goal[j] - strengths[i])
            strengths[i] = min(max(moved, workspace.lower[i]), workspace.upper[i])
        if entering >= 0 and part > 0.0:
            for i in range(count):
                workspace.is_barred[i] = workspace.lower[i] == workspace.upper[i] or workspace.lengths[i] == 0.0
        if blocked >= 0:
            i = free[blocked]
            ends[i] = -1 if goal[blocked] < workspace.lower[i] else 1
            strengths[i] = workspace.lower[i] if ends[i] < 0 else workspace.upper[i]
            workspace.is_barred[i] = workspace.is_barred[i] or part <= 0.0  # rounding only: it cannot move
            for j in range(blocked, size - 1):
                free[j] = free[j + 1]
            size -= 1
            orthonormalise(rows, free, blocked, size, workspace.basis, workspace.triangle)
            continue
        worst, entering = tolerance, -1
        for i in range(count):
            if ends[i] != 0 and not workspace.is_barred[i]:
                push = ends[i] * along(rows, i, pull) / workspace.lengths[i]
                if push > worst:
                    worst, entering = push, i
        if entering < 0:
            return True
        free[size] = entering
        if orthonormalise(rows, free, size, size + 1, workspace.basis, workspace.triangle) == size:
            workspace.is_barred[entering] = True  # rounding only: it depends on the free rows
            entering = -1
        else:
            ends[entering] = 0
            size += 1
    return False


@kernel(entry=True)
def box_minimum_norm(
    base: FloatVector, rows: FloatMatrix, lower: FloatVector, upper: FloatVector, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Shortest vector base + sum_i z_i rows_i with lower <= z <= upper (lower finite), and one such z.

    Any z in the box gives an upper bound on the minimum, so a result cut short by rounding is still on the safe side.
    """
    workspace = make_workspace(rows.shape[0], rows.shape[1])
    for i in range(rows.shape[0]):
        workspace.lower[i], workspace.upper[i] = lower[i], upper[i]
        for c in range(rows.shape[1]):
            workspace.rows[i, c] = rows[i, c]
    minimise(base, rows.shape[0], tolerance, workspace)
    return workspace.pull, workspace.strengths


@kernel(entry=True)
def shortest_over_bases(
    bases: FloatMatrix, rows: FloatMatrix, lower: float, upper: float, tolerance: float
) -> FloatArray:
    """The shortest vectors for every row of `bases` and one interval for all z, shape (num_bases, d)."""
    workspace = make_workspace(rows.shape[0], rows.shape[1])
    for i in range(rows.shape[0]):
        workspace.lower[i], workspace.upper[i] = lower, upper
        for c in range(rows.shape[1]):
            workspace.rows[i, c] = rows[i, c]
    vectors = np.empty_like(bases)
    for k in range(bases.shape[0]):
        minimise(bases[k], rows.shape[0], tolerance, workspace)
        for c in range(rows.shape[1]):
            vectors[k, c] = workspace.pull[c]
    return vectors


@borrowing_kernel(fastmath=_FAST)
def _is_within(base: FloatVector, points: FloatMatrix, count: int, squared: float) -> bool:
    """Whether base + point has at most this squared length for one of the first `count` points, the latest first."""
    for j in range(count - 1, -1, -1):
        total = 0.0
        for c in range(base.shape[0]):
            total += (base[c] + points[j, c]) ** 2
        if total <= squared:
            return True
    return False


@kernel(entry=True)
def longest_of_shortest(
    bases: FloatMatrix, rows: FloatMatrix, lower: float, upper: float, tolerance: float, floor: float
) -> tuple[int, FloatArray]:
    """Which base has the longest shortest vector, and that vector, among those longer than `floor`; -1 if none is.

    Any point sum_i z_i rows_i of the box's image bounds the shortest vector of every base. So a base is skipped where a
    point found for another one shows that its vector is no longer than the longest so far. Few are solved where those
    with long vectors come first.
    """
    d = rows.shape[1]
    workspace = make_workspace(rows.shape[0], d)
    for i in range(rows.shape[0]):
        workspace.lower[i], workspace.upper[i] = lower, upper
        for c in range(d):
            workspace.rows[i, c] = rows[i, c]
    points, num_found = np.zeros((_MOST_POINTS, d)), 0
    best, longest, vector = -1, floor, np.zeros(d)
    for k in range(bases.shape[0]):
        if _is_within(bases[k], points, min(num_found, _MOST_POINTS), longest * longest):
            continue
        minimise(bases[k], rows.shape[0], tolerance, workspace)
        for c in range(d):
            points[num_found % _MOST_POINTS, c] = workspace.pull[c] - bases[k, c]
        num_found += 1
        length = norm(workspace.pull)
        if length > longest:
            best, longest = k, length
            for c in range(d):
                vector[c] = workspace.pull[c]
    return best, vector
