"""Machine-code kernels for a neuron among walls: those it slides on, what keeps it there, and D tangent to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.geometry.boundary.tolerance import ROUNDING

_DEPENDENT = 1e-11  # what is left of a unit normal that the others span
_FAST = {"reassoc", "contract"}


class Pulls(NamedTuple):
    """What every wall pulls along its normal on either side: polynomials of tau, coefficient l in column l."""

    normals: FloatArray  # (B, d) unit
    plus: FloatArray  # (B, q)
    minus: FloatArray  # (B, q)
    is_silent: NDArray[np.bool_]  # (B, 2) whether the negative, the positive side pulls nothing for ever


class Slide(NamedTuple):
    """The walls a neuron slides on, in the order it came to them, and its pull there; `held[0]` of them.

    The normals are triangle @ basis with orthonormal rows of `basis`; `rest` is the pull of all other walls, `pull` its
    tangent part D, and `multipliers` the strengths along the walls that make it so.
    """

    held: IntArray  # (1,)
    walls: IntArray  # (most,)
    basis: FloatArray  # (most, d)
    triangle: FloatArray  # (most, most)
    multipliers: FloatArray  # (q, most)
    rest: FloatArray  # (q, d)
    pull: FloatArray  # (q, d)


@njit(cache=True, fastmath=_FAST)
def dot(one: FloatArray, two: FloatArray) -> float:
    """<one, two>."""
    total = 0.0
    for i in range(one.shape[0]):
        total += one[i] * two[i]
    return total


@njit(cache=True)
def norm(vector: FloatArray) -> float:
    """|vector|."""
    return float(np.sqrt(dot(vector, vector)))


@njit(cache=True)
def value(coefficients: FloatArray, tau: float) -> float:
    """A polynomial in powers of tau."""
    total = 0.0
    for power in range(coefficients.shape[0] - 1, -1, -1):
        total = total * tau + coefficients[power]
    return total


@njit(cache=True)
def pull_at(pull: FloatArray, tau: float, out: FloatArray) -> None:
    """D at tau."""
    out[:] = pull[pull.shape[0] - 1]
    for row in range(pull.shape[0] - 2, -1, -1):
        for axis in range(out.shape[0]):
            out[axis] = out[axis] * tau + pull[row, axis]


@njit(cache=True)
def split(vector: FloatArray, slide: Slide, along: FloatArray) -> None:
    """Make a vector tangent to the sliding walls, and write what it had along the rows of the basis."""
    count = slide.held[0]
    along[:count] = 0.0
    for _ in range(2):  # twice, so that the normal part is gone to rounding
        for row in range(count):
            part = dot(vector, slide.basis[row])
            along[row] += part
            for axis in range(vector.shape[0]):
                vector[axis] -= part * slide.basis[row, axis]


@njit(cache=True)
def solve_triangle(along: FloatArray, slide: Slide, out: FloatArray) -> None:
    """Strengths along the walls that cancel what a pull has along the rows of the basis."""
    for i in range(slide.held[0] - 1, -1, -1):
        total = -along[i]
        for above in range(i + 1, slide.held[0]):
            total -= slide.triangle[above, i] * out[above]
        out[i] = total / slide.triangle[i, i]


@njit(cache=True)
def add_wall(b: int, normals: FloatArray, slide: Slide) -> None:
    """Slide on one more wall, unless the others hold the neuron on it anyway."""
    count = slide.held[0]
    if count >= slide.walls.shape[0]:
        return
    slide.basis[count] = normals[b]
    split(slide.basis[count], slide, slide.triangle[count])
    length = norm(slide.basis[count])
    if length > _DEPENDENT:
        slide.basis[count] /= length
        slide.triangle[count, count] = length
        slide.walls[count] = b
        slide.held[0] = count + 1


@njit(cache=True)
def refresh(slide: Slide) -> None:
    """D and the multipliers from the pull of the other walls."""
    along = np.empty(slide.walls.shape[0])
    strengths = np.empty(slide.walls.shape[0])
    for row in range(slide.rest.shape[0]):
        slide.pull[row] = slide.rest[row]
        split(slide.pull[row], slide, along)
        solve_triangle(along, slide, strengths)
        slide.multipliers[row, : slide.held[0]] = strengths[: slide.held[0]]


@njit(cache=True)
def gather(side: SignArray, normals: FloatArray, slide: Slide) -> None:
    """The walls on which `side` is 0, those it had before first and in their order."""
    count, kept = slide.held[0], 0
    while kept < count and side[slide.walls[kept]] == 0:
        kept += 1
    others = slide.walls[kept:count].copy()
    slide.held[0] = kept
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


@njit(cache=True)
def strength_of(pulls: Pulls, b: int, side: int, row: int) -> float:
    """What a wall pulls on one side (0: on it, nothing of its own)."""
    if side > 0:
        return float(pulls.plus[b, row])
    return float(pulls.minus[b, row]) if side < 0 else 0.0


@njit(cache=True)
def set_side(slide: Slide, pulls: Pulls, side: SignArray, b: int, new: int) -> None:
    """Move a neuron to another side of a wall (0: onto it); only `rest` follows."""
    for row in range(slide.rest.shape[0]):
        change = strength_of(pulls, b, new, row) - strength_of(pulls, b, side[b], row)
        if change != 0.0:
            for axis in range(slide.rest.shape[1]):
                slide.rest[row, axis] += change * pulls.normals[b, axis]
    side[b] = new


@njit(cache=True)
def is_silent(side: SignArray, pulls: Pulls) -> bool:
    """Whether nothing pulls a neuron on these sides, and never will."""
    for b in range(side.shape[0]):  # noqa: SIM110 (compiled code has no generators)
        if side[b] == 0 or not pulls.is_silent[b, 1 if side[b] > 0 else 0]:
            return False
    return True


@njit(cache=True)
def are_inside(slide: Slide, pulls: Pulls, sign: float, pinned: SignArray, tau: float) -> bool:
    """Whether every multiplier lies clearly between the strengths of its wall's two sides."""
    for i in range(slide.held[0]):
        b = slide.walls[i]
        here = value(slide.multipliers[:, i], tau)
        plus, minus = value(pulls.plus[b], tau), value(pulls.minus[b], tau)
        orientation = sign if pinned[b] else -sign
        least = ROUNDING * (abs(plus) + abs(minus) + abs(here))
        if not (orientation * (plus - here) > least and orientation * (here - minus) > least):
            return False
    return True
