"""Machine-code kernels for one neuron between two events: its power series under a pull that is a polynomial.

As w moves along the pull alone, every term of its series is a combination of the q coefficients of the pull (and of w
itself, where that decays), however many dimensions there are: the series is one of q numbers a term, made from the
inner products of these coefficients, and d dimensions are gone through only to make those and to place the neuron.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.flow.sliding_kernels import dot, norm

MOST_TERMS = 28
_NEGLIGIBLE = 1e-17  # terms below this fraction of the neuron end the series
_FAST = {"reassoc", "contract"}


class PullAhead(NamedTuple):
    """The pull on a neuron from a moment on, a polynomial with q coefficients, and its inner products."""

    here: FloatMatrix  # (q, d)
    strengths: FloatVector  # (q,) norms of its rows
    gram: FloatMatrix  # (q, q) their inner products
    along: FloatVector  # (q,) and those with w


class Series(NamedTuple):
    """The power series of a neuron over a piece of its path; T terms, room for what makes them."""

    weights: FloatMatrix  # (T, q + 1) of the rows of the pull, and of w, in the terms of w
    terms_a: FloatVector  # (T,)
    lengths: FloatVector  # (T,) bounds of the norms of the terms of w
    products: FloatMatrix  # (T, q) inner products of the terms of w with the rows of the pull


@kernel(fastmath=_FAST)
def shifted(pull: FloatMatrix, tau: float, out: FloatMatrix, strengths: FloatVector) -> None:
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


@kernel(fastmath=_FAST)
def _shifted_quartic(pull: FloatMatrix, tau: float, out: FloatMatrix, strengths: FloatVector) -> None:
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


@kernel()
def stretched(strengths: FloatVector, length: float, factors: FloatVector, sizes: FloatVector) -> None:
    """What turns the coefficients of D into those of length D(length x), and the norms of these."""
    factor = length
    for power in range(strengths.shape[0]):
        factors[power] = factor
        sizes[power] = factor * strengths[power]
        factor *= length


@kernel()
def multiply(ahead: PullAhead, w: FloatVector) -> None:
    """The inner products of the pull, from its rows and norms."""
    here, strengths, gram, along = ahead
    q = here.shape[0]
    for row in range(q):
        if strengths[row] == 0.0:
            along[row] = 0.0
            gram[row, :] = 0.0
            gram[:, row] = 0.0
            continue
        along[row] = dot(w, here[row])
        gram[row, row] = strengths[row] * strengths[row]
        for other in range(row + 1, q):
            gram[row, other] = gram[other, row] = dot(here[row], here[other])


@kernel(fastmath=_FAST)
def expand(length: float, a: float, ahead: PullAhead, factors: FloatVector, sizes: FloatVector, series: Series) -> int:
    """Power series of w' = a D, a' = <w, D> from |w| = `length` under D_l = factors_l pull_l with |D_l| = `sizes`.

    The degree reached, or -1 if it has not converged. It ends where the next q terms are bound to be negligible: by
    |z_{i+1}| <= sum_l |z_{i-l}| |D_l| / (i + 1).
    """
    q = factors.shape[0]
    weights, terms_a, lengths, products = series
    weights[0, :] = 0.0
    weights[0, q] = 1.0
    for row in range(q):
        products[0, row] = ahead.along[row]
    terms_a[0], lengths[0] = a, length
    size = np.sqrt(length * length + a * a)
    bounds = np.empty(MOST_TERMS + 8)  # of |z_i|
    bounds[0] = size
    negligible = _NEGLIGIBLE * size
    for i in range(MOST_TERMS):
        rows = min(i + 1, q)
        if i > 0:  # would the next terms, as many as shape what follows, all be negligible?
            count = 0
            while count < q:
                at = i + count
                total = 0.0
                for row in range(min(at + 1, q)):
                    total += bounds[at - row] * sizes[row]
                bounds[at + 1] = total / (at + 1)
                if bounds[at + 1] > negligible:
                    break
                count += 1
            if count == q:
                return i
        scale = 1.0 / (i + 1)
        grown, total = 0.0, 0.0
        for row in range(rows):
            weights[i + 1, row] = scale * terms_a[i - row] * factors[row]
            grown += abs(terms_a[i - row]) * sizes[row]
            total += factors[row] * products[i - row, row]
        for row in range(rows, q + 1):
            weights[i + 1, row] = 0.0
        for row in range(q):
            more = 0.0
            for other in range(rows):
                more += weights[i + 1, other] * ahead.gram[other, row]
            products[i + 1, row] = more
        terms_a[i + 1] = total * scale
        lengths[i + 1] = grown * scale
        bounds[i + 1] = np.sqrt(lengths[i + 1] * lengths[i + 1] + terms_a[i + 1] * terms_a[i + 1])
    return -1


@kernel(fastmath=_FAST)
def expand_straight(
    length: float, a: float, ahead: PullAhead, factors: FloatVector, decay: float, series: Series
) -> int:
    """The same of a neuron whose a is frozen, w' = a D - decay w with decay below 1: a polynomial where that is 0."""
    q = factors.shape[0]
    weights, terms_a, lengths, _ = series
    weights[0, :] = 0.0
    weights[0, q] = 1.0
    terms_a[0] = a
    lengths[0] = largest = length
    for i in range(MOST_TERMS):
        if i >= q and lengths[i] * decay <= _NEGLIGIBLE * (i + 1) * largest:
            return i
        scale = 1.0 / (i + 1)
        for row in range(q + 1):
            weights[i + 1, row] = -decay * scale * weights[i, row]
        lengths[i + 1] = decay * scale * lengths[i]
        if i < q:
            weights[i + 1, i] += factors[i] * a * scale
            lengths[i + 1] += abs(factors[i] * a * scale) * ahead.strengths[i]
        terms_a[i + 1] = 0.0
        largest = max(largest, lengths[i + 1])
    return MOST_TERMS


@kernel(fastmath=_FAST)
def place(
    series: Series, here: FloatMatrix, degree: int, at: float, w: FloatVector, out: FloatVector, shares: FloatVector
) -> float:
    """The neuron at a place of its piece, which starts at `w`: its w is written (perhaps over that one), a returned.

    `shares` (q + 1,) are those of the rows of the pull, and of w, in it.
    """
    q, d = here.shape
    weights, terms_a = series.weights, series.terms_a
    a = terms_a[degree]
    for i in range(degree - 1, -1, -1):
        a = a * at + terms_a[i]
    for row in range(q, -1, -1):  # w first, as it may be written over
        share = weights[degree, row]
        for i in range(degree - 1, -1, -1):
            share = share * at + weights[i, row]
        shares[row] = share
        if row == q:
            for axis in range(d):
                out[axis] = share * w[axis]
        elif share != 0.0:
            part = here[row]
            for axis in range(d):
                out[axis] += share * part[axis]
    return float(a)
