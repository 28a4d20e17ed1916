"""Machine code for a neuron with several outputs under frozen forces: from wall to wall by its power series.

With D (d, K) constant a neuron moves by w' = D v, v' = D^T w. Every term of the series of w after the first is D times
K numbers z_i, so heights over all walls are polynomials whose coefficients cost K products each, and the series itself
K^2 a term. Crossings of one wall that both its sides agree on are done here; what else happens at walls, and where the
neuron ends, is decided by whoever calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector, IntVector, SignVector
from reluflow.bernstein_kernels import NO_ROOT, first_root_of_powers
from reluflow.compilation.kernel import kernel
from reluflow.geometry.boundary.tolerance import ROUNDING

QUIET, AT_WALL, LEAVES_UPWARD, LEAVES_DOWNWARD, AT_HORIZON, LOG_IS_FULL = range(6)  # why `advance` came back
TIME, LOG_NORM, STEP = range(3)  # places in `PairState.numbers`; STEP is in units of 1/|D|

_FAST = {"reassoc", "contract"}  # sums in any order, so that they use the processor's vectors
MOST_TERMS = 24  # of a series: with |D| times the step at most 1, term i is below 1/i!
LONGEST = 1.0  # step, in units of 1/|D|
NEGLIGIBLE = 1e-18  # a term of the series, of the neuron's norm
HEIGHT = 1e-14  # a height this small is rounding, of the neuron's norm


class PairWalls(NamedTuple):
    """Walls with frozen strengths for K outputs, m in dimension d."""

    normals: FloatMatrix  # (m, d)
    plus: FloatMatrix  # (m, K)
    minus: FloatMatrix  # (m, K)
    scale: float  # sum of the largest strengths: what a force is small against


class PairSlide(NamedTuple):
    """The s walls that a neuron slides on; a wall's multiplier and its two bounds are linear in v."""

    basis: FloatMatrix  # (rank, d) orthonormal rows that span the normals
    inverse: FloatMatrix  # (s, d) rows that give the coefficients of a vector of that span
    above: FloatMatrix  # (s, K) multiplier less the strength on the plus side: along v positive while it slides
    below: FloatMatrix  # (s, K) strength on the minus side less the multiplier: likewise


class PairState(NamedTuple):
    """A neuron: (w, v) of norm 1, the sides it is on (0: slides), D^T and the products of D with the normals."""

    w: FloatVector  # (d,)
    v: FloatVector  # (K,)
    sides: SignVector  # (m,)
    pull: FloatMatrix  # (K, d)
    slopes: FloatMatrix  # (m, K)
    numbers: FloatVector  # (3,)


class PairLog(NamedTuple):
    """Crossings, in order: which wall and when; `num_written[0]` of them."""

    walls: IntVector
    times: FloatVector
    num_written: IntVector


@kernel(fastmath=_FAST)
def _normalise(state: PairState, slide: PairSlide) -> None:
    """Keep the neuron on the walls it slides on, and bring it to norm 1."""
    w, v = state.w, state.v
    for row in range(slide.basis.shape[0]):
        part = 0.0
        for i in range(w.shape[0]):
            part += slide.basis[row, i] * w[i]
        for i in range(w.shape[0]):
            w[i] -= part * slide.basis[row, i]
    total = 0.0
    for i in range(w.shape[0]):
        total += w[i] * w[i]
    for c in range(v.shape[0]):
        total += v[c] * v[c]
    size = np.sqrt(total)
    for i in range(w.shape[0]):
        w[i] /= size
    for c in range(v.shape[0]):
        v[c] /= size
    state.numbers[LOG_NORM] += np.log(size)


@kernel(fastmath=_FAST)
def _expand(state: PairState, square: FloatMatrix, step: float, z: FloatMatrix, terms_v: FloatMatrix) -> int:
    """The series over a step, w(x) = w + D sum_i z_i x^i and v(x) = sum_i v_i x^i; the degree reached."""
    num_outputs = state.v.shape[0]
    for c in range(num_outputs):
        total = 0.0
        for i in range(state.w.shape[0]):
            total += state.pull[c, i] * state.w[i]
        z[0, c] = 0.0
        terms_v[0, c] = state.v[c]
        z[1, c] = step * state.v[c]
        terms_v[1, c] = step * total
    degree = 1
    for term in range(2, MOST_TERMS):
        largest = 0.0
        for c in range(num_outputs):
            gained = 0.0
            for e in range(num_outputs):
                gained += square[c, e] * z[term - 1, e]
            terms_v[term, c] = step * gained / term
            z[term, c] = step * terms_v[term - 1, c] / term
            largest = max(largest, abs(terms_v[term, c]), abs(terms_v[term - 1, c]) / term)
        degree = term
        if largest <= NEGLIGIBLE:
            break
    return degree


