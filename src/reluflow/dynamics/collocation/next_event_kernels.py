"""Machine-code kernels that find the first event on a piece of a neuron's path: a wall it meets, a wall it leaves."""

from __future__ import annotations

from reluflow.arrays import FloatMatrix, FloatVector, IntVector, SignVector
from reluflow.bernstein_kernels import NO_ROOT, first_root_of_powers
from reluflow.compilation.kernel import borrowing_kernel
from reluflow.dynamics.collocation.neuron_series_kernels import Series
from reluflow.dynamics.collocation.sliding_kernels import Pulls, Slide, strength_of
from reluflow.dynamics.collocation.tuning import ON_WALL
from reluflow.dynamics.collocation.vector_kernels import dot, norm
from reluflow.geometry.boundary.tolerance import ROUNDING


@borrowing_kernel()
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


@borrowing_kernel()
def first_crossing(
    w: FloatVector, here: FloatMatrix, series: Series, degree: int, size: float, side: SignVector, normals: FloatMatrix,
    chosen: IntVector, num: int, heights: FloatVector, powers: FloatVector, work: FloatVector,
) -> tuple[float, int]:  # fmt: skip
    """The first wall among the chosen ones that the piece reaches, and where; `NO_ROOT` where none.

    Their `heights` at its start are written.
    """
    weights, lengths, terms_w, along = series.weights, series.lengths, series.terms_w, series.along
    is_single = terms_w.shape[0] == 0
    q = here.shape[0] if is_single else 0 * here.shape[0]
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
        if is_single:
            along[0] = sign * dot(here[0], normal)
            slope = weights[1, 0] * along[0] + weights[1, q] * height
        else:
            slope = sign * dot(terms_w[1], normal)
        if height > reach_two and height + slope > reach_two:
            continue
        for row in range(1, q):
            along[row] = sign * dot(here[row], normal)
        powers[0], powers[1] = height, slope
        rest = 0.0
        for i in range(2, degree + 1):
            total = 0.0
            if is_single:
                for row in range(q + 1):
                    total += weights[i, row] * along[row]
            else:
                total = sign * dot(terms_w[i], normal)
            powers[i] = total
            rest += abs(total)
        if height > rest and height + slope > rest:
            continue
        theta = first_root_of_powers(powers, degree, best, tolerance, work)
        if theta < best:
            best, wall = theta, b
    return best, wall


@borrowing_kernel()
def first_exit(
    slide: Slide, pulls: Pulls, sign: float, pinned: SignVector, tau: float, length: float, series: Series,
    degree: int, part: FloatVector, margin: FloatVector, work: FloatVector,
) -> tuple[float, int, int]:  # fmt: skip
    """The first sliding wall whose multiplier leaves its interval, where, and to which side.

    Multipliers and strengths are polynomials of every output; with several outputs they count along v, whose series
    over the piece they are multiplied with. `part` (q,) is that of one output.
    """
    num_outputs = series.terms_v.shape[1]
    q = slide.rest.shape[0] // num_outputs
    best, wall, to_side = NO_ROOT, -1, 0
    for i in range(slide.held[0]):
        b = slide.walls[i]
        orientation = sign if pinned[b] else -sign  # in a valley a (plus - minus) < 0
        for side in (1, -1):
            scale, last = 0.0, q - 1
            if num_outputs > 1:
                last = degree + q - 1
                margin[: last + 1] = 0.0
            for c in range(num_outputs):
                for row in range(q):
                    end, multiplier = strength_of(pulls, b, side, c * q + row), slide.multipliers[c * q + row, i]
                    part[row] = orientation * side * (end - multiplier)
                    scale += abs(end) + abs(multiplier)
                for start in range(q - 1):
                    for power in range(q - 2, start - 1, -1):
                        part[power] += tau * part[power + 1]
                factor = 1.0
                for row in range(1, q):
                    factor *= length
                    part[row] *= factor
                if num_outputs == 1:
                    for row in range(q):
                        margin[row] = part[row]
                else:
                    for term in range(degree + 1):
                        for row in range(q):
                            margin[term + row] += series.terms_v[term, c] * part[row]
            lowest = margin[0]
            for row in range(1, last + 1):
                lowest -= abs(margin[row])
            if lowest > 0.0:
                continue
            if num_outputs > 1:
                scale *= norm(series.terms_v[0])
            theta = first_root_of_powers(margin, last, best, ROUNDING * scale, work)
            if theta < best:
                best, wall, to_side = theta, b, side
    return best, wall, to_side
