"""Machine-code kernels for a neuron among walls: those it slides on, what keeps it there, and D tangent to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import (
    BoolArray,
    BoolMatrix,
    FloatArray,
    FloatCube,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    SignArray,
    SignMatrix,
    SignVector,
)
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.collocation.tuning import DEPENDENT_NORMAL, MOSTLY_NORMAL
from reluflow.dynamics.collocation.vector_kernels import FAST, column_along, copy_vector, dot, norm, value_along
from reluflow.geometry.boundary.tolerance import ROUNDING


class Pulls(NamedTuple):
    """What every wall pulls along its normal on either side: polynomials of tau for every output (`vector_kernels`).

    Where pulls move outputs, dw = D v dtau and dv = D^T w dtau. Where they do not, dw = (D v - decay w) dtau alone.
    """

    normals: FloatMatrix  # (B, d) unit
    plus: FloatMatrix  # (B, K q)
    minus: FloatMatrix  # (B, K q)
    is_silent: BoolMatrix  # (B, 2) whether the negative, the positive side pulls nothing for ever
    moves_outputs: bool = True
    decay: float = 0.0  # per step; 0 where outputs move


class Slide(NamedTuple):
    """The walls a neuron slides on, in the order it came to them, and its pull there; `held[0]` of them.

    The normals are triangle @ basis with orthonormal rows of `basis`; `rest` is the pull of all other walls, `along`
    what it has along the basis, `pull` its tangent part D, and `multipliers` the strengths along the walls that make it
    so. `held[1]` counts walls it is on only because it is on the others.
    """

    held: IntVector  # (2,)
    walls: IntVector  # (most,)
    basis: FloatMatrix  # (most, d)
    triangle: FloatMatrix  # (most, most)
    along: FloatMatrix  # (K q, most)
    multipliers: FloatMatrix  # (K q, most)
    rest: FloatMatrix  # (K q, d)
    pull: FloatMatrix  # (K q, d)


class SlideStarts(NamedTuple):
    """The walls that neurons slide on at the start of a step: those of row i under `places[i]`, if that is not -1."""

    places: IntVector  # (m,)
    held: IntMatrix  # (S, 2)
    walls: IntMatrix  # (S, most)
    basis: FloatCube  # (S, most, d)
    triangle: FloatCube  # (S, most, most)


@borrowing_kernel(fastmath=FAST)
def take_off(vector: FloatVector, slide: Slide, along: FloatVector) -> None:
    """Make a vector tangent to the sliding walls, and add what it had along the rows of the basis to `along`."""
    for row in range(slide.held[0]):
        direction = slide.basis[row]
        part = dot(vector, direction)
        along[row] += part
        for axis in range(vector.shape[0]):
            vector[axis] -= part * direction[axis]


@borrowing_kernel()
def split(vector: FloatVector, slide: Slide, along: FloatVector) -> None:
    """`take_off` into an empty `along`, repeated where most of the vector was normal, so that all of that is gone."""
    along[: slide.held[0]] = 0.0
    before = norm(vector)
    take_off(vector, slide, along)
    if norm(vector) < MOSTLY_NORMAL * before:
        take_off(vector, slide, along)


@borrowing_kernel()
def solve_triangle(along: FloatVector, slide: Slide, out: FloatVector) -> None:
    """Strengths along the walls that cancel what a pull has along the rows of the basis."""
    for i in range(slide.held[0] - 1, -1, -1):
        total = -along[i]
        for above in range(i + 1, slide.held[0]):
            total -= slide.triangle[above, i] * out[above]
        out[i] = total / slide.triangle[i, i]


@borrowing_kernel()
def add_wall(b: int, normals: FloatMatrix, slide: Slide) -> bool:
    """Slide on one more wall, unless the others hold the neuron on it anyway; whether it is a new one."""
    count = slide.held[0]
    if count < slide.walls.shape[0]:
        copy_vector(normals[b], slide.basis[count])
        split(slide.basis[count], slide, slide.triangle[count])
        length = norm(slide.basis[count])
        if length > DEPENDENT_NORMAL:
            for axis in range(normals.shape[1]):
                slide.basis[count, axis] /= length
            slide.triangle[count, count] = length
            slide.walls[count] = b
            slide.held[0] = count + 1
            return True
    slide.held[1] += 1
    return False


@borrowing_kernel()
def balance(slide: Slide) -> None:
    """The multipliers from `along`."""
    for row in range(slide.rest.shape[0]):
        solve_triangle(slide.along[row], slide, slide.multipliers[row])


@borrowing_kernel()
def refresh(slide: Slide) -> None:
    """D and the multipliers from the pull of the other walls."""
    for row in range(slide.rest.shape[0]):
        copy_vector(slide.rest[row], slide.pull[row])
        split(slide.pull[row], slide, slide.along[row])
    balance(slide)


@borrowing_kernel(fastmath=FAST)
def hold_newest(slide: Slide) -> None:
    """Make the pull tangent to the wall added last, to which it was not yet."""
    last = slide.held[0] - 1
    direction = slide.basis[last]
    for row in range(slide.rest.shape[0]):
        pull = slide.pull[row]
        part = dot(pull, direction)
        slide.along[row, last] = part
        for axis in range(pull.shape[0]):
            pull[axis] -= part * direction[axis]
    balance(slide)


@borrowing_kernel(fastmath=FAST)
def _release(b: int, slide: Slide) -> None:
    """Slide on one wall fewer: rotations of the basis bring what was held by it alone into its last row, which goes."""
    count, place = slide.held[0], 0
    while slide.walls[place] != b:
        place += 1
    for i in range(place, count - 1):
        slide.walls[i] = slide.walls[i + 1]
        for column in range(i + 2):
            slide.triangle[i, column] = slide.triangle[i + 1, column]
        x, y = slide.triangle[i, i], slide.triangle[i, i + 1]
        radius = np.sqrt(x * x + y * y)
        cosine, sine = x / radius, y / radius
        slide.triangle[i, i] = radius
        for row in range(i + 2, count):  # still at their old places
            x, y = slide.triangle[row, i], slide.triangle[row, i + 1]
            slide.triangle[row, i], slide.triangle[row, i + 1] = cosine * x + sine * y, cosine * y - sine * x
        for row in range(slide.rest.shape[0]):
            x, y = slide.along[row, i], slide.along[row, i + 1]
            slide.along[row, i], slide.along[row, i + 1] = cosine * x + sine * y, cosine * y - sine * x
        one, two = slide.basis[i], slide.basis[i + 1]
        for axis in range(one.shape[0]):
            x, y = one[axis], two[axis]
            one[axis], two[axis] = cosine * x + sine * y, cosine * y - sine * x
    slide.held[0] = count - 1
    direction = slide.basis[count - 1]
    for row in range(slide.rest.shape[0]):
        pull, part = slide.pull[row], slide.along[row, count - 1]
        for axis in range(pull.shape[0]):
            pull[axis] += part * direction[axis]


@kernel()
def leave_wall(slide: Slide, pulls: Pulls, side: SignVector, b: int, to_side: int) -> None:
    """Go from a wall the neuron slides on to one of its sides."""
    set_side(slide, pulls, side, b, to_side)
    if slide.held[1] > 0:  # another wall may hold it in place of this one
        gather(side, pulls.normals, slide)
        return
    _release(b, slide)
    normal = slide.basis[slide.held[0]]
    copy_vector(pulls.normals[b], normal)
    part = slide.triangle[slide.held[0]]
    split(normal, slide, part)
    for row in range(slide.rest.shape[0]):
        change = strength_of(pulls, b, to_side, row)
        for i in range(slide.held[0]):
            slide.along[row, i] += change * part[i]
        for axis in range(normal.shape[0]):
            slide.pull[row, axis] += change * normal[axis]
    balance(slide)


@kernel()
def gather(side: SignVector, normals: FloatMatrix, slide: Slide) -> None:
    """The walls on which `side` is 0, those it had before first and in their order."""
    count, kept = slide.held[0], 0
    while kept < count and side[slide.walls[kept]] == 0:
        kept += 1
    others = slide.walls[kept:count].copy()
    slide.held[0], slide.held[1] = kept, 0
    for b in others:
        if side[b] == 0:
            add_wall(b, normals, slide)
    known = slide.held[0]
    for b in range(side.shape[0]):
        if side[b] == 0:
            is_known = False
            for i in range(known):
                is_known = is_known or slide.walls[i] == b
            if not is_known:
                add_wall(b, normals, slide)
    refresh(slide)


@borrowing_kernel()
def strength_of(pulls: Pulls, b: int, side: int, row: int) -> float:
    """What a wall pulls on one side (0: on it, nothing of its own)."""
    if side > 0:
        return float(pulls.plus[b, row])
    return float(pulls.minus[b, row]) if side < 0 else 0.0


@borrowing_kernel()
def set_side(slide: Slide, pulls: Pulls, side: SignVector, b: int, new: int) -> None:
    """Move a neuron to another side of a wall (0: onto it); only `rest` follows."""
    for row in range(slide.rest.shape[0]):
        change = strength_of(pulls, b, new, row) - strength_of(pulls, b, int(side[b]), row)
        if change != 0.0:
            for axis in range(slide.rest.shape[1]):
                slide.rest[row, axis] += change * pulls.normals[b, axis]
    side[b] = new


@borrowing_kernel(entry=True)
def is_silent(side: SignVector, pulls: Pulls) -> bool:
    """Whether nothing pulls a neuron on these sides, and never will."""
    for b in range(side.shape[0]):  # noqa: SIM110 (compiled code has no generators)
        if side[b] == 0 or not pulls.is_silent[b, 1 if side[b] > 0 else 0]:
            return False
    return True


@kernel()
def are_inside(
    slide: Slide, pulls: Pulls, sign: float, direction: FloatVector, pinned: SignVector, tau: float
) -> bool:  # fmt: skip
    """Whether every multiplier lies clearly between the strengths of its wall's two sides."""
    for i in range(slide.held[0]):
        b = slide.walls[i]
        here = column_along(slide.multipliers, i, direction, tau)
        plus, minus = value_along(pulls.plus[b], direction, tau), value_along(pulls.minus[b], direction, tau)
        orientation = sign if pinned[b] else -sign
        least = ROUNDING * (abs(plus) + abs(minus) + abs(here))
        if not (orientation * (plus - here) > least and orientation * (here - minus) > least):
            return False
    return True