@kernel()
def _root(
    row: FloatVector, terms: FloatMatrix, degree: int, sign: float, start: float, before: float, tolerance: float,
    powers: FloatVector, work: FloatVector,
) -> float:  # fmt: skip
    """First root of start + sign sum_{i >= 1} <row, term_i> x^i, which starts positive, unless it is after `before`."""
    powers[0] = start
    for i in range(1, degree + 1):
        total = 0.0
        for c in range(row.shape[0]):
            total += row[c] * terms[i, c]
        powers[i] = sign * total
    return first_root_of_powers(powers, degree, before, tolerance, work)


@kernel(fastmath=_FAST)
def _first_wall(
    walls: PairWalls, state: PairState, z: FloatMatrix, degree: int, powers: FloatVector, work: FloatVector
) -> tuple[int, float]:
    """The wall that is met first in a step, or -1, and at which part of it."""
    num_walls, d = walls.normals.shape
    num_outputs = state.v.shape[0]
    reach = 0.0  # of the terms after the linear one
    for i in range(2, degree + 1):
        total = 0.0
        for c in range(num_outputs):
            total += z[i, c] * z[i, c]
        reach += np.sqrt(total)
    hit, first = -1, NO_ROOT
    for b in range(num_walls):
        if state.sides[b] == 0:
            continue
        side = float(state.sides[b])
        height = linear = size = 0.0
        for i in range(d):
            height += walls.normals[b, i] * state.w[i]
        for c in range(num_outputs):
            linear += state.slopes[b, c] * z[1, c]
            size += state.slopes[b, c] * state.slopes[b, c]
        if side * height + min(side * linear, 0.0) > np.sqrt(size) * reach:
            continue
        root = _root(state.slopes[b], z, degree, side, side * height, first, HEIGHT, powers, work)
        if root < first:
            hit, first = b, root
    return hit, first


@kernel()
def _first_exit(
    walls: PairWalls, slide: PairSlide, terms_v: FloatMatrix, degree: int, before: float, powers: FloatVector,
    work: FloatVector,
) -> tuple[int, int, float]:  # fmt: skip
    """The slide that ends first in a step, before some place of it: its place among the walls slid on, which end."""
    tolerance = ROUNDING * walls.scale
    which, end, first = -1, 0, before
    for i in range(slide.above.shape[0]):
        for up in range(2):
            row = slide.above[i] if up == 1 else slide.below[i]
            start = 0.0
            for c in range(row.shape[0]):
                start += row[c] * terms_v[0, c]
            root = _root(row, terms_v, degree, 1.0, start, first, tolerance, powers, work)
            if root < first:
                which, end, first = i, (1 if up == 1 else -1), root
    return which, end, first


@kernel()
def _move(state: PairState, z: FloatMatrix, terms_v: FloatMatrix, degree: int, at: float) -> None:
    """Put the neuron at a place of its step."""
    for c in range(state.v.shape[0]):
        share, value = z[degree, c], terms_v[degree, c]
        for i in range(degree - 1, -1, -1):
            share = share * at + z[i, c]
            value = value * at + terms_v[i, c]
        state.v[c] = value
        for i in range(state.w.shape[0]):
            state.w[i] += share * state.pull[c, i]


@kernel(fastmath=_FAST)
def _crosses(walls: PairWalls, slide: PairSlide, state: PairState, wall: int, jump: FloatVector) -> bool:
    """Whether a neuron that has come to one wall passes it: it moves off on the other side and goes on sliding."""
    num_outputs = state.v.shape[0]
    side = float(state.sides[wall])
    arriving = gained = size = 0.0
    for c in range(num_outputs):
        new, old = walls.minus[wall, c], walls.plus[wall, c]
        if side < 0.0:
            new, old = old, new
        jump[c] = new - old
        arriving += state.slopes[wall, c] * state.v[c]
        gained += jump[c] * state.v[c]
        size += state.v[c] * state.v[c]
    tangent = 1.0
    for row in range(slide.basis.shape[0]):
        part = 0.0
        for i in range(state.w.shape[0]):
            part += slide.basis[row, i] * walls.normals[wall, i]
        tangent -= part * part
    least = 2.0 * ROUNDING * walls.scale * np.sqrt(size)
    if side * arriving > -least or side * (arriving + tangent * gained) > -least:
        return False
    for row in range(slide.inverse.shape[0]):
        share = above = below = 0.0
        for i in range(state.w.shape[0]):
            share += slide.inverse[row, i] * walls.normals[wall, i]
        for c in range(num_outputs):
            above += (slide.above[row, c] - share * jump[c]) * state.v[c]
            below += (slide.below[row, c] + share * jump[c]) * state.v[c]
        if above <= least or below <= least:
            return False
    return True


