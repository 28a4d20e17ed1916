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
DEPENDENT = 1e-10  # a row whose part outside the others' span is below this fraction of it depends on them


class Room(NamedTuple):
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
def make_room(s: int, d: int) -> Room:
    """Work space for up to s rows in dimension d."""
    most = min(s, d) + 1
    return Room(
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
def _start_at_ends(base: FloatVector, count: int, room: Room) -> None:
    """Each z at the end that shortens the centre of the image, its lower end where the upper one is infinite."""
    for c in range(base.shape[0]):
        room.pull[c] = base[c]
    for i in range(count):
        room.lengths[i] = norm(room.rows[i])
        room.is_barred[i] = room.lower[i] == room.upper[i] or room.lengths[i] == 0.0
        middle = 0.5 * (room.lower[i] + room.upper[i]) if np.isfinite(room.upper[i]) else room.lower[i]
        for c in range(base.shape[0]):
            room.pull[c] += middle * room.rows[i, c]
    for i in range(count):
        is_low = along(room.rows, i, room.pull) > 0.0 or not np.isfinite(room.upper[i])
        room.ends[i] = -1 if is_low else 1
        room.strengths[i] = room.lower[i] if is_low else room.upper[i]


@borrowing_kernel()
def _first_blocked(size: int, room: Room) -> tuple[int, float]:
    """Which of the free z first leaves its interval on the way to the goal (or -1), and after what part of the way."""
    blocked, part = -1, 1.0
    for j in range(size):
        i = room.free[j]
        if room.goal[j] < room.lower[i] or room.goal[j] > room.upper[i]:
            stop = room.lower[i] if room.goal[j] < room.lower[i] else room.upper[i]
            ratio = (stop - room.strengths[i]) / (room.goal[j] - room.strengths[i])
            if blocked < 0 or ratio < part:
                blocked, part = j, ratio
    return blocked, part


@borrowing_kernel()
def minimise(base: FloatVector, count: int, tolerance: float, room: Room) -> bool:
    """Solve for the first `count` rows of `room`, with their `lower` (finite) and `upper`; whether it converged.

    A primal active-set method. A row becomes free while its unit vector has a component above `tolerance` along the
    residual, to which the free rows are orthogonal; so free rows stay independent even when the rows are not.
    """
    d = base.shape[0]
    rows, free, goal, strengths, ends, pull = room.rows, room.free, room.goal, room.strengths, room.ends, room.pull
    _start_at_ends(base, count, room)
    size, entering = 0 * count, -1  # of the type of count: a literal 0 would be compiled for apart
    for _ in range(40 + 20 * count):
        for c in range(d):
            pull[c] = base[c]
        for i in range(count):
            if ends[i] != 0:
                row, strength = rows[i], strengths[i]
                for c in range(d):
                    pull[c] += strength * row[c]
        for j in range(size):
            goal[j] = -along(room.basis, j, pull)
        remove_span(room.basis, size, pull)
        for j in range(size - 1, -1, -1):
            for k in range(j + 1, size):
                goal[j] -= room.triangle[j, k] * goal[k]
            goal[j] /= room.triangle[j, j]
        blocked, part = _first_blocked(size, room)
        for j in range(size):
            i = free[j]
            moved = strengths[i] + part * (goal[j] - strengths[i])
            strengths[i] = min(max(moved, room.lower[i]), room.upper[i])
        if entering >= 0 and part > 0.0:
            for i in range(count):
                room.is_barred[i] = room.lower[i] == room.upper[i] or room.lengths[i] == 0.0
        if blocked >= 0:
            i = free[blocked]
            ends[i] = -1 if goal[blocked] < room.lower[i] else 1
            strengths[i] = room.lower[i] if ends[i] < 0 else room.upper[i]
            room.is_barred[i] = room.is_barred[i] or part <= 0.0  # rounding only: it cannot move
            for j in range(blocked, size - 1):
                free[j] = free[j + 1]
            size -= 1
            orthonormalise(rows, free, blocked, size, room.basis, room.triangle)
            continue
        worst, entering = tolerance, -1
        for i in range(count):
            if ends[i] != 0 and not room.is_barred[i]:
                push = ends[i] * along(rows, i, pull) / room.lengths[i]
                if push > worst:
                    worst, entering = push, i
        if entering < 0:
            return True
        free[size] = entering
        if orthonormalise(rows, free, size, size + 1, room.basis, room.triangle) == size:
            room.is_barred[entering] = True  # rounding only: it depends on the free rows
            entering = -1
        else:
            ends[entering] = 0
            size += 1
    return False


@kernel()
def box_minimum_norm(
    base: FloatVector, rows: FloatMatrix, lower: FloatVector, upper: FloatVector, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Shortest vector base + sum_i z_i rows_i with lower <= z <= upper (lower finite), and one such z.

    Any z in the box gives an upper bound on the minimum, so a result cut short by rounding is still on the safe side.
    """
    room = make_room(rows.shape[0], rows.shape[1])
    for i in range(rows.shape[0]):
        room.lower[i], room.upper[i] = lower[i], upper[i]
        for c in range(rows.shape[1]):
            room.rows[i, c] = rows[i, c]
    minimise(base, rows.shape[0], tolerance, room)
    return room.pull, room.strengths


@kernel()
def shortest_over_bases(
    bases: FloatMatrix, rows: FloatMatrix, lower: float, upper: float, tolerance: float
) -> FloatArray:
    """The shortest vectors for every row of `bases` and one interval for all z, shape (num_bases, d)."""
    room = make_room(rows.shape[0], rows.shape[1])
    for i in range(rows.shape[0]):
        room.lower[i], room.upper[i] = lower, upper
        for c in range(rows.shape[1]):
            room.rows[i, c] = rows[i, c]
    vectors = np.empty_like(bases)
    for k in range(bases.shape[0]):
        minimise(bases[k], rows.shape[0], tolerance, room)
        for c in range(rows.shape[1]):
            vectors[k, c] = room.pull[c]
    return vectors
