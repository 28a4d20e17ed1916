"""Machine-code kernels for one neuron between two events: its power series under a pull that is a polynomial."""

from __future__ import annotations

import numpy as np
from numba import njit

from reluflow.arrays import FloatArray
from reluflow.dynamics.flow.sliding_kernels import norm

MOST_TERMS = 28
_NEGLIGIBLE = 1e-17  # terms below this fraction of the neuron end the series
_FAST = {"reassoc", "contract"}


@njit(cache=True, fastmath=_FAST)
def shifted(pull: FloatArray, tau: float, out: FloatArray) -> None:
    """Coefficients of D(tau + x) in x, shape (q, d), from those of D."""
    q, d = pull.shape
    for power in range(q):
        source, target = pull[power], out[power]
        for axis in range(d):
            target[axis] = source[axis]
    for start in range(q - 1):
        for power in range(q - 2, start - 1, -1):
            target, above = out[power], out[power + 1]
            for axis in range(d):
                target[axis] += tau * above[axis]


@njit(cache=True)
def strengths_of(pull: FloatArray, out: FloatArray) -> None:
    """|D_l| of every coefficient."""
    for power in range(pull.shape[0]):
        out[power] = norm(pull[power])


@njit(cache=True, fastmath=_FAST)
def stretched(pull: FloatArray, strengths: FloatArray, length: float, out: FloatArray, sizes: FloatArray) -> None:
    """Coefficients of length D(length x) in x, and their norms."""
    factor = length
    for power in range(pull.shape[0]):
        source, target = pull[power], out[power]
        for axis in range(pull.shape[1]):
            target[axis] = factor * source[axis]
        sizes[power] = factor * strengths[power]
        factor *= length


@njit(cache=True, fastmath=_FAST)
def series(
    w: FloatArray, a: float, pull: FloatArray, sizes: FloatArray, terms_w: FloatArray, terms_a: FloatArray,
    lengths: FloatArray,
) -> int:  # fmt: skip
    """Power series of a neuron under the polynomial pull (q, d) with |D_l| = `sizes`, and |w_i| of its terms.

    The degree reached, or -1 if it has not converged. It ends where the next q terms are bound to be negligible: by
    |z_{i+1}| <= sum_l |z_{i-l}| |D_l| / (i + 1).
    """
    q, d = pull.shape
    first = terms_w[0]
    square = 0.0
    for axis in range(d):
        first[axis] = w[axis]
        square += w[axis] * w[axis]
    terms_a[0] = a
    lengths[0] = np.sqrt(square)
    size = np.sqrt(square + a * a)
    bounds = np.empty(MOST_TERMS + 8)  # of |z_i|, exact up to the term reached
    bounds[0] = size
    negligible = _NEGLIGIBLE * size
    for i in range(MOST_TERMS):
        rows = min(i + 1, q)
        if i > 0:  # would the next terms, as many as shape what follows, all be negligible?
            ahead = 0
            while ahead < q:
                at = i + ahead
                total = 0.0
                for row in range(min(at + 1, q)):
                    total += bounds[at - row] * sizes[row]
                bounds[at + 1] = total / (at + 1)
                if bounds[at + 1] > negligible:
                    break
                ahead += 1
            if ahead == q:
                return i
        following = terms_w[i + 1]
        for axis in range(d):
            following[axis] = 0.0
        total = 0.0
        for row in range(rows):
            if sizes[row] == 0.0:
                continue
            factor = terms_a[i - row]
            old, part = terms_w[i - row], pull[row]
            for axis in range(d):
                following[axis] += factor * part[axis]
                total += old[axis] * part[axis]
        scale = 1.0 / (i + 1)
        terms_a[i + 1] = total * scale
        square = 0.0
        for axis in range(d):
            following[axis] *= scale
            square += following[axis] * following[axis]
        lengths[i + 1] = np.sqrt(square)
        bounds[i + 1] = np.sqrt(square + terms_a[i + 1] * terms_a[i + 1])
    return -1


@njit(cache=True, fastmath=_FAST)
def straight_series(
    w: FloatArray, a: float, pull: FloatArray, decay: float, terms_w: FloatArray, terms_a: FloatArray,
    lengths: FloatArray,
) -> int:  # fmt: skip
    """The same of a neuron whose a is frozen, w' = a D - decay w with decay below 1: a polynomial where that is 0."""
    q, d = pull.shape
    terms_w[0] = w
    terms_a[0] = a
    lengths[0] = largest = norm(w)
    for i in range(MOST_TERMS):
        if i >= q and lengths[i] * decay <= _NEGLIGIBLE * (i + 1) * largest:
            return i
        before, following, scale = terms_w[i], terms_w[i + 1], 1.0 / (i + 1)
        for axis in range(d):
            following[axis] = -decay * scale * before[axis]
        if i < q:
            for axis in range(d):
                following[axis] += a * scale * pull[i, axis]
        terms_a[i + 1] = 0.0
        lengths[i + 1] = norm(following)
        largest = max(largest, lengths[i + 1])
    return MOST_TERMS


@njit(cache=True, fastmath=_FAST)
def place(terms_w: FloatArray, terms_a: FloatArray, degree: int, at: float, w: FloatArray) -> float:
    """The neuron at a place of its piece: w is written, a returned."""
    top = terms_w[degree]
    for axis in range(w.shape[0]):
        w[axis] = top[axis]
    a = terms_a[degree]
    for i in range(degree - 1, -1, -1):
        row = terms_w[i]
        for axis in range(w.shape[0]):
            w[axis] = w[axis] * at + row[axis]
        a = a * at + terms_a[i]
    return float(a)