@kernel(fastmath=_FAST)
def _cross(
    walls: PairWalls, slide: PairSlide, state: PairState, wall: int, jump: FloatVector, tangent: FloatVector
) -> None:
    """Pass a wall: its side, D, the products of D with the normals and the multipliers change."""
    d = state.w.shape[0]
    state.sides[wall] = -state.sides[wall]
    for i in range(d):
        tangent[i] = walls.normals[wall, i]
    for row in range(slide.basis.shape[0]):
        part = 0.0
        for i in range(d):
            part += slide.basis[row, i] * tangent[i]
        for i in range(d):
            tangent[i] -= part * slide.basis[row, i]
    for row in range(slide.inverse.shape[0]):
        share = 0.0
        for i in range(d):
            share += slide.inverse[row, i] * walls.normals[wall, i]
        for c in range(jump.shape[0]):
            slide.above[row, c] -= share * jump[c]
            slide.below[row, c] += share * jump[c]
    for c in range(jump.shape[0]):
        for i in range(d):
            state.pull[c, i] += jump[c] * tangent[i]
    for b in range(walls.normals.shape[0]):
        product = 0.0
        for i in range(d):
            product += walls.normals[b, i] * tangent[i]
        for c in range(jump.shape[0]):
            state.slopes[b, c] += product * jump[c]


@kernel(entry=True, nogil=True, fastmath=_FAST)
def advance(
    walls: PairWalls, slide: PairSlide, state: PairState, log: PairLog, horizon: float, quiet_steps: int
) -> tuple[int, int]:
    """Carry a neuron on until something is to be decided, and say what and at which wall.

    It comes back after so many steps without an event (`QUIET`), at a wall that it does not simply cross (`AT_WALL`),
    where a slide ends (`LEAVES_UPWARD`, `LEAVES_DOWNWARD`, with the place of the wall among those slid on), at the
    horizon, and when the log is full. Where D is 0 it is `QUIET` at once.
    """
    num_walls, d = walls.normals.shape
    num_outputs = state.v.shape[0]
    z, terms_v = np.empty((MOST_TERMS, num_outputs)), np.empty((MOST_TERMS, num_outputs))
    square, powers, work = np.empty((num_outputs, num_outputs)), np.empty(MOST_TERMS), np.empty(MOST_TERMS)
    jump, tangent = np.empty(num_outputs), np.empty(d)
    num_quiet = 0
    while True:
        _normalise(state, slide)
        speed = 0.0
        for c in range(num_outputs):
            for e in range(num_outputs):
                total = 0.0
                for i in range(d):
                    total += state.pull[c, i] * state.pull[e, i]
                square[c, e] = total
            speed += square[c, c]
        speed = np.sqrt(speed)
        if speed <= ROUNDING * walls.scale:
            return QUIET, -1
        step = state.numbers[STEP] / speed
        ends = state.numbers[TIME] + step >= horizon
        if ends:
            step = horizon - state.numbers[TIME]
        degree = _expand(state, square, step, z, terms_v)
        hit, first = _first_wall(walls, state, z, degree, powers, work)
        which, end, first = _first_exit(walls, slide, terms_v, degree, first, powers, work)
        if first >= NO_ROOT:
            _move(state, z, terms_v, degree, 1.0)
            state.numbers[TIME] = horizon if ends else state.numbers[TIME] + step
            state.numbers[STEP] = min(2.0 * state.numbers[STEP], LONGEST)
            num_quiet += 1
            if ends:
                _normalise(state, slide)
                return AT_HORIZON, -1
            if num_quiet >= quiet_steps:
                _normalise(state, slide)
                return QUIET, -1
            continue
        _move(state, z, terms_v, degree, first)
        state.numbers[TIME] += first * step
        if first < 0.25:
            state.numbers[STEP] *= 0.5
        num_quiet = 0
        if which >= 0:
            _normalise(state, slide)
            return (LEAVES_UPWARD if end > 0 else LEAVES_DOWNWARD), which
        height, length, num_on = 0.0, 0.0, 0
        for i in range(d):
            height += walls.normals[hit, i] * state.w[i]
        for i in range(d):
            state.w[i] -= height * walls.normals[hit, i]
            length += state.w[i] * state.w[i]
        _normalise(state, slide)
        for b in range(num_walls):
            if state.sides[b] != 0 and num_on < 2:
                height = 0.0
                for i in range(d):
                    height += walls.normals[b, i] * state.w[i]
                num_on += abs(height) <= ROUNDING * np.sqrt(length)
        if num_on > 1 or not _crosses(walls, slide, state, hit, jump):
            return AT_WALL, hit
        _cross(walls, slide, state, hit, jump, tangent)
        row = log.num_written[0]
        log.walls[row], log.times[row] = hit, state.numbers[TIME]
        log.num_written[0] += 1
        if log.num_written[0] == log.walls.shape[0]:
            return LOG_IS_FULL, -1
