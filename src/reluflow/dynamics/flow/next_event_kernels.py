"""Machine-code kernels that find the first event on a piece of a neuron's path: a wall it meets, a wall it leaves."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector, IntVector, SignVector
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.flow.bernstein_kernels import NO_ROOT, first_root_of_powers
from reluflow.dynamics.flow.neuron_series_kernels import Series
from reluflow.dynamics.flow.sliding_kernels import Pulls, Slide, dot, strength_of
from reluflow.geometry.boundary.tolerance import ROUNDING

ON_WALL = 1e-14  # a pre-activation below this fraction of |z| is rounding


@kernel()
def choose_by_way(
    keys: FloatVector, until: float, side: SignVector, keep_held: bool, among: IntVector, num: int, chosen: IntVector
) -> int:
    """The walls `among` some that may be met before the way is so long, and those held; their number."""
    count = 0
    for index in range(num):
        b = among[index]
        if keep_held if side[b] == 0 else keys[b] <= until:
            chosen[count] = b
            count += 1
    return count


@kernel()
def first_crossing(
    w: FloatVector, here: FloatMatrix, series: Series, degree: int, size: float, side: SignVector, normals: FloatMatrix,
    chosen: IntVector, num: int, heights: FloatVector, powers: FloatVector, work: FloatVector,
) -> tuple[float, int]:  # fmt: skip
    """The first wall among the chosen ones that the piece reaches, and where; `NO_ROOT` where none.

    Their `heights` at its start are written.
    """
    q = here.shape[0]
    weights, lengths = series.weights, series.lengths
    along = np.empty(q + 1)  # the wall
    reach_two = 0.0
    for i in range(2, degree + 1):
        reach_two += lengths[i]
    reach = reach_two + lengths[1]
    tolerance = ON_WALL * size
    best, wall = NO_ROOT, -1
    for index in range(num):
        b = chosen[index]
        normal, sign = normals[b], side[b]
        heights[index] = dot(w, normal)
        height = sign * heights[index]
        if height > reach:
            continue
        along[q] = height
        along[0] = sign * dot(here[0], normal)
        slope = weights[1, 0] * along[0] + weights[1, q] * height
        if height > reach_two and height + slope > reach_two:
            continue
        for row in range(1, q):
            along[row] = sign * dot(here[row], normal)
        powers[0], powers[1] = height, slope
        rest = 0.0
        for i in range(2, degree + 1):
            total = 0.0
            for row in range(q + 1):
                total += weights[i, row] * along[row]
            powers[i] = total
            rest += abs(total)
        if height > rest and height + slope > rest:
            continue
        theta = first_root_of_powers(powers, degree, best, tolerance, work)
        if theta < best:
            best, wall = theta, b
    return best, wall


@kernel()
def first_exit(
    slide: Slide, pulls: Pulls, sign: float, pinned: SignVector, tau: float, length: float, margin: FloatVector,
    work: FloatVector,
) -> tuple[float, int, int]:  # fmt: skip
    """The first sliding wall whose multiplier leaves its interval, where, and to which side."""
    q = slide.rest.shape[0]
    best, wall, to_side = NO_ROOT, -1, 0
    for i in range(slide.held[0]):
        b = slide.walls[i]
        orientation = sign if pinned[b] else -sign  # in a valley a (plus - minus) < 0
        for side in (1, -1):
            scale = 0.0
            for row in range(q):
                end, multiplier = strength_of(pulls, b, side, row), slide.multipliers[row, i]
                margin[row] = orientation * side * (end - multiplier)
                scale += abs(end) + abs(multiplier)
            for start in range(q - 1):
                for power in range(q - 2, start - 1, -1):
                    margin[power] += tau * margin[power + 1]
            lowest, factor = margin[0], 1.0
            for row in range(1, q):
                factor *= length
                margin[row] *= factor
                lowest -= abs(margin[row])
            if lowest > 0.0:
                continue
            theta = first_root_of_powers(margin, q - 1, best, ROUNDING * scale, work)
            if theta < best:
                best, wall, to_side = theta, b, side
    return best, wall, to_side