def slide_starts(
    sides: SignArray, normals: FloatArray, before: SlideStarts | None = None, has_changed: BoolArray | None = None
) -> SlideStarts:
    """What the neurons slide on, once for all iterations of a step; where nothing `has_changed`, as it was `before`."""
    counts = np.count_nonzero(sides == 0, axis=1)
    sliding = np.flatnonzero(counts)
    places = np.full(len(sides), -1)
    places[sliding] = np.arange(len(sliding))
    most, d = min(int(np.max(counts, initial=0)), *normals.shape), normals.shape[1]
    starts = SlideStarts(
        places,
        np.zeros((len(sliding), 2), dtype=np.int64),
        np.zeros((len(sliding), most), dtype=np.int64),
        np.zeros((len(sliding), most, d)),
        np.zeros((len(sliding), most, most)),
    )
    if before is None or has_changed is None:
        _gather_all(sides, normals, sliding, starts)
        return starts
    kept = sliding[~has_changed[sliding]]
    old, new, held = before.places[kept], places[kept], min(most, before.walls.shape[1])
    starts.held[new] = before.held[old]
    starts.walls[new, :held] = before.walls[old, :held]
    starts.basis[new, :held] = before.basis[old, :held]
    starts.triangle[new, :held, :held] = before.triangle[old, :held, :held]
    _gather_all(sides, normals, sliding[has_changed[sliding]], starts)
    return starts


@kernel(entry=True)
def _gather_all(sides: SignMatrix, normals: FloatMatrix, sliding: IntVector, starts: SlideStarts) -> None:
    """The walls of some sliding neurons and their orthonormal bases."""
    none = np.empty((0, 0))
    for j in sliding:
        i = starts.places[j]
        slide = Slide(
            starts.held[i], starts.walls[i], starts.basis[i], starts.triangle[i], none, none, none, none
        )  # fmt: skip
        for b in range(sides.shape[1]):
            if sides[j, b] == 0:
                add_wall(b, normals, slide)


@borrowing_kernel()
def restore(starts: SlideStarts, row: int, slide: Slide) -> None:
    """Begin with the walls a neuron slides on at the start of the step."""
    place = starts.places[row]
    if place >= 0:
        count = starts.held[place, 0]
        slide.held[0], slide.held[1] = starts.held[place, 0], starts.held[place, 1]
        for i in range(count):
            slide.walls[i] = starts.walls[place, i]
            copy_vector(starts.basis[place, i], slide.basis[i])
            for above in range(count):
                slide.triangle[i, above] = starts.triangle[place, i, above]
    refresh(slide)
