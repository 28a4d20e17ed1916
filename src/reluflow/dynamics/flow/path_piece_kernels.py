"""Machine-code kernels for one piece of a neuron's path: its power series, and the first event on it.

Under a polynomial pull a neuron (w, a) is an entire power series; its pre-activations and multipliers are polynomials,
whose first root is the event that ends the piece.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.dynamics.flow.bernstein_kernels import NO_ROOT, first_root
from reluflow.dynamics.flow.sliding_kernels import Pulls, Slide, dot, norm, strength_of
from reluflow.geometry.boundary.tolerance import ROUNDING

MOST_TERMS = 28
_NEGLIGIBLE = 1e-17  # terms below this fraction of the neuron end the series
ON_WALL = 1e-14  # a pre-activation below this fraction of |z| is rounding


@njit(cache=True)
def shifted(coefficients: FloatArray, tau: float, length: float, out: FloatArray) -> None:
    """Coefficients of p(tau + length x) in x, row by row of powers (q, ...)."""
    q = coefficients.shape[0]
    out[:] = coefficients
    for start in range(q - 1):
        for power in range(q - 2, start - 1, -1):
            out[power] += tau * out[power + 1]
    factor = 1.0
    for power in range(1, q):
        factor *= length
        out[power] *= factor


@njit(cache=True)
def to_bernstein(powers: FloatArray, degree: int) -> FloatArray:
    """Bernstein coefficients of a polynomial of given degree from its powers."""
    out = np.empty(degree + 1)
    binomial = 1.0
    for k in range(degree + 1):
        out[k] = powers[k] / binomial
        binomial = binomial * (degree - k) / (k + 1)
    for level in range(1, degree + 1):
        for i in range(degree, level - 1, -1):
            out[i] += out[i - 1]
    return out


@njit(cache=True, fastmath={"reassoc", "contract"})
def series(w: FloatArray, a: float, pull: FloatArray, terms_w: FloatArray, terms_a: FloatArray) -> int:
    """Power series of a neuron under the polynomial pull (q, d); the degree reached, or -1 if it has not converged."""
    q, d = pull.shape
    terms_w[0] = w
    terms_a[0] = a
    size = np.sqrt(dot(w, w) + a * a)
    quiet = 0
    last = q
    while last > 0 and not np.any(pull[last - 1]):
        last -= 1
    for i in range(MOST_TERMS):
        terms_w[i + 1] = 0.0
        total = 0.0
        for row in range(min(i + 1, last)):
            factor = terms_a[i - row]
            for axis in range(d):
                terms_w[i + 1, axis] += factor * pull[row, axis]
                total += terms_w[i - row, axis] * pull[row, axis]
        scale = 1.0 / (i + 1)
        terms_a[i + 1] = total * scale
        largest = abs(terms_a[i + 1])
        square = 0.0
        for axis in range(d):
            terms_w[i + 1, axis] *= scale
            square += terms_w[i + 1, axis] ** 2
        largest = max(largest, np.sqrt(square))
        quiet = quiet + 1 if largest <= _NEGLIGIBLE * size else 0
        if quiet >= max(last, 1):
            return int(max(i + 1 - max(last, 1), 1))
    return -1


@njit(cache=True, fastmath={"reassoc", "contract"})
def place(terms_w: FloatArray, terms_a: FloatArray, degree: int, at: float, w: FloatArray) -> float:
    """The neuron at a place of its piece: w is written, a returned."""
    w[:] = terms_w[degree]
    a = terms_a[degree]
    for i in range(degree - 1, -1, -1):
        for axis in range(w.shape[0]):
            w[axis] = w[axis] * at + terms_w[i, axis]
        a = a * at + terms_a[i]
    return float(a)


@njit(cache=True)
def first_crossing(
    w: FloatArray, terms_w: FloatArray, degree: int, size: float, side: SignArray, pulls: Pulls, heights: FloatArray,
    travelled: float, near: IntArray, num_near: int,
) -> tuple[float, int]:  # fmt: skip
    """The first wall among the near ones that the piece reaches, and where; `NO_ROOT` where none."""
    reach_two = 0.0
    for i in range(2, degree + 1):
        reach_two += norm(terms_w[i])
    reach = reach_two + norm(terms_w[1])
    tolerance = ON_WALL * size
    best, wall = NO_ROOT, -1
    powers = np.empty(degree + 1)
    for index in range(num_near):
        b = near[index]
        sign = side[b]
        if sign == 0 or abs(heights[b]) > travelled + reach:
            continue
        normal = pulls.normals[b]
        here = sign * dot(w, normal)
        if here > reach:
            continue
        slope = sign * dot(terms_w[1], normal)
        if here > reach_two and here + slope > reach_two:
            continue
        powers[0], powers[1] = here, slope
        rest = 0.0
        for i in range(2, degree + 1):
            powers[i] = sign * dot(terms_w[i], normal)
            rest += abs(powers[i])
        if here > rest and here + slope > rest:
            continue
        theta = first_root(to_bernstein(powers, degree), tolerance)
        if theta < best:
            best, wall = theta, b
    return best, wall


@njit(cache=True)
def first_exit(
    slide: Slide, pulls: Pulls, sign: float, pinned: SignArray, tau: float, length: float
) -> tuple[float, int, int]:
    """The first sliding wall whose multiplier leaves its interval, where, and to which side."""
    q = slide.rest.shape[0]
    best, wall, to_side = NO_ROOT, -1, 0
    margin = np.empty(q)
    local = np.empty(q)
    for i in range(slide.held[0]):
        b = slide.walls[i]
        orientation = sign if pinned[b] else -sign  # in a valley a (plus - minus) < 0
        for side in (1, -1):
            scale = 0.0
            for row in range(q):
                end, multiplier = strength_of(pulls, b, side, row), slide.multipliers[row, i]
                margin[row] = orientation * side * (end - multiplier)
                scale += abs(end) + abs(multiplier)
            shifted(margin, tau, length, local)
            lowest = local[0]
            for row in range(1, q):
                lowest -= abs(local[row])
            if lowest > 0.0:
                continue
            theta = first_root(to_bernstein(local, q - 1), ROUNDING * scale)
            if theta < best:
                best, wall, to_side = theta, b, side
    return best, wall, to_side
