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
def shifted(pull: FloatArray, tau: float, out: FloatArray, strengths: FloatArray) -> None:
    """Coefficients of D(tau + x) in x, shape (q, d), from those of D, and their norms."""
    if pull.shape[0] == 5:
        _shifted_quartic(pull, tau, out, strengths)
        return
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
    for power in range(q):
        strengths[power] = norm(out[power])


@njit(cache=True, fastmath=_FAST)
def _shifted_quartic(pull: FloatArray, tau: float, out: FloatArray, strengths: FloatArray) -> None:
    """The same of five coefficients in one pass: every neuron does this at every event."""
    source0, source1, source2, source3, source4 = pull[0], pull[1], pull[2], pull[3], pull[4]
    target0, target1, target2, target3, target4 = out[0], out[1], out[2], out[3], out[4]
    square0, square1, square2, square3, square4 = 0.0, 0.0, 0.0, 0.0, 0.0
    two, three, four, six = 2.0 * tau, 3.0 * tau, 4.0 * tau, 6.0 * tau * tau
    for axis in range(pull.shape[1]):
        c1, c2, c3, c4 = source1[axis], source2[axis], source3[axis], source4[axis]
        value0 = source0[axis] + tau * (c1 + tau * (c2 + tau * (c3 + tau * c4)))
        value1 = c1 + two * c2 + tau * tau * (3.0 * c3 + four * c4)
        value2 = c2 + three * c3 + six * c4
        value3 = c3 + four * c4
        target0[axis], target1[axis], target2[axis], target3[axis], target4[axis] = value0, value1, value2, value3, c4
        square0 += value0 * value0
        square1 += value1 * value1
        square2 += value2 * value2
        square3 += value3 * value3
        square4 += c4 * c4
    strengths[0], strengths[1], strengths[2] = np.sqrt(square0), np.sqrt(square1), np.sqrt(square2)
    strengths[3], strengths[4] = np.sqrt(square3), np.sqrt(square4)


@njit(cache=True)
def stretched(strengths: FloatArray, length: float, factors: FloatArray, sizes: FloatArray) -> None:
    """What turns the coefficients of D into those of length D(length x), and the norms of these."""
    factor = length
    for power in range(strengths.shape[0]):
        factors[power] = factor
        sizes[power] = factor * strengths[power]
        factor *= length


@njit(cache=True, fastmath=_FAST)
def series(
    w: FloatArray, a: float, pull: FloatArray, factors: FloatArray, sizes: FloatArray, terms_w: FloatArray,
    terms_a: FloatArray, lengths: FloatArray,
) -> int:  # fmt: skip
    """Power series of a neuron under the polynomial D_l = factors_l pull_l, |D_l| = `sizes`, and |w_i| of its terms.

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
        following, old, part = terms_w[i + 1], terms_w[i], pull[0]
        factor, total = terms_a[i] * factors[0], 0.0
        for axis in range(d):
            following[axis] = factor * part[axis]
            total += old[axis] * part[axis]
        total *= factors[0]
        for row in range(1, rows):
            if sizes[row] == 0.0:
                continue
            factor, more = terms_a[i - row] * factors[row], 0.0
            old, part = terms_w[i - row], pull[row]
            for axis in range(d):
                following[axis] += factor * part[axis]
                more += old[axis] * part[axis]
            total += factors[row] * more
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
    w: FloatArray, a: float, pull: FloatArray, factors: FloatArray, decay: float, terms_w: FloatArray,
    terms_a: FloatArray, lengths: FloatArray,
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
                following[axis] += factors[i] * a * scale * pull[i, axis]
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
